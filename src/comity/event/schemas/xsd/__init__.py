"""XML Schema, in and out of a taxonomy."""
