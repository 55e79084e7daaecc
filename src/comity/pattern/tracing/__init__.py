"""What a pattern makes of a few events, step by step: as words, as JSON, and as a picture."""
