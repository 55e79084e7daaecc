"""The reference: slow, small, and sharing no code with what it judges."""
