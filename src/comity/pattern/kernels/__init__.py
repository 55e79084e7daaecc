"""Compiled code for what is told of patterns; nothing is imported from here unless there is much to tell."""
