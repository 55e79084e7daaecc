"""`comity contract`."""
