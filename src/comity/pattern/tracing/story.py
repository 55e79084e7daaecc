"""A trace in words: what happened at each point of time, in short sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from comity.expression.render import render
from comity.expression.tree import TRUE, And, Attribute, IsType, attributes, substitute
from comity.pattern.composite import Composite
from comity.pattern.reference.occurrences import ReferenceEvent, ReferenceOccurrence
from comity.pattern.report import Report, moment_text
from comity.pattern.text.render import render_composite
from comity.pattern.tracing.absences import Absence, AbsenceOutcome
from comity.pattern.tracing.near_misses import Miss, NearMiss
from comity.pattern.tracing.trace import Closed, Closing, KeyTrace, Trace
from comity.pattern.tracing.verdicts import TracedEvent
from comity.pattern.tree import operands

_DAY = 86_400_000_000


class StepKind(StrEnum):
    """What a step is about."""

    CANDIDATE = "candidate"
    IGNORED = "ignored"
    WAIT = "wait"
    HELD = "held"
    BROKEN = "broken"
    REPORT = "report"
    DROPPED = "dropped"
    CONSUMED = "consumed"
    MISS = "near-miss"


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One thing that happened; of an event, with its name."""

    kind: StepKind
    text: str
    event: TracedEvent | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened at one time."""

    time: int
    steps: tuple[StoryStep, ...]


@dataclass(frozen=True)
class Words:
    """The words for one trace, whose times are told without the day if there is only one."""

    trace: Trace

    @cached_property
    def day(self) -> str | None:
        """The day on which everything happens; None if there are several."""
        times = [one.seen.time for one in self.trace.events]
        times += [report.end for report in self.trace.reports]
        days = {time // _DAY for time in times}
        return moment_text(days.pop() * _DAY)[:10] if len(days) == 1 else None

    def time(self, time: int) -> str:
        """A time as short as it can be."""
        text = moment_text(time)
        day, _, clock = text.removesuffix("Z").partition("T")
        return clock if clock and day == self.day else f"{day} {clock}".strip()

    def profile(self) -> list[str]:
        """The clauses of the profile, a line each."""
        bound = self.trace.bound
        on, *others = render_composite("", Composite(bound.pattern, parameters=bound.parameters)).split("\n")[1:]
        condition = self.condition()
        return [on, *([f"where {condition}"] if condition else []), *others]

    def condition(self) -> str:
        """What the profile asks beside its pattern; empty if it asks for nothing."""
        bound = self.trace.bound
        types = {operand.name: operand.type for operand in operands(bound.pattern)}
        found = [
            render(substitute(item, {path: Attribute((name, *path)) for path in attributes(item)}))
            for name, own in bound.filters.items()
            for item in (own.items if isinstance(own, And) else (own,))
            if item != TRUE and not (isinstance(item, IsType) and item.type == types[name])
        ]
        joins = (join for own in (*bound.joins.values(), *bound.against.values()) for join in own)
        found += sorted(render(join.condition) for join in joins if join.condition != TRUE)
        found += sorted(map(render, bound.key.items)) if bound.key else []
        return " and ".join(found)

    def events(self, found: Iterable[ReferenceEvent]) -> str:
        """The names of events."""
        return ", ".join(self.trace.label(seen.event) for seen in found)

    def bound(self, bound: Mapping[str, ReferenceEvent]) -> str:
        """What operands are bound to."""
        pairs = sorted(bound.items(), key=lambda item: item[1].order)
        return ", ".join(f"{name} = {self.trace.label(seen.event)}" for name, seen in pairs)

    @cached_property
    def _orders(self) -> dict[int, tuple[int, int, str, str]]:
        return {id(one.event): one.seen.order for one in self.trace.events}

    @cached_property
    def _consumed(self) -> frozenset[ReferenceEvent]:
        return frozenset(seen for own in self.trace.keys for seen in own.consumed)

    def report(self, report: Report) -> str:
        """A report with its events."""
        span = f"from {self.time(report.start)} to {self.time(report.end)}"
        return f"report {report.id[:8]}: {self.report_events(report)}, {span}"

    def report_events(self, report: Report) -> str:
        """The events of a report, earlier ones first."""
        label = self.trace.label
        parts = []
        for name, found in report.events.items():
            events = found if isinstance(found, tuple) else (found,)
            shown = f"[{', '.join(map(label, events))}]" if isinstance(found, tuple) else label(found)
            parts.append((min(self._orders[id(event)] for event in events), f"{name} = {shown}"))
        return ", ".join(text for _, text in sorted(parts)) or "silence"

    def waiting(self, absence: Absence) -> str:
        """What an absence asks for."""
        after = f" after {self.events(_in_order(absence.beside))}" if absence.beside else ""
        return f"no {' or '.join(absence.absent)}{after} until {self.time(absence.end)}"

    def absence(self, absence: Absence) -> str:
        """How an absence ended."""
        names = " or ".join(absence.absent)
        what = f"no {names} from {self.time(absence.begin)} to {self.time(absence.end)}"
        for_whom = f" for {self.events(_in_order(absence.beside))}" if absence.beside else ""
        match absence.outcome:
            case AbsenceOutcome.HELD:
                return f"{what}{for_whom}: fulfilled"
            case AbsenceOutcome.BROKEN:
                return f"{what}{for_whom}: ended by {self._culprit(absence.by, names)}"
            case AbsenceOutcome.REMOVED:
                return f"{what}{for_whom}: given up, {self._removed(absence)}"
            case AbsenceOutcome.OPEN:
                return f"{what}{for_whom}: not over yet"

    def _removed(self, absence: Absence) -> str:
        gone = [seen for seen in _in_order(absence.beside) if seen in self._consumed]
        return f"{self.events(gone)} was consumed" if gone else "removed by the limit"

    def _culprit(self, by: ReferenceOccurrence | None, names: str) -> str:
        if by is None or not by.bound:
            return names
        return f"{self.events(_in_order(by.bound))} at {self.time(by.end[0])}"

    def dropped(self, closed: Closed) -> str:
        """Why an occurrence that could close was left out."""
        assert closed.dropped_by is not None
        taken = self.events(closed.dropped_by.taken) or "none"
        return f"left out {self.bound(closed.occurrence.bound)}: {closed.dropped_by} candidates ({taken})"

    def consumed(self, closing: Closing) -> str:
        """What a closing consumed."""
        mode = self.trace.bound.parameters.consume
        return f"consumed {self.events(closing.consumed)} (consume {mode})"

    def near_miss(self, miss: NearMiss, own: KeyTrace) -> str:
        """Why an occurrence failed."""
        what = f"nearly {self.bound(miss.occurrence.bound) or 'a silence'}: "
        more = f" (and {miss.others} more)" if miss.others else ""
        match miss.kind:
            case Miss.NOT:
                culprit = self._culprit(miss.in_the_way, "a not")
                return f"{what}{culprit} stands in the way{more}"
            case Miss.CONSUMED:
                end = miss.occurrence.end[0]
                gone = [seen for seen in _in_order(miss.occurrence.bound) if own.consumed.get(seen, end) < end]
                ends = ", ".join(f"{self.events([seen])} at {self.time(own.consumed[seen])}" for seen in gone)
                return f"{what}consumed before: {ends or 'at this time'}{more}"
        return f"{what}{miss.text}{more}"


def story(trace: Trace, own: KeyTrace) -> list[Moment]:
    """What happened in the trace of one key, time by time."""
    words = Words(trace)
    found: dict[int, list[StoryStep]] = {}
    for event in own.events:
        kind = StepKind.CANDIDATE if event.candidacies else StepKind.IGNORED
        found.setdefault(event.seen.time, []).append(StoryStep(kind, event.text(), event))
    for absence in (one for one in own.absences if one.outcome is not AbsenceOutcome.REMOVED):
        for time, step in _absence_steps(words, absence):
            found.setdefault(time, []).append(step)
    for closing in own.closings:
        found.setdefault(closing.at[0], []).extend(_closing_steps(words, closing))
    for absence in (one for one in own.absences if one.outcome is AbsenceOutcome.REMOVED):
        for time, step in _absence_steps(words, absence):
            found.setdefault(time, []).append(step)
    for miss in own.near_misses:
        step = StoryStep(StepKind.MISS, words.near_miss(miss, own))
        found.setdefault(miss.occurrence.end[0], []).append(step)
    for seen, time in own.outgrown.items():
        text = f"removed {words.events([seen])}: limit {trace.bound.parameters.limit}"
        found.setdefault(time, []).append(StoryStep(StepKind.CONSUMED, text))
    return [Moment(time, tuple(steps)) for time, steps in sorted(found.items())]


_ENDS = {
    AbsenceOutcome.HELD: StepKind.HELD,
    AbsenceOutcome.BROKEN: StepKind.BROKEN,
    AbsenceOutcome.REMOVED: StepKind.CONSUMED,
}


def _absence_steps(words: Words, absence: Absence) -> Iterable[tuple[int, StoryStep]]:
    if absence.is_trailing and absence.beside:
        yield absence.begin, StoryStep(StepKind.WAIT, f"waits for {words.waiting(absence)}")
    if absence.at is None:
        yield absence.begin, StoryStep(StepKind.WAIT, words.absence(absence))
    elif absence.outcome is not AbsenceOutcome.BROKEN or absence.is_trailing:
        yield absence.at, StoryStep(_ENDS[absence.outcome], words.absence(absence))


def _closing_steps(words: Words, closing: Closing) -> Iterable[StoryStep]:
    yield from (StoryStep(StepKind.REPORT, words.report(report)) for report in closing.reports)
    yield from (StoryStep(StepKind.DROPPED, words.dropped(one)) for one in closing.occurrences if one.dropped_by)
    if closing.consumed:
        yield StoryStep(StepKind.CONSUMED, words.consumed(closing))


def _in_order(bound: Mapping[str, ReferenceEvent]) -> list[ReferenceEvent]:
    return sorted(bound.values(), key=lambda seen: seen.order)
