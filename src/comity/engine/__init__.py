"""Runs a plan in-process."""

from comity.engine.folder import run_into_folder
from comity.engine.live import LiveEngine
from comity.engine.outcome import Notification
from comity.engine.run import run

__all__ = ["LiveEngine", "Notification", "run", "run_into_folder"]
