"""Composite events: operators, parameters, their reference semantics, and the incremental detector."""
