"""Sources that Spark reads by itself, each a thin difference from `comity.connect.frames`."""
