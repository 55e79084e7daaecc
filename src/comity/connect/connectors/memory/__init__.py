"""Lists in memory, as a source that filters and as a sink that fails on demand, for tests."""
