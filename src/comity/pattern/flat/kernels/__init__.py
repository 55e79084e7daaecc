"""The compiled part of the detector, alone, so that an edit elsewhere does not compile it again."""
