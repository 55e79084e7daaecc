"""The live engine: events and time go in, what comes of them comes out at once; profiles come and go meanwhile.

It is pure: it has no threads and no clock, and asks nothing of the world. Time is what `advance` and `push` are told,
and what the newest event says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

from comity.engine.outcome import LateEvent, Notification, Outcome
from comity.engine.patterns import LivePatterns
from comity.engine.remembered import RememberedInMemory, Remembers
from comity.engine.scanned import SCANNED, LineTests
from comity.engine.snapshot import Snapshot
from comity.engine.steps import PlannedStep, TypeTests, steps_of
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode, fitting
from comity.event.types import EventType
from comity.event.window import Window
from comity.federation.model import OPERAND
from comity.limits import limits
from comity.pattern.occurrence import microseconds
from comity.plan.following import follow_hits
from comity.plan.stages import Plan
from comity.plan.ways import ways_of

Pushed = Event | Rejected | Mapping[str, Any] | bytes
"""An event, a record that somebody else has rejected, a record of CloudEvents, or a line of JSON with one."""

_ALL_TIMES = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class EnginePace:
    """How long events are waited for and remembered."""

    lateness: timedelta | None
    """How far behind the newest an event may come and still be part of patterns; None waits until the end."""
    memory: timedelta | None
    """How old an event may be, and so how long it is remembered; None for any age, and for ever."""

    @classmethod
    def live(cls) -> EnginePace:
        """What the limits `late_after_s` and `live_memory_s` say."""
        return cls(timedelta(seconds=limits().late_after_s), timedelta(seconds=limits().live_memory_s))


STORED = EnginePace(None, None)
"""For events that are all there: nothing is complete before the end, and nothing is too old."""


@dataclass(slots=True)
class Counts:
    """What an engine did so far."""

    records: int = 0
    rejected: int = 0
    """Records that are no events, and events that a mapping refused, as often as one did."""
    matched: int = 0
    """Events that some profile wants; one that comes again counts again."""
    late: int = 0
    """Those of them that were behind the newest one, of what had come before, by more than the lateness."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What a change of plans did: profiles that came and went, and tests, of which a profile has one on each way."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    tests_added: int
    tests_removed: int


