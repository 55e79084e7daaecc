"""Results as tables: rows with columns in Parquet files, of which a commit says that they are there."""
