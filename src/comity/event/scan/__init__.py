"""Lines to columns, by compiled code that vouches for the lines it is sure of."""
