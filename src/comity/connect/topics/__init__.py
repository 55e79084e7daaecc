"""Topics of Kafka as the place of results: written by workers, each bucket of a batch in one transaction."""
