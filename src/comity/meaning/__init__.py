"""What values mean: units and their conversions."""
