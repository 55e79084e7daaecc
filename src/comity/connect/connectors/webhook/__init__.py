"""CloudEvents by HTTP: a source that others post to, and a sink that posts to others."""
