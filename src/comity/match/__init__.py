"""Many profiles against many events."""

from comity.match.match import Matcher

__all__ = ["Matcher"]
