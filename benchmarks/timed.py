"""Jobs that are timed beside each other: their runs alternate, and the best of each counts.

What a job left to be written to the disk is written before the next one, or a job that waits until its own results are
on the disk would wait for those of others, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Case:
    """One thing that is timed."""

    name: str
    form: str
    job: Callable[[], object]
    seconds: list[float] = field(default_factory=list, kw_only=True)

    @property
    def best(self) -> float:
        return min(self.seconds)

    def take(self) -> None:
        """Run it once, and note how long it took."""
        os.sync()
        started = time.monotonic()
        self.job()
        self.seconds.append(time.monotonic() - started)


def take_times(cases: Sequence[Case], runs: int) -> None:
    """Run the cases in turn, telling how long each took."""
    for run in range(runs):
        for case in cases:
            case.take()
            print(f"run {run + 1}: {case.form} {case.name}: {case.seconds[-1]:.1f} s", flush=True)
