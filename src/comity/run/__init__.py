"""A run: load → plan → sources → runner → sinks, with progress, metrics and a clean stop."""

from comity.called import call_as

call_as(__name__, "comity.run.api", "run")
