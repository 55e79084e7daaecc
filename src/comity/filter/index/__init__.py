"""Relations between a filter and very many others."""
