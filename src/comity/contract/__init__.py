"""Contracts: a common type, and mappings between it and the types of the domains."""
