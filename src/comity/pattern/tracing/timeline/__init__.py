"""A trace as a picture: where things stand, what they look like, and the drawing."""

from comity.pattern.tracing.timeline.draw import timeline

__all__ = ["timeline"]
