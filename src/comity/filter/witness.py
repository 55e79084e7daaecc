"""An event that shows why an answer is what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

from comity.event.event import Event
from comity.event.kinds import EPOCH, Kind, Point, Value, timestamp_from_microseconds
from comity.event.types import AttributeType
from comity.filter.sets.strings import StringSet
from comity.filter.sets.values import MISSING, ValueSet
from comity.filter.solution import Solution
from comity.filter.space import Path, Space

_SMALLEST: Mapping[Kind, Callable[[], Value]] = {
    Kind.BYTES: bytes,
    Kind.LIST: list,
    Kind.POINT: lambda: Point(0.0, 0.0),
}


def witness(solution: Solution, space: Space) -> Event:
    """An event with the values of the solution, complete for its type; attributes that play no part are as small as
    they can be.
    """
    values = {path: _value(path, cell, solution, space) for path, cell in solution.branch.sets.items()}
    _make_twins_differ(values, solution)
    if space.type is None:
        _make_open_structs_differ(values, solution)
    _put_in_order(values, solution)
    data: dict[str, Any] = _smallest(space.type.attributes) if space.type else {}
    for path in sorted(values, key=len):
        if path[0] != "event":
            _put(data, path, values[path])
    envelope = {path[1]: value for path, value in values.items() if path[0] == "event" and value is not MISSING}
    type_name = space.type.qualified_name if space.type else "Event"
    return Event("witness", "comity", type_name, EPOCH, data).replace(**envelope)


def _value(path: Path, cell: ValueSet, solution: Solution, space: Space) -> Value:
    number = solution.numbers.get(path)
    if number is not None and not cell.timestamps.is_empty:
        return timestamp_from_microseconds(int(number))
    if number is not None and not cell.durations.is_empty:
        return timedelta(microseconds=int(number))
    if number is not None:
        return _plain(number, space.kind(path))
    found = cell.sample()
    if isinstance(found, bytes):
        declared = space.type.attribute_at(path) if space.type else None
        return _smallest_value(declared) if declared else {}
    return _plain(found, space.kind(path)) if isinstance(found, int | float | Fraction) and found is not True else found


def _plain(number: int | float | Fraction, kind: Kind | None) -> Value:
    if isinstance(number, bool):
        return number
    if kind is Kind.INT or (kind is None and number == int(number)):
        return int(number)
    return float(number)


def _make_twins_differ(values: dict[Path, Value], solution: Solution) -> None:
    """Attributes in one cell but at different places get different members of it; at the same place, the same."""
    members: dict[tuple[int, int], Value] = {}
    for path, spot in solution.twins.items():
        cell = solution.branch.sets[path]
        if values[path] is MISSING or cell.strings.is_empty:
            continue
        if spot not in members:
            rest = cell.strings
            for (at, _), taken in members.items():
                if at == spot[0]:
                    rest = rest.difference(type(rest).of([taken]))
            members[spot] = rest.sample() if not rest.is_empty else values[path]
        values[path] = members[spot]


def _make_open_structs_differ(values: dict[Path, Value], solution: Solution) -> None:
    """The same for open attributes that are no scalars: structs with different content."""
    places: dict[tuple[int, int], int] = {}
    for path, spot in solution.twins.items():
        if values[path] == {}:
            number = places.setdefault(spot, len(places))
            values[path] = {"number": number} if number else {}


def _put_in_order(values: dict[Path, Value], solution: Solution) -> None:
    """Strings of rising rank get rising values, as low as their cells allow, so that there is room for the next."""
    strings = [path for path in solution.ranks if isinstance(values[path], str)]
    last_rank, last = None, ""
    for path in sorted(strings, key=lambda one: solution.ranks[one]):
        if solution.ranks[path] != last_rank:
            cell = solution.branch.sets[path].strings
            above = cell if last_rank is None else cell.intersect(StringSet.compare(">", last))
            if above.is_empty:
                return
            last_rank, last = solution.ranks[path], _lowest(above)
        values[path] = last


def _lowest(strings: StringSet) -> str:
    """The first string of a set, or a readable one where there is no end to what follows."""
    if not strings.is_interval_union:
        return strings.sample()
    low, high = next(iter(strings.intervals()))
    return strings.intersect(StringSet.compare(">=", low)).sample() if high is None else low


def _smallest(attributes: Any) -> dict[str, Any]:
    """The mandatory attributes, each with the simplest value of its kind."""
    return {name: _smallest_value(declared) for name, declared in attributes.items() if not declared.optional}


def _smallest_value(declared: AttributeType) -> Value:
    if declared.kind is Kind.STRUCT:
        return _smallest(declared.attributes)
    return _SMALLEST[declared.kind]() if declared.kind in _SMALLEST else ValueSet.universe(declared.kind).sample()


def _put(data: dict[str, Any], path: Path, value: Value) -> None:
    """Set a value inside the data; what would stand inside something that is no struct is not there."""
    *surroundings, name = path
    inner: Any = data
    for step in surroundings:
        outer, inner = inner, inner.get(step)
        if isinstance(inner, Point) and value is not MISSING:
            outer[step] = inner._replace(**{name: float(value)})
        if not isinstance(inner, dict):
            return
    if value is MISSING:
        inner.pop(name, None)
    elif not (isinstance(value, dict | Point) and isinstance(inner.get(name), dict | Point)):
        inner[name] = value
