"""Sample events of a type: the same ones every time, with the edges of every kind first.

Mappings are tried on them, and what is claimed of a mapping is refuted by them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from itertools import chain, cycle, islice
from random import Random

from comity.contract.mapping import Path
from comity.contract.shape import is_never_empty, leaves, structs
from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Point, Value, kind_of
from comity.event.types import AttributeType, EventType
from comity.expression.tree import Attribute, Call, Expression, In, Literal, Lookup, TextTest, walk

Values = Mapping[Kind, Sequence[Value]]

_NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
EDGES: Values = {
    Kind.BOOL: (True, False),
    Kind.INT: (7, 8, 0, 1, -1, 2, 3, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, INT_MAX, INT_MAX - 1, INT_MIN, INT_MIN + 1),
    Kind.FLOAT: (
        *(20.5, 21.0, 0.0, 0.25, 0.5, 1.0, math.nextafter(1.0, 2.0), -1.0, -0.5, 1.5, 100.0, 1e-9, 1e-300, 5e-324),
        *(1e15, 2.0**53, 2.0**53 + 2, 1e300, sys.float_info.max, -sys.float_info.max),
    ),
    Kind.STRING: (
        *("ab", "b", "", "a", "A", "aB", "abc", " ab", "ab ", "a, b", "a-b", "12", "012", "Straße", "STRASSE", "İ"),
        *("😀", "a\nb", "true"),
    ),
    Kind.TIMESTAMP: (
        *(_NOON, _NOON + timedelta(microseconds=1), _NOON + timedelta(seconds=1), _NOON + timedelta(days=1)),
        *(datetime(1970, 1, 1, tzinfo=UTC), datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    ),
    Kind.DURATION: (
        *(timedelta(minutes=5), timedelta(), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(days=1)),
        *(timedelta(days=-400), timedelta(microseconds=INT_MAX), timedelta(microseconds=-INT_MAX)),
    ),
    Kind.BYTES: (b"ab", b"", b"\xff"),
    Kind.POINT: (Point(1.5, -2.0), Point(0.0, 0.0), Point(1e300, 0.25), Point(1.5, 3.0)),
}
"""Values of each kind, the most ordinary one first."""


def sample_events(
    type: EventType, count: int, *, around: Iterable[Expression] = (), chance: Random | None = None
) -> Iterator[Event]:
    """So many events of a type: an ordinary one, then those that differ from it in one thing, then mixed ones.

    `around`: expressions whose constants are worth trying.

    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT, optional=True)})
    >>> [event.data for event in sample_events(house, 3)]
    [{'floor': 7}, {}, {'floor': 8}]
    """
    expressions = tuple(around)
    values, likely = sample_values(expressions), _likely(expressions)
    times = cycle([_NOON, *(values[Kind.TIMESTAMP][len(EDGES[Kind.TIMESTAMP]) :])])
    found = chain(_one_by_one(type, values, likely), _mixed(type, values, likely, chance or Random(0)))
    for number, (data, time) in enumerate(islice(zip(found, times, strict=False), count), start=1):
        yield Event(str(number), "/sample", type.qualified_name, time, data, sequence=number)


def _likely(expressions: Iterable[Expression]) -> dict[Path, list[Value]]:
    """Values for which expressions are made: the keys of tables, texts that can be taken apart."""
    found: dict[Path, list[Value]] = {}
    for node in chain.from_iterable(map(walk, expressions)):
        match node:
            case Lookup(key=Attribute(path), rows=rows):
                found.setdefault(path, []).extend(key for key, _ in rows[:50])
            case Call(name, (Attribute(path), Literal(str(mark)))) if name.startswith(("before", "after")):
                found.setdefault(path, []).extend((f"ab{mark}7", f"b{mark}8"))
    return found


def sample_values(around: Iterable[Expression] = ()) -> dict[Kind, list[Value]]:
    """Values of each kind: the edges, and the constants of expressions with what lies beside them."""
    values = {kind: list(edges) for kind, edges in EDGES.items()}
    for one in chain.from_iterable(map(beside, _constants(around))):
        known = values.get(kind_of(one) or Kind.STRUCT)
        if known is not None and one not in known:
            known.append(one)
    return values


def beside(value: Value) -> Iterator[Value]:
    """A value and others that are close to it."""
    yield value
    match value:
        case bool() | bytes():
            return
        case int():
            yield from (one for one in (value - 1, value + 1) if INT_MIN <= one <= INT_MAX)
            yield from beside(float(value)) if abs(value) <= INT_MAX else ()
        case float():
            yield from filter(math.isfinite, (math.nextafter(value, math.inf), math.nextafter(value, -math.inf)))
        case str():
            yield from (f"a{value}b", f"b{value}b", value.upper(), value.lower(), f"{value} ", value * 2)
            yield from (f"a{value}{number}" for number in ("7", "0", "-0"))
        case datetime() | timedelta():
            yield from _later(value)


def _later(value: datetime | timedelta) -> Iterator[Value]:
    for step in (timedelta(microseconds=1), timedelta(microseconds=-1)):
        try:
            yield value + step
        except OverflowError:
            continue


def _constants(around: Iterable[Expression]) -> Iterator[Value]:
    for node in chain.from_iterable(map(walk, around)):
        match node:
            case Literal(value):
                yield value
            case Lookup(rows=rows):
                yield from (key for key, _ in rows[:50])
            case In(items=items):
                yield from (item.value for item in items if isinstance(item, Literal))
            case TextTest(text=text):
                yield text.replace("%", "x").replace("_", "y")


def changed(data: Mapping[str, Value], path: Path, value: Value | None) -> dict[str, Value]:
    """The data with another value at a path; None: without one.

    >>> changed({"a": {"b": 1}}, ("a", "b"), 2)
    {'a': {'b': 2}}
    """
    result = deepcopy(dict(data))
    inner = result
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    if value is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = value
    return result


def ordinary_data(type: EventType, values: Values = EDGES) -> dict[str, Value]:
    """Data with everything in it, of the most ordinary values."""
    return {name: _made(declared, values, None) for name, declared in type.attributes.items()}


def values_of(declared: AttributeType, values: Values) -> list[Value]:
    """The sample values of one attribute that is no struct."""
    if declared.kind is Kind.LIST and declared.element is not None:
        element = declared.element
        some = [_made(element, values, None)] if element.kind is Kind.STRUCT else values_of(element, values)[:3]
        return [some, some[:1], []]
    return list(values.get(declared.kind, ()))


Likely = Mapping[Path, Sequence[Value]]


def _one_by_one(type: EventType, values: Values, likely: Likely) -> Iterator[dict[str, Value]]:
    ordinary = ordinary_data(type, values)
    for path, some in likely.items():
        ordinary = _if_fitting(ordinary, type, path, some[0])
    yield ordinary
    inside = {**structs(type), **leaves(type)}
    for path, declared in inside.items():
        if declared.optional:
            yield changed(ordinary, path, None)
        if declared.kind is Kind.STRUCT and not is_never_empty(declared):
            yield changed(ordinary, path, {})
    for path, declared in leaves(type).items():
        yield from (changed(ordinary, path, value) for value in values_of(declared, values)[1:])


def _if_fitting(data: dict[str, Value], type: EventType, path: Path, value: Value) -> dict[str, Value]:
    declared = leaves(type).get(path)
    return changed(data, path, value) if declared and declared.kind is kind_of(value) else data


def _mixed(type: EventType, values: Values, likely: Likely, chance: Random) -> Iterator[dict[str, Value]]:
    while True:
        data = {
            name: _made(declared, values, chance)
            for name, declared in type.attributes.items()
            if not declared.optional or chance.random() < 0.7
        }
        for path, some in likely.items():
            if path[0] in data and chance.random() < 0.7:
                data = _if_fitting(data, type, path, chance.choice(some))
        yield data


def _made(declared: AttributeType, values: Values, chance: Random | None) -> Value:
    """A value of an attribute: the most ordinary one, or any."""
    if declared.kind is Kind.STRUCT:
        return {
            name: _made(inner, values, chance)
            for name, inner in declared.attributes.items()
            if not inner.optional or chance is None or chance.random() < 0.7
        }
    known = values_of(declared, values)
    return known[0] if chance is None else chance.choice(known)
