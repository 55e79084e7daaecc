"""How events are written and read: a file a format, and one table of them."""
