"""What one neighbour should know, kept in step with what is wanted: a strategy a file."""
