"""Comity in your own Spark job: DataFrames in, DataFrames out, on the session that you have, also of Spark Connect."""

from __future__ import annotations

from comity.pipeline.detect.frames import detect
from comity.pipeline.frame_delivery import stream
from comity.pipeline.frames import deliver, explain, match, rejected

__all__ = ["deliver", "detect", "explain", "match", "rejected", "stream"]
