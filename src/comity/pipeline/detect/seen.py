"""What passed by while candidates were looked for: how many events, and from when to when."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Extracted:
    """What passed by while candidates were looked for."""

    events: int = 0
    rejected: int = 0
    earliest: int | None = None
    latest: int | None = None

    def with_times(self, *times: int | None) -> Extracted:
        """The same, with events at these times."""
        known = [time for time in (*times, self.earliest, self.latest) if time is not None]
        return replace(self, earliest=min(known, default=None), latest=max(known, default=None))

    def beside(self, other: Extracted) -> Extracted:
        """Both together."""
        both = replace(self, events=self.events + other.events, rejected=self.rejected + other.rejected)
        return both.with_times(other.earliest, other.latest)
