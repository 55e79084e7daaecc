"""Runs a plan in-process."""

from comity.engine.run import Notification, run

__all__ = ["Notification", "run"]
