"""Composite profiles as text: in Comity's own form, and in RDL."""
