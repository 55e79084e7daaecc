"""Runs a plan in-process."""

from comity.engine.folder import run_into_folder
from comity.engine.run import Notification, run

__all__ = ["Notification", "run", "run_into_folder"]
