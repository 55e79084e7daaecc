"""A trace as plain values, for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from comity.pattern.reference.occurrences import ReferenceEvent, ReferenceOccurrence
from comity.pattern.report import moment_text
from comity.pattern.tracing.absences import Absence
from comity.pattern.tracing.near_misses import NearMiss
from comity.pattern.tracing.story import Words
from comity.pattern.tracing.trace import Choice, Closed, Closing, KeyTrace, Trace
from comity.pattern.tracing.verdicts import TracedEvent


def trace_dict(trace: Trace) -> dict[str, Any]:
    """Everything that a trace holds.

    >>> from comity.pattern.bound import bind_pattern
    >>> from comity.pattern.tracing.trace import trace
    >>> from comity.pattern.tree import Operand
    >>> trace_dict(trace(bind_pattern("hot", Operand("h", "Heat")), []))["reports"]
    []
    """
    words = Words(trace)
    return {
        "profile": trace.bound.name,
        "clauses": words.profile(),
        "start": moment_text(trace.start) if trace.events else None,
        "last": moment_text(trace.last) if trace.events else None,
        "until": None if trace.until is None else moment_text(trace.until),
        "events": [_event(one) for one in trace.events],
        "traces": [_key_trace(words, own) for own in trace.keys],
        "others": [_identity(one.seen) for one in trace.others],
        "reports": [report.as_dict() for report in trace.reports],
    }


def _event(one: TracedEvent) -> dict[str, Any]:
    operands = {verdict.operand: verdict.as_dict() for verdict in one.verdicts}
    return {**_identity(one.seen), "type": one.event.type, "time": moment_text(one.seen.time), "operands": operands}


def _key_trace(words: Words, own: KeyTrace) -> dict[str, Any]:
    return {
        "key": own.name if words.trace.bound.key else None,
        "events": [_identity(one.seen) for one in own.events],
        "closings": [_closing(words, one) for one in own.closings],
        "absences": [_absence(words, one) for one in own.absences],
        "near_misses": [_near_miss(words, one, own) for one in own.near_misses],
        "removed_by_limit": [{**_identity(seen), "at": moment_text(time)} for seen, time in own.outgrown.items()],
    }


def _closing(words: Words, closing: Closing) -> dict[str, Any]:
    return {
        "at": moment_text(closing.at[0]),
        "round": closing.number,
        "occurrences": [_closed(words, one) for one in closing.occurrences],
        "choices": [_choice(one) for one in closing.choices],
        "reports": [report.id for report in closing.reports],
        "consumed": _identities(closing.consumed),
    }


def _closed(words: Words, closed: Closed) -> dict[str, Any]:
    why = words.dropped(closed) if closed.dropped_by else None
    return {**_occurrence(closed.occurrence), "report": closed.report, "left_out": why}


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "operand": choice.operand,
        "rule": str(choice.rule),
        "candidates": _identities(choice.candidates),
        "taken": _identities(choice.taken),
    }


def _absence(words: Words, absence: Absence) -> dict[str, Any]:
    return {
        "absent": list(absence.absent),
        "begin": moment_text(absence.begin),
        "end": moment_text(absence.end),
        "events": _bound(absence.beside),
        "outcome": absence.outcome.value,
        "at": None if absence.at is None else moment_text(absence.at),
        "by": None if absence.by is None else _occurrence(absence.by),
        "text": words.absence(absence),
    }


def _near_miss(words: Words, miss: NearMiss, own: KeyTrace) -> dict[str, Any]:
    return {
        "kind": miss.kind.value,
        **_occurrence(miss.occurrence),
        "in_the_way": None if miss.in_the_way is None else _occurrence(miss.in_the_way),
        "others": miss.others,
        "text": words.near_miss(miss, own),
    }


def _occurrence(one: ReferenceOccurrence) -> dict[str, Any]:
    return {"events": _bound(one.bound), "start": moment_text(one.start[0]), "end": moment_text(one.end[0])}


def _bound(bound: Mapping[str, ReferenceEvent]) -> dict[str, dict[str, str]]:
    return {name: _identity(seen) for name, seen in sorted(bound.items())}


def _identities(found: Iterable[ReferenceEvent]) -> list[dict[str, str]]:
    return [_identity(seen) for seen in found]


def _identity(seen: ReferenceEvent) -> dict[str, str]:
    return {"id": seen.event.id, "source": seen.event.source}
