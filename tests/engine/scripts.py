"""Scripts for a live engine, and what they mean, said as plainly as possible: nothing of the engine is used for that.

A script is a list of what happens: records that come together, a time that is told, another plan, a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from comity.engine.live import EnginePace, LiveEngine
from comity.engine.outcome import LateEvent, Notification
from comity.engine.outcome import Outcome as EngineOutcome
from comity.event import Event, Rejected
from comity.event.formats.jsonlines import decode
from comity.event.kinds import to_microseconds
from comity.federation.model import OPERAND
from comity.pattern.notification import REPORT_TYPE
from comity.pattern.reference.reports import reports
from comity.plan.stages import Plan, PlannedPattern
from comity.testing.outcomes import Outcome, outcomes_of
from comity.testing.reference import run_every_way

NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Push:
    records: tuple[bytes, ...]


@dataclass(frozen=True)
class Tell:
    now: datetime


@dataclass(frozen=True)
class Change:
    plan: Plan


@dataclass(frozen=True)
class Restart:
    """The engine is gone, and another one goes on from its snapshot."""


Script = Sequence[Push | Tell | Change | Restart]


def told_by_engine(plan: Plan, script: Script, pace: EnginePace, *, scanned: int = 10**9) -> list[Outcome]:
    """Everything that a live engine tells, in order of the texts; so many lines together are scanned."""
    engine = LiveEngine(plan, pace)
    engine.scanned = scanned
    found: list[EngineOutcome] = []
    for step in script:
        match step:
            case Push(records):
                found += engine.push_all(records) if len(records) != 1 else engine.push(records[0])
            case Tell(now):
                found += engine.advance(now)
            case Change(plan):
                engine.change(plan)
            case Restart():
                engine = LiveEngine.restore(engine.plan, engine.snapshot(), pace)
                engine.scanned = scanned
    return texts([*found, *engine.finish()])


def told_by_reference(plan: Plan, script: Script, lateness: timedelta) -> list[Outcome]:
    """Everything that the script means."""
    reference = _Reference(plan, lateness)
    for step in script:
        match step:
            case Push(records):
                reference.push(records)
            case Tell(now):
                reference.complete(now)
            case Change(plan):
                reference.change(plan)
            case Restart():
                pass
    for planned in reference.plan.patterns:
        reference.report(planned, is_complete=True)
    return sorted([*texts(reference.found), *reference.reports])


def texts(outcomes: Iterable[EngineOutcome]) -> list[Outcome]:
    """Reports by their identities, which say all of them, late events by theirs, the rest with all that is in it."""
    found: list[Outcome] = []
    rest: list[Notification | Rejected] = []
    for outcome in outcomes:
        if isinstance(outcome, LateEvent):
            found.append(("late", outcome.event.id))
        elif isinstance(outcome, Notification) and outcome.event.type == REPORT_TYPE:
            found.append((outcome.profile, outcome.event.id))
        else:
            rest.append(outcome)
    return sorted([*found, *outcomes_of(rest)])


@dataclass
class _Reference:
    plan: Plan
    lateness: timedelta
    found: list[EngineOutcome] = field(default_factory=list)
    reports: list[Outcome] = field(default_factory=list)
    delivered: set[tuple[str, str, str]] = field(default_factory=set)
    begun: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    """By composite profile that came later: how many events there were, and the newest time."""
    times: list[datetime] = field(default_factory=list)
    """Those of all events that were in time."""
    seen: list[tuple[str, Event]] = field(default_factory=list)
    """What operands were given, with the names of the deliveries."""
    watermark: datetime = NEVER

    def push(self, records: Iterable[bytes]) -> None:
        types = {one.qualified_name: one for one in (*self.plan.types, *self.plan.abstract_types)}.get
        for record in records:
            event = decode(record, types, require_time=True)
            is_late = isinstance(event, Event) and event.time is not None and event.time < self.watermark
            if isinstance(event, Event) and event.time is not None and not is_late:
                self.times.append(event.time)
            operands: dict[str, Event] = {}
            for outcome in run_every_way(self.plan, [event]):
                if isinstance(outcome, Rejected):
                    self.found.append(outcome)
                elif OPERAND in outcome.profile:
                    operands.setdefault(outcome.profile, outcome.event)
                elif outcome.key not in self.delivered:
                    self.delivered.add(outcome.key)
                    self.found.append(outcome)
            if operands and is_late:
                assert isinstance(event, Event)
                self.found.append(LateEvent(event))
            elif operands:
                self.seen += operands.items()
        if self.times:
            self.complete(max(self.times))

    def complete(self, now: datetime) -> None:
        self.watermark = max(self.watermark, now - self.lateness)

    def change(self, plan: Plan) -> None:
        """Patterns that go have told what was complete by then, and leave nothing behind."""
        before, after = ({one.bound.name for one in each.patterns} for each in (self.plan, plan))
        for planned in self.plan.patterns:
            if planned.bound.name not in after:
                self.report(planned, is_complete=False)
        newest = to_microseconds(max(*self.times, self.watermark)) if self.times else None
        self.begun |= {name: (len(self.times), newest) for name in after - before}
        self.seen = [(name, event) for name, event in self.seen if name.partition(OPERAND)[0] in after]
        self.plan = plan

    def report(self, planned: PlannedPattern, *, is_complete: bool) -> None:
        """What a pattern has reported by now: what was over at the times that were told, and at the end the rest."""
        name = planned.bound.name
        count, start = self.begun.get(name, (0, None))
        times = [*sorted(self.times[:count])[-1:], *self.times[count:]]  # the newest of those before is where it begins
        marks = [Event(str(at), "/mark", "nobody.Mark", time) for at, time in enumerate(times)]
        events = [*(event for delivery, event in self.seen if delivery.partition(OPERAND)[0] == name), *marks]
        found: set[str] = set()
        if self.watermark > NEVER:
            over = reports(planned.bound, events, start=start, until=to_microseconds(self.watermark) - 1)
            found |= {one.id for one in over}
        if is_complete:
            found |= {one.id for one in reports(planned.bound, events, start=start)}
        self.reports += [(name, id) for id in found]
