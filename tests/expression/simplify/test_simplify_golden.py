"""Filters before and after simplification, as text, and compared on events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Value
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.simplify.ranges import range_of
from comity.expression.tree import Expression, walk

GOLDEN = Path(__file__).parents[2] / "golden" / "simplify.txt"


class Pair(NamedTuple):
    scope: Scope
    before: str
    after: str


def read_pairs(text: str) -> Iterator[Pair]:
    type, before = EventType("Golden", "test"), ""
    tables: dict[str, dict[Value, Value]] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(": ")
        match word:
            case "type":
                type = EventType("Golden", "test", own=dict(map(_attribute, rest.split("; "))))
            case "table":
                name, *rows = rest.split()
                tables = {**tables, name: {key: int(value) for key, value in (row.split("=") for row in rows)}}
            case "before":
                before = rest
            case "after":
                yield Pair(Scope(type, None, tables), before, rest)


def _attribute(text: str) -> tuple[str, AttributeType]:
    name, kind, *unit = text.removesuffix("?").split()
    return name, AttributeType(Kind(kind), text.endswith("?"), unit[0] if unit else None)


VALUES: dict[Kind, list[Value]] = {
    Kind.BOOL: [True, False],
    Kind.INT: [0, 1, 2, 3, 4, 5, 7, 12, 21, -6, INT_MAX, INT_MIN],
    Kind.FLOAT: [0.0, -0.0, 70.0, 86.0, 150.0, 201.0, -459.67, 1e308, -1e308],
    Kind.STRING: ["", "a", "b", "ab", "x", "aab", "Bonn", "niedrig", "hoch", "sehr_hoch", "Elm", "12 Main Street"],
    Kind.TIMESTAMP: [datetime(2026, 5, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)],
    Kind.DURATION: [timedelta(0), timedelta(seconds=30), timedelta(days=-9)],
}


def _events(type: EventType, *trees: Expression) -> Iterator[Event]:
    common = {name: VALUES[one.kind][0] for name, one in type.attributes.items()}
    bare = {name: common[name] for name, one in type.attributes.items() if not one.optional}
    for name, one in type.attributes.items():
        for value in VALUES[one.kind]:
            yield from (Event("1", "/", "test.Golden", data={**rest, name: value}) for rest in (common, bare))
    yield Event("1", "/", "test.Golden", data=bare)
    for found in (range_of(atom, type) for tree in trees for atom in walk(tree)):
        for index in {end + step for span in found.spans for end in span for step in (-1, 0, 1)} if found else ():
            if found and found.domain.first <= index <= found.domain.last:
                yield Event("1", "/", "test.Golden", data={**bare, found.attribute.name: found.domain.value(index)})


PAIRS = list(read_pairs(GOLDEN.read_text()))


def test_the_golden_file_has_pairs() -> None:
    assert len(PAIRS) > 50


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.before)
def test_simplify_gives_what_the_golden_file_says(pair: Pair) -> None:
    assert pair.scope.type is not None
    before = bind_text(pair.before, pair.scope)
    after = simplify(before, pair.scope.type)
    assert render(after) == pair.after
    assert simplify(after, pair.scope.type) == after
    outcomes = {holds(before, event) for event in _events(pair.scope.type, before, after)}
    assert outcomes
    for event in _events(pair.scope.type, before, after):
        assert holds(before, event) == holds(after, event), event
