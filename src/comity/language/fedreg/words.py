"""What FedReg calls things."""

from __future__ import annotations

FEDREG_URI = "http://www.cl.cam.ac.uk/2002/FedReg"
"""The namespace of the language."""
PRIORITIES = {"real-time": 100, "normal": 0, "bulk": -100}
"""The priorities that the words of a quality of service stand for."""
