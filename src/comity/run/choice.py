"""Which engine is quicker for stored events: Spark takes seconds to start, and then does many times as much a second.

What is estimated is measured by `benchmarks/engines.py`; a faster machine shifts both alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from comity.event.formats.table import format_of
from comity.run.request import Engine

if TYPE_CHECKING:  # it takes a while to import, and commands choose an engine by its name only
    from comity.run.sources import StoredFiles

_HERE_BYTES_PER_S, _SPARK_BYTES_PER_S = 4_000_000, 100_000_000
_SPARK_START_S = 6.0
_CLEARLY = 0.7
"""The share of Spark's time that this process may take for it to be told afterwards."""


class EngineChoice(StrEnum):
    """What whoever runs asks for."""

    SPARK = "spark"
    LOCAL = "local"
    AUTO = "auto"
    """What is quicker for so much input."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how long stored events take on either engine."""

    bytes: int

    @classmethod
    def of(cls, files: StoredFiles) -> Estimate:
        """For the events in these files."""
        return cls(sum(files.size(path) * format_of(path).expands for path in files.paths))

    @property
    def here_s(self) -> float:
        """In this process."""
        return self.bytes / _HERE_BYTES_PER_S

    @property
    def spark_s(self) -> float:
        """On Spark, started for it."""
        return _SPARK_START_S + self.bytes / _SPARK_BYTES_PER_S

    @property
    def quicker(self) -> Engine:
        """The engine to take.

        >>> Estimate(1_000_000).quicker, Estimate(1_000_000_000).quicker
        (<Engine.LOCAL: 'local'>, <Engine.SPARK: 'spark'>)
        """
        return Engine.LOCAL if self.here_s <= self.spark_s else Engine.SPARK

    def reason(self) -> str:
        """Why.

        >>> Estimate(1_000_000).reason()
        'about 1.0 MB of events: some 0.2 s in this process, some 6 s on Spark, which starts first'
        """
        return (
            f"about {self.bytes / 1e6:,.1f} MB of events: some {_told(self.here_s)} in this process, "
            f"some {_told(self.spark_s)} on Spark, which starts first"
        )

    def after_spark(self, seconds: float) -> str | None:
        """What to say of a run on Spark that took so long, if this process would have been much quicker.

        >>> Estimate(1_000_000).after_spark(8.0)
        '--engine local would have been quicker: some 0.2 s for about 1.0 MB; Spark took 8 s, most of it to start'
        >>> Estimate(100_000_000).after_spark(8.0)
        """
        if self.here_s > _CLEARLY * seconds:
            return None
        why = ", most of it to start" if self.spark_s < 2 * _SPARK_START_S else ""
        size = f"some {_told(self.here_s)} for about {self.bytes / 1e6:,.1f} MB"
        return f"--engine local would have been quicker: {size}; Spark took {_told(seconds)}{why}"


def _told(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 2 else f"{seconds:,.0f} s"
