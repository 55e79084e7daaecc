"""How values are distributed, observed or declared: what imperfect merging and cost estimates rest on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from comity.event.event import Event
from comity.event.kinds import Value
from comity.expression.evaluate import AttributeReader, holds
from comity.expression.tree import Expression

Distribution = tuple[float, float] | Mapping[Value, float]
"""Evenly between two numbers, or values with their weights."""

_DRAWN = 4096
"""Events drawn from declared distributions: estimates are good to about one or two hundredths."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """A sample of events that stands for all of them."""

    sample: tuple[AttributeReader, ...]

    @classmethod
    def observed(cls, events: Iterable[Event]) -> Statistics:
        """From events that were seen."""
        return cls(tuple(events))

    @classmethod
    def declared(
        cls, attributes: Mapping[str, Distribution], *, missing: Mapping[str, float] | None = None, seed: int = 1
    ) -> Statistics:
        """From a distribution per attribute (by dotted name), taken as independent; `missing` gives the share without
        it.

        >>> from comity.expression.parse import parse
        >>> round(Statistics.declared({"x": (0, 10)}).share_outside(parse("x < 8"), parse("x < 4")), 3)
        0.5
        """
        chance = random.Random(seed)
        columns = {name: _column(name, given, missing or {}, chance) for name, given in attributes.items()}
        rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
        return cls(tuple(Event(str(at), "declared", "Event", data=_nested(row)) for at, row in enumerate(rows)))

    def share(self, tree: Expression) -> float:
        """The share of events that match."""
        matched = sum(holds(tree, record) for record in self.sample)
        return matched / len(self.sample) if self.sample else 0.0

    def share_outside(self, outer: Expression, inner: Expression) -> float:
        """Of the events that match the outer filter, the share that does not match the inner one; 1 when none
        matches.
        """
        matched = [record for record in self.sample if holds(outer, record)]
        if not matched:
            return 1.0
        return sum(not holds(inner, record) for record in matched) / len(matched)


def _column(name: str, given: Distribution, missing: Mapping[str, float], chance: random.Random) -> list[Value | None]:
    """Evenly spread or weighted values in random order: stratified, so that small samples estimate well."""
    if isinstance(given, Mapping):
        values: list[Value | None] = list(chance.choices(list(given), weights=list(given.values()), k=_DRAWN))
    else:
        low, high = given
        values = [low + (high - low) * (at + 0.5) / _DRAWN for at in range(_DRAWN)]
    chance.shuffle(values)
    gone = round(missing.get(name, 0.0) * _DRAWN)
    return [None if at < gone else value for at, value in enumerate(values)]


def _nested(row: Mapping[str, Value | None]) -> dict[str, Value]:
    data: dict[str, Value] = {}
    for name, value in row.items():
        *surroundings, last = name.split(".")
        inner = data
        for step in surroundings:
            inner = inner.setdefault(step, {})
        if value is not None:
            inner[last] = value
    return data
