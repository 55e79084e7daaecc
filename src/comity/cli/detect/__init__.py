"""`comity detect`."""
