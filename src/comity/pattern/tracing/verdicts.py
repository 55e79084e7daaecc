"""For which operands an event is a candidate, and why it is none for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from comity.event.event import Event
from comity.expression.clauses import Clause, explain_clause, values_text
from comity.expression.evaluate import holds
from comity.expression.tree import And, Expression, IsType
from comity.pattern.bound import BoundPattern
from comity.pattern.reference.occurrences import Candidates, ReferenceEvent
from comity.pattern.reference.reports import key_of
from comity.pattern.tree import operands


class VerdictReason(StrEnum):
    """What became of an event as an operand."""

    CANDIDATE = "candidate"
    OTHER_TYPE = "other-type"
    CONDITION = "condition"
    NO_KEY = "no-key"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An event as one operand: a candidate in the trace of its key, or the reason why not."""

    operand: str
    reason: VerdictReason
    text: str
    key: object = None
    """Of an event of the operand's type: the correlation key, as far as there is one."""
    clauses: tuple[Clause, ...] = ()
    """The conditions of the operand that do not hold."""

    @property
    def is_candidate(self) -> bool:
        return self.reason is VerdictReason.CANDIDATE

    def as_dict(self) -> dict[str, Any]:
        """The verdict for JSON."""
        failed = [{"text": one.text, "values": values_text(one.values)} for one in self.clauses]
        return {"candidate": self.is_candidate, "reason": self.reason.value, "text": self.text, "failed": failed}


@dataclass(frozen=True, slots=True)
class TracedEvent:
    """An event with its verdicts, in the order in which the operands are written."""

    seen: ReferenceEvent
    verdicts: tuple[Verdict, ...]

    @property
    def event(self) -> Event:
        return self.seen.event

    @property
    def candidacies(self) -> tuple[Verdict, ...]:
        """The operands that it is a candidate of."""
        return tuple(one for one in self.verdicts if one.is_candidate)

    @property
    def keys(self) -> frozenset[object]:
        """The traces in which it is to be seen: as a candidate, or else as an event of the right type."""
        found = self.candidacies or tuple(one for one in self.verdicts if one.key is not None)
        return frozenset(one.key for one in found)

    def text(self) -> str:
        """What it is, or why it is nothing."""
        found = self.candidacies
        if found:
            return f"candidate of {' and '.join(one.operand for one in found)}"
        near = [one for one in self.verdicts if one.reason is not VerdictReason.OTHER_TYPE]
        if not near:
            return f"no operand is about {self.event.type}"
        return "no candidate: " + "; ".join(f"{one.operand}: {one.text}" for one in near)


def traced(
    bound: BoundPattern, found: Iterable[ReferenceEvent], traces: Mapping[object, Candidates]
) -> tuple[TracedEvent, ...]:
    """The events with their verdicts; `traces` are those of the reference."""
    taken = {
        (name, id(seen.event)) for candidates in traces.values() for name, own in candidates.items() for seen in own
    }
    return tuple(
        TracedEvent(seen, tuple(_verdict(bound, one.name, one.type, seen, taken) for one in operands(bound.pattern)))
        for seen in found
    )


def _verdict(
    bound: BoundPattern, operand: str, type: str | None, seen: ReferenceEvent, taken: set[tuple[str, int]]
) -> Verdict:
    event = seen.event
    failed = [item for item in _items(bound.filters[operand]) if not holds(item, event)]
    if any(isinstance(item, IsType) and item.type == type for item in failed):
        return Verdict(operand, VerdictReason.OTHER_TYPE, f"its type is {event.type}, not {type}")
    key = key_of(bound, operand, event)
    if failed:
        clauses = tuple(explain_clause(item, event) for item in failed)
        return Verdict(operand, VerdictReason.CONDITION, "; ".join(map(clause_text, clauses)), key, clauses)
    if key is None:
        return Verdict(operand, VerdictReason.NO_KEY, _no_key(bound, operand, event))
    if (operand, id(event)) not in taken:
        return Verdict(operand, VerdictReason.REPEAT, "it repeats an earlier event", key)
    return Verdict(operand, VerdictReason.CANDIDATE, "candidate", key)


def _items(condition: Expression) -> tuple[Expression, ...]:
    return condition.items if isinstance(condition, And) else (condition,)


def clause_text(clause: Clause) -> str:
    """A clause that does not hold, with what it saw.

    >>> clause_text(Clause("value > 30", False, {"value": 25}))
    'value > 30 is false, value = 25'
    """
    seen = values_text(_values(clause))
    return f"{clause.text} is false" + (f", {seen}" if seen else "")


def _values(clause: Clause) -> dict[str, Any]:
    found = dict(clause.values)
    for part in clause.parts:
        found.update(_values(part))
    return found


def _no_key(bound: BoundPattern, operand: str, event: Event) -> str:
    assert bound.key is not None
    values = {".".join(path): event.get(path) for path in bound.key.paths(operand)}
    return f"it has no key, {values_text(values)}"
