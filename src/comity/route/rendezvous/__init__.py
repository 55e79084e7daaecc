"""Routing by type over a network of any shape: the node nearest to a type's name is where its paths meet."""
