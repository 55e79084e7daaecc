"""One module per kind of source or sink; each knows the port, none knows another."""
