"""The composite profiles of a plan, in this process: what operands take is gathered, and reported in its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from comity.engine.outcome import Notification
from comity.engine.pattern_stream import PatternStream, SavedStream, decoder
from comity.event.event import Event
from comity.pattern.bank import Bank
from comity.pattern.notification import report_event
from comity.pattern.occurrence import microseconds
from comity.pattern.rows import ReportRow
from comity.plan.stages import Plan
from comity.plan.ways import Ways

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class LivePatterns:
    """The patterns of a plan over events; without a lateness nothing is complete before the end."""

    plan: Plan
    ways: Ways
    lateness_us: int | None
    _stream: PatternStream = field(init=False)
    _operands: dict[str, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._stream = PatternStream(self._bank(), keep_lines=True)
        self._operands = self._numbered()

    def see(self, event: Event) -> None:
        """Note an event of whatever type: traces start with the first that counts, and end with the last."""
        since, until = self.plan.seen
        assert event.time is not None, "events without a time are rejected"
        is_counted = (since is None or event.time >= since) and (until is None or event.time < until)
        if is_counted and not self.is_late(event):
            self._stream.extraction.see(event)

    def see_times(self, times: npt.NDArray[np.int64]) -> None:
        """Note the times of many events that all count."""
        done = self._stream.done
        in_time = times if done is None else times[times > done]
        if len(in_time):
            self._stream.extraction.see_time(int(in_time.min()))
            self._stream.extraction.see_time(int(in_time.max()))

    def is_late(self, event: Event) -> bool:
        """Whether its time was complete before it came."""
        assert event.time is not None, "events without a time are rejected"
        return self._stream.done is not None and self._stream.is_late(microseconds(event.time))

    @property
    def newest(self) -> datetime | None:
        """The newest time that was seen."""
        latest = self._stream.extraction.latest
        return None if latest is None else _EPOCH + timedelta(microseconds=latest)

    def take(self, delivery: str, event: Event) -> None:
        """An event for an operand, in the subscriber's terms."""
        number, operand = self._operands[delivery]
        if (number, operand) in self._stream.bank.sharing.users:
            self._stream.extraction.add(number, operand, event)

    def advance(self, now: int | None = None) -> list[Notification]:
        """What is decided by the newest event, or by a time that has come."""
        if self.lateness_us is None:
            return []
        newest = self._stream.extraction.latest
        times = [time for time in (newest, now) if time is not None]
        return self._told(self._stream.advance(max(times) - self.lateness_us - 1)) if times else []

    def finish(self) -> list[Notification]:
        """What closes when nothing more comes."""
        return self._told(self._stream.finish()) if self.plan.patterns else []

    def change(self, plan: Plan, ways: Ways) -> None:
        """Another plan: patterns that stay keep what they wait for."""
        before = [one.key for one in self.plan.patterns]
        self.plan, self.ways = plan, ways
        if before != [one.key for one in plan.patterns]:
            self._stream.change(self._bank())
            self._operands = self._numbered()

    def save(self) -> SavedStream:
        """What `restore` takes."""
        return self._stream.save()

    def restore(self, saved: SavedStream) -> None:
        """Go on from what was saved."""
        self._stream.restore(saved)

    def _bank(self) -> Bank:
        patterns = [one.bound for one in self.plan.patterns]
        seen = {way.target.qualified_name: way.target for way in self.ways.ways}
        return Bank(patterns, [decoder(seen.get)] * len(patterns), compiled=False)

    def _numbered(self) -> dict[str, tuple[int, int]]:
        return {
            planned.delivery(name): (number, operand)
            for number, planned in enumerate(self.plan.patterns)
            for operand, name in enumerate(planned.bound.operand_names)
        }

    def _told(self, reports: Sequence[ReportRow]) -> list[Notification]:
        if not reports:
            return []
        subscribers = {planned.bound.name: planned.subscriber for planned in self.plan.patterns}
        return [Notification(subscribers[one.profile], one.profile, report_event(one)) for one in reports]
