"""The compiled part of matching, alone, so that an edit elsewhere does not compile it again."""
