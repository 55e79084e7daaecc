"""The command line: one file for each command, and nothing but input and output in them."""