class LiveEngine:
    """Runs a plan over events as they come.

    An event that does not fit its type, has no time, or one that is not believed, is rejected, whoever pushes it. An
    event reaches a profile once, however many ways lead there and however often it comes. Composite profiles report as
    soon as their time is complete: when the newest event, or the time that was told, is past it by the lateness.

    >>> from comity.federation import load
    >>> from comity.plan import compile_plan
    >>> engine = LiveEngine(compile_plan(load("examples/two_houses")))
    >>> [outcome.faults[0].code for outcome in engine.push(b'{"id": "1"}')]
    ['missing']
    """

    scanned = SCANNED
    """Lines that come together from which on they are scanned as columns."""

    def __init__(self, plan: Plan, pace: EnginePace | None = None, *, remembered: Remembers | None = None) -> None:
        self.plan = plan
        self.pace = EnginePace.live() if pace is None else pace
        self.counts = Counts()
        lateness, memory = self.pace.lateness, self.pace.memory
        if lateness is not None and memory is not None and memory < lateness:
            hint = "set live_memory_s to late_after_s at least"
            raise Misuse("events are forgotten before they are late", code="short-memory", hint=hint)
        ways = ways_of(plan)
        self._remembered = RememberedInMemory() if remembered is None else remembered
        self._patterns = LivePatterns(plan, ways, None if lateness is None else lateness // timedelta(microseconds=1))
        self._tests: dict[str, TypeTests] = {}
        self._types: dict[str, EventType] = {}
        self._lines: LineTests | None = None
        self._now: datetime | None = None
        self._newest_wanted: datetime | None = None
        self._late_before: datetime | None = None
        self._window, self._window_hour = _ALL_TIMES, datetime.min.replace(tzinfo=UTC)
        self._take_steps(plan, steps_of(ways))

    # Events and time

    def push(self, record: Pushed, now: datetime | None = None) -> list[Outcome]:
        """What comes of an event, now or at the time that is told."""
        return self.push_all((record,), now)

    def push_all(self, records: Iterable[Pushed], now: datetime | None = None) -> list[Outcome]:
        """What comes of events that came together: none of them makes another one late."""
        return list(self.take_all(records, now))

    def take_all(self, records: Iterable[Pushed], now: datetime | None = None) -> Iterator[Outcome]:
        """The same one by one, for more than memory holds; they have come when the last was taken."""
        if now is not None:
            self._move_window(now, is_told=True)
        if isinstance(records, Sequence) and self._can_scan(records):
            yield from self._take_lines(records)
        else:
            for record in records:
                yield from self._take(record)
        yield from self._new(self._patterns.advance())
        if self._newest_wanted is not None and self.pace.lateness is not None:
            self._late_before = self._newest_wanted - self.pace.lateness

    def advance(self, now: datetime) -> list[Outcome]:
        """What is decided because a time has come, and all events before it, less the lateness, are there."""
        return list(self.advance_all(now))

    def advance_all(self, now: datetime) -> Iterator[Outcome]:
        """The same one by one."""
        self._move_window(now, is_told=True)
        yield from self._new(self._patterns.advance(microseconds(now)))

    def finish(self) -> list[Outcome]:
        """What closes when nothing more comes. It can go on as if it had not ended, and tells nothing again."""
        return list(self.finish_all())

    def finish_all(self) -> Iterator[Outcome]:
        """The same one by one."""
        yield from self._new(self._patterns.finish())

    @property
    def newest(self) -> datetime | None:
        """The newest time of an event of any type."""
        return self._patterns.newest

    # Profiles

    def change(self, plan: Plan) -> PlanChange:
        """Another plan from now on. What stays keeps what it remembers, what is new begins here."""
        ways, before, after = ways_of(plan), set(self.plan.profiles), set(plan.profiles)
        counted = self._take_steps(plan, steps_of(ways))
        self._patterns.change(plan, ways)
        self.plan = plan
        return PlanChange(tuple(sorted(after - before)), tuple(sorted(before - after)), *counted)

    # State

    def snapshot(self) -> bytes:
        """Everything that another engine needs to go on from here, with a version and a checksum."""
        kept = self._remembered.save() if isinstance(self._remembered, RememberedInMemory) else {}
        counts = self.counts
        return Snapshot(
            self._now,
            self._window_hour,
            self._newest_wanted,
            (counts.records, counts.rejected, counts.matched, counts.late),
            {hour: keys for hour, keys in kept.items() if keys},
            self._patterns.save(),
        ).encode()

    @classmethod
    def restore(
        cls, plan: Plan, snapshot: bytes, pace: EnginePace | None = None, *, remembered: Remembers | None = None
    ) -> LiveEngine:
        """The engine that made a snapshot, as it was then; with another plan, as if it had been changed to that."""
        engine, saved = cls(plan, pace, remembered=remembered), Snapshot.decode(snapshot)
        engine.counts, engine._newest_wanted = Counts(*saved.counts), saved.newest_wanted
        if saved.newest_wanted is not None and engine.pace.lateness is not None:
            engine._late_before = saved.newest_wanted - engine.pace.lateness
        engine._patterns.restore(saved.patterns)
        if isinstance(engine._remembered, RememberedInMemory):
            engine._remembered.restore(saved.remembered.items())
        if saved.now is not None:
            engine._move_window(saved.now, is_told=True)
        engine._move_window(saved.hour, is_told=False)
        return engine

    def _take_steps(self, plan: Plan, steps: Mapping[str, list[PlannedStep]]) -> tuple[int, int]:
        """Take over the types and tests of a plan; gives how many tests came and went."""
        self._types = {one.qualified_name: one for one in (*plan.types, *plan.abstract_types)}
        if self._lines is None or not self._lines.is_of(plan.types):
            self._lines = LineTests(plan.types, self._tests)
        come = gone = 0
        for name in self._tests.keys() - steps.keys():
            gone += len(self._tests.pop(name))
        for name, own in steps.items():
            type, known = self._types[name], self._tests.get(name)
            if known is None or known.type.key != type.key:
                self._tests[name] = TypeTests(type, own)
                come, gone = come + len(own), gone + (len(known) if known else 0)
            else:
                counted = known.change(own)
                come, gone = come + counted[0], gone + counted[1]
        return come, gone

    def _take(self, record: Pushed) -> Collection[Outcome]:
        self.counts.records += 1
        event = self._checked(record)
        if isinstance(event, Rejected):
            self.counts.rejected += 1
            return (event,)
        self._patterns.see(event)
        tests = self._tests.get(event.type)
        steps = tests.match_one(event) if tests is not None else ()
        return self._follow(event, steps) if steps else ()

    def _can_scan(self, records: Sequence[Pushed]) -> TypeGuard[Sequence[bytes]]:
        """Whether the records are lines, enough of them, and nothing depends on their order."""
        is_fixed = self.pace.memory is None or self._now is not None
        is_plain = is_fixed and self.plan.seen == (None, None)
        return is_plain and len(records) >= self.scanned and all(isinstance(one, bytes) for one in records)

    def _take_lines(self, lines: Sequence[bytes]) -> Iterator[Outcome]:
        assert self._lines is not None, "it comes with the plan"
        found = self._lines.scan(lines, self._window)
        self._patterns.see_times(found.times)
        self.counts.records += len(found.times)
        for number, steps in found.steps:
            if steps is None:
                yield from self._take(lines[number])
            else:
                event = decode(lines[number], self._types.get, require_time=True)
                assert isinstance(event, Event), "the scanner vouches for it"
                yield from self._follow(event, steps)

    def _checked(self, record: Pushed) -> Event | Rejected:
        if isinstance(record, Rejected):
            return record
        if isinstance(record, bytes):
            event = decode(record, self._types.get, require_time=True)
        else:
            event = fitting(record, self._types.get, require_time=True)
        if isinstance(event, Rejected):
            return event
        assert event.time is not None, "it is asked for"
        if self.pace.memory is not None and self._now is None:
            self._move_window(event.time, is_told=False)
        return self._window.check(event)

    def _follow(self, event: Event, steps: Iterable[PlannedStep]) -> list[Outcome]:
        """Mediate and observe, on each way once, and leave out what was done for this event and profile before."""
        found: list[Outcome] = []
        operands: dict[str, Event] = {}
        taken = list(steps)
        for outcome in follow_hits(event, [(step.profile, step.way) for step in taken]):
            if isinstance(outcome, Rejected):
                found.append(outcome)
            elif OPERAND in outcome.profile:
                operands.setdefault(outcome.profile, outcome.event)
            else:
                found += self._new([Notification(outcome.subscriber, outcome.profile, outcome.event)])
        self.counts.rejected += sum(isinstance(one, Rejected) for one in found)
        if any(step.profile is not None for step in taken):
            self._count_matched(event)
        return found + self._take_operands(event, operands)

    def _count_matched(self, event: Event) -> None:
        assert event.time is not None, "events without a time are rejected"
        self.counts.matched += 1
        self.counts.late += self._late_before is not None and event.time < self._late_before
        if self._newest_wanted is None or event.time > self._newest_wanted:
            self._newest_wanted = event.time

    def _take_operands(self, event: Event, operands: Mapping[str, Event]) -> list[Outcome]:
        if operands and self._patterns.is_late(event):
            return [LateEvent(event)]
        for delivery, seen in operands.items():
            self._patterns.take(delivery, seen)
        return []

    def _new(self, notifications: Iterable[Notification]) -> list[Notification]:
        return [one for one in notifications if self._remembered.is_new(one)]

    def _move_window(self, now: datetime, *, is_told: bool) -> None:
        """Believe other times, and forget what can come no more, now that a time has come."""
        if is_told and (self._now is None or now > self._now):
            self._now = now
        hour = now.replace(minute=0, second=0, microsecond=0)
        if self.pace.memory is None or hour <= self._window_hour:
            return
        found = Window.within(now, self.pace.memory)
        # Without a clock nobody knows what is in the future.
        self._window = found if self._now is not None else Window(found.earliest, _ALL_TIMES.latest)
        self._window_hour = hour
        if isinstance(self._remembered, RememberedInMemory):
            self._remembered.forget_before(found.earliest)
