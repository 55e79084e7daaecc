"""Events as XML elements."""
