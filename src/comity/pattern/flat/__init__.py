"""Flat patterns, only events joined by one operator: detected by compiled code, over arrays."""
