"""An event server: clients register types and rules over HTTP, publish events, and are told of what their rules want.

Figures and protocol are in `docs/reference/event-server.md`. What stands in the base is the truth; what is in memory
here is made from it.
"""
