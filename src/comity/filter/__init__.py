"""The algebra of filters: what they match, and how they relate to each other."""
