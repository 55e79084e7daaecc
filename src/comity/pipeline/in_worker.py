"""What each task of ours in a Python worker of Spark runs in."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from comity.limits import Limits, limited

_seen_modules = 0
"""How many modules there were when what is there was last left out of collections."""


@contextmanager
def in_worker(bounds: Limits) -> Iterator[None]:
    """Inside, the driver's bounds are in force.

    Spark's daemon collects garbage after every task, and looks through all that ours have imported: a third of a
    second of processor time each, for tasks that may take less. Modules stay, so a task that finds new ones leaves out
    of later collections what is there when it begins.
    """
    global _seen_modules
    if len(sys.modules) != _seen_modules:
        _seen_modules = len(sys.modules)
        gc.freeze()
    with limited(**asdict(bounds)):
        yield
