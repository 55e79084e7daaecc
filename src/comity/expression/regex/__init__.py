"""Regular expressions as RE2 knows them."""
