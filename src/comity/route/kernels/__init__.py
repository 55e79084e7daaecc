"""Compiled code for what becomes of the matches of a batch."""
