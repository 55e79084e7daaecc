"""A composite profile over a few events, step by step.

Which events were candidates, what could close, what choice left of it, what was reported and consumed, what the `not`s
waited for, and what nearly occurred. It watches the reference, so its reports are those of the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from comity.errors import Misuse
from comity.event.event import Event
from comity.limits import limits
from comity.pattern.bound import BoundPattern
from comity.pattern.parameters import Duplicates
from comity.pattern.reference import reports as reference
from comity.pattern.reference.occurrences import Candidates, Point, ReferenceEvent, ReferenceOccurrence, see
from comity.pattern.reference.reports import Round, choosing, key_of, left_by
from comity.pattern.report import Happening, Report
from comity.pattern.tracing.absences import Absence, AbsenceOutcome, AbsenceWatch
from comity.pattern.tracing.near_misses import NearMiss, near_misses, variants
from comity.pattern.tracing.verdicts import TracedEvent, traced
from comity.pattern.tree import Either, Operand, Pattern, Silence, bound_parts


@dataclass(frozen=True, slots=True)
class Choice:
    """An operand that chose, and left something out by it."""

    operand: str
    rule: Duplicates
    candidates: tuple[ReferenceEvent, ...]
    taken: tuple[ReferenceEvent, ...]

    def __str__(self) -> str:
        return f"{self.operand} takes {_RULES.get(str(self.rule), f'number {self.rule}')} of {len(self.candidates)}"


_MOST_NAMES = 1_000
"""Keys that are remembered in case that the wanted one is not there."""
_RULES = {"first": "the first", "last": "the last"}


@dataclass(frozen=True, slots=True)
class Closed:
    """An occurrence that could close: the report that it became part of, or the choice that left it out."""

    occurrence: ReferenceOccurrence
    report: str | None
    dropped_by: Choice | None


@dataclass(frozen=True, slots=True)
class Closing:
    """One evaluation at which something closed."""

    at: Point
    number: int
    """From 1; with `consume reapply` there may be several at one point of time."""
    occurrences: tuple[Closed, ...]
    choices: tuple[Choice, ...]
    reports: tuple[Report, ...]
    consumed: tuple[ReferenceEvent, ...]


@dataclass(frozen=True, slots=True)
class KeyTrace:
    """What happened in the trace of one correlation key."""

    key: object
    events: tuple[TracedEvent, ...]
    candidates: Candidates
    closings: tuple[Closing, ...]
    absences: tuple[Absence, ...]
    near_misses: tuple[NearMiss, ...]
    outgrown: Mapping[ReferenceEvent, int]
    """Events that the limit of the profile removed, and when."""

    @property
    def name(self) -> str:
        """The key, for people.

        >>> KeyTrace(("attic", 3), (), {}, (), (), (), {}).name
        'attic, 3'
        """
        return key_text(self.key)

    @property
    def reports(self) -> tuple[Report, ...]:
        """What was reported, once each."""
        found = {report.id: report for closing in self.closings for report in closing.reports}
        return tuple(found.values())

    @property
    def consumed(self) -> dict[ReferenceEvent, int]:
        """The events that reports consumed, and when."""
        return {seen: closing.at[0] for closing in self.closings for seen in closing.consumed}


@dataclass(frozen=True, slots=True)
class Trace:
    """A profile over events: every event with its verdicts, and what happened for each key."""

    bound: BoundPattern
    start: int
    last: int
    until: int | None
    events: tuple[TracedEvent, ...]
    keys: tuple[KeyTrace, ...]
    reports: tuple[Report, ...]
    others: tuple[TracedEvent, ...]
    """Events that are in no trace: of other types, without a key, or with one that no candidate has."""
    _twins: frozenset[str] = field(default=frozenset(), repr=False)

    def label(self, event: Happening) -> str:
        """The name of an event: its id, with the source where several have the same."""
        return f"{event.id} of {event.source}" if event.id in self._twins else event.id


def trace(
    bound: BoundPattern,
    events: Iterable[Event],
    start: int | None = None,
    until: int | None = None,
    *,
    key: str | None = None,
) -> Trace:
    """What the profile makes of the events, which have times; with `key`, of those of one correlation key.

    >>> from comity.event.times import parse_timestamp
    >>> from comity.pattern.bound import bind_pattern
    >>> from comity.pattern.tree import Sequence
    >>> pattern = bind_pattern("p", Sequence((Operand("a", "A"), Operand("b", "B"))))
    >>> times = [parse_timestamp(f"2026-05-01T10:00:0{second}Z") for second in (1, 2)]
    >>> found = trace(pattern, [Event("1", "/s", "A", times[0]), Event("2", "/s", "B", times[1])])
    >>> [event.text() for event in found.events], len(found.reports)
    (['candidate of a', 'candidate of b'], 1)
    """
    found = sorted(_taken(bound, events, until, key), key=lambda one: one.order)
    candidates = reference.traces(bound, found)
    _check_work(bound, candidates.values())
    told = traced(bound, found, candidates)
    watched = {one: _Watch(bound) for one in candidates}
    reports = reference.reports(
        bound,
        (seen.event for seen in found),
        start=start,
        until=until,
        watch=lambda one, round: watched[one].look(round),
    )
    begin = found[0].time if start is None and found else start or 0
    last = until if until is not None else found[-1].time if found else begin
    by_key = _by_key(told, candidates)
    keys = [watched[one].close(one, by_key[one], candidates[one], last) for one in candidates]
    if key is not None:
        keys = [one for one in keys if one.name == key]
    others = tuple(one for one in told if not any(each in candidates for each in one.keys))
    twins = Counter(event_id for event_id, _ in {(one.event.id, one.event.source) for one in told})
    return Trace(
        bound,
        begin,
        last,
        until,
        told,
        tuple(sorted(keys, key=lambda one: one.name)),
        tuple(report for report in reports if key is None or any(report in one.reports for one in keys)),
        others,
        frozenset(event_id for event_id, count in twins.items() if count > 1),
    )


def key_text(key: object) -> str:
    """A correlation key for people."""
    return ", ".join(map(_part_text, key)) if isinstance(key, tuple) else str(key)


def _part_text(value: object) -> str:
    if isinstance(value, tuple):  # a canonical value with its kind in front
        return str(value[1]).lower() if value[0] == "bool" else " ".join(map(str, value[1:]))
    return str(value)


def _taken(bound: BoundPattern, events: Iterable[Event], until: int | None, key: str | None) -> list[ReferenceEvent]:
    """The events that the trace is about; too many of them are refused as soon as they come."""
    if key is not None and bound.key is None:
        hint = "no equalities tie all operands to each other, so there is one trace: leave the key out"
        raise Misuse("the profile has no correlation key", code="no-such-key", hint=hint)
    found: list[ReferenceEvent] = []
    names: set[str] = set()
    for event in events:
        seen = see(event, bound.parameters.ties)
        own = _key_names(bound, event)
        names |= own if len(names) < _MOST_NAMES else set()
        if (until is None or seen.time <= until) and (key is None or key in own):
            found.append(seen)
            _check_count(len(found))
    if key is not None and not found:
        known = ", ".join(sorted(names)[:8]) + (", …" if len(names) > 8 else "")
        hint = f"there are {known or 'none'}"
        raise Misuse(f"no event has the key {key!r}", code="no-such-key", hint=hint)
    return found


def _key_names(bound: BoundPattern, event: Event) -> set[str]:
    if bound.key is None:
        return set()
    return {key_text(own) for name in bound.filters if (own := key_of(bound, name, event)) is not None}


def _check_count(count: int) -> None:
    most = limits().max_traced_events
    if count > most:
        hint = "cut them with --from, --until or --key, or raise COMITY_MAX_TRACED_EVENTS"
        raise Misuse(f"there are more than {most:,} events to trace", code="trace-too-large", hint=hint)


def _check_work(bound: BoundPattern, traces: Iterable[Candidates]) -> None:
    """The reference looks at every combination of candidates at every point of time."""
    ways = 2 + len(variants(bound))
    steps = sum(ways * _combinations(bound.pattern, own) * sum(map(len, own.values())) for own in traces)
    most = limits().max_traced_steps
    if steps > most:
        hint = "cut the events with --from, --until or --key, or raise COMITY_MAX_TRACED_STEPS"
        message = f"the candidates have too many combinations to trace: {steps:,} steps, at most {most:,}"
        raise Misuse(message, code="trace-too-large", hint=hint)


def _combinations(pattern: Pattern, candidates: Candidates) -> int:
    if isinstance(pattern, Operand):
        return len(candidates[pattern.name])
    if isinstance(pattern, Silence):
        return 1 + _combinations(pattern.pattern, candidates)
    counts = [_combinations(part, candidates) for part in bound_parts(pattern)]
    return sum(counts) if isinstance(pattern, Either) else prod(counts)


def _by_key(told: Iterable[TracedEvent], traces: Mapping[object, Candidates]) -> dict[object, tuple[TracedEvent, ...]]:
    found: dict[object, list[TracedEvent]] = {key: [] for key in traces}
    for one in told:
        for key in one.keys & found.keys():
            found[key].append(one)
    return {key: tuple(own) for key, own in found.items()}


class _Watch:
    """Takes in the rounds of one trace."""

    def __init__(self, bound: BoundPattern) -> None:
        self._bound = bound
        self._variants = variants(bound)
        self._absences = AbsenceWatch(bound)
        self._closings: list[Closing] = []
        self._misses: list[NearMiss] = []
        self._outgrown: dict[ReferenceEvent, int] = {}
        self._before: Round | None = None
        self._number = 0

    def look(self, round: Round) -> None:
        """Note one evaluation."""
        is_first = self._before is None or self._before.world.now != round.world.now
        self._number = 1 if is_first else self._number + 1
        if is_first:
            self._absences.look(round)
            self._misses += near_misses(round, self._variants)
            self._note_outgrown(round)
        if round.closing:
            self._closings.append(self._closing(round))
        self._before = round

    def close(self, key: object, events: tuple[TracedEvent, ...], candidates: Candidates, last: int) -> KeyTrace:
        """Everything that was noted."""
        absences = _worth_showing(self._absences.close(last), self._closings)
        gone = {seen: closing.at[0] for closing in self._closings for seen in closing.consumed}
        absences = tuple(_with_time(one, gone) for one in absences)
        closings, misses = tuple(self._closings), tuple(self._misses)
        return KeyTrace(key, events, candidates, closings, absences, misses, self._outgrown)

    def _closing(self, round: Round) -> Closing:
        left, choices = list(round.closing), []
        dropped: dict[int, Choice] = {}
        for operand in choosing(self._bound.pattern):
            kept = left_by(operand, left, self._bound.parameters)
            remaining = {id(one) for one in kept}
            gone = [one for one in left if id(one) not in remaining]
            if gone:
                choice = self._choice(operand, left, kept)
                choices.append(choice)
                dropped.update({id(one): choice for one in gone})
            left = kept
        report_ids = {id(one): report.id for report, group in round.made for one in group}
        occurrences = tuple(
            Closed(one, report_ids.get(id(one)), dropped.get(id(one)))
            for one in sorted(round.closing, key=lambda one: one.order)
        )
        consumed = _missing(round.world.live, round.live)
        made = tuple(report for report, _ in round.made)
        return Closing(round.world.now, self._number, occurrences, tuple(choices), made, consumed)

    def _choice(self, operand: str, left: Iterable[ReferenceOccurrence], kept: Iterable[ReferenceOccurrence]) -> Choice:
        rule = self._bound.parameters.of(operand)
        return Choice(operand, rule, _bound_to(operand, left), _bound_to(operand, kept))

    def _note_outgrown(self, round: Round) -> None:
        if self._before is not None:
            for seen in _missing(self._before.world.occurred, round.world.occurred):
                if not any(seen in own for own in round.world.occurred.values()):
                    self._outgrown[seen] = round.world.now[0]


def _bound_to(operand: str, found: Iterable[ReferenceOccurrence]) -> tuple[ReferenceEvent, ...]:
    return tuple(sorted({one.bound[operand] for one in found if operand in one.bound}, key=lambda seen: seen.order))


def _missing(before: Candidates, after: Candidates) -> tuple[ReferenceEvent, ...]:
    """What is there before and not after."""
    gone = {seen for name, own in before.items() for seen in own if seen not in after[name]}
    return tuple(sorted(gone, key=lambda seen: seen.order))


def _with_time(absence: Absence, consumed: Mapping[ReferenceEvent, int]) -> Absence:
    """One that was given up has the time at which its events were consumed."""
    times = [consumed[seen] for seen in absence.beside.values() if seen in consumed]
    return replace(absence, at=min(times)) if absence.outcome is AbsenceOutcome.REMOVED and times else absence


def _worth_showing(absences: Iterable[Absence], closings: Iterable[Closing]) -> tuple[Absence, ...]:
    """All waits; of absences before an event that came, those in a report, and the nearest that was broken."""
    reported = [one.occurrence.bound for closing in closings for one in closing.occurrences if one.report]
    found: dict[object, Absence] = {}
    for at, one in enumerate(absences):
        if one.is_trailing:
            found[at] = one
        elif one.outcome is AbsenceOutcome.BROKEN:
            found[one.absent, one.end] = one
        elif any(one.beside.items() <= bound.items() for bound in reported):
            found[at] = one
    return tuple(found.values())
