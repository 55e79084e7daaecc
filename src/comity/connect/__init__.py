"""Where events come from and where notifications go."""
