"""The compiled part of the scanner, alone, so that an edit elsewhere does not compile it again."""
