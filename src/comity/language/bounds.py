"""Between which constants attributes must lie for a filter to hold: a box around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from comity.expression.tree import And, Attribute, Between, Compare, Expression, In, Literal, Or, TextTest
from comity.filter.sets.symbols import after_prefix

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoundRange:
    """From `low` to `high`, each None where there is no end; an open end is not part of it."""

    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False

    @property
    def values(self) -> str | None:
        """The class of its ends, None when they are of none that has an order."""
        return _class_of(self.low if self.low is not None else self.high)

    def within(self, other: BoundRange) -> BoundRange:
        """What lies in both."""
        low, low_open = _higher(self, other) if other.low is not None else (self.low, self.low_open)
        high, high_open = _lower(self, other) if other.high is not None else (self.high, self.high_open)
        return BoundRange(low, high, low_open, high_open)

    def around(self, other: BoundRange) -> BoundRange:
        """The least range that holds both."""
        low, low_open = None, False
        if self.low is not None and other.low is not None:
            low, low_open = min((self.low, self.low_open), (other.low, other.low_open))
        high, high_open = None, False
        if self.high is not None and other.high is not None:
            high, closed = max((self.high, not self.high_open), (other.high, not other.high_open))
            high_open = not closed
        return BoundRange(low, high, low_open, high_open)

    def tests(self, operand: Expression) -> Iterator[Expression]:
        """Tests that the operand lies in it."""
        if self.low is not None and self.high is not None and not self.low_open and not self.high_open:
            low, high = Literal(self.low), Literal(self.high)
            yield Compare("=", operand, low) if low == high else Between(operand, low, high)
            return
        if self.low is not None:
            yield Compare(">" if self.low_open else ">=", operand, Literal(self.low))
        if self.high is not None:
            yield Compare("<" if self.high_open else "<=", operand, Literal(self.high))


def _higher(one: BoundRange, other: BoundRange) -> tuple[Any, bool]:
    if one.low is None:
        return other.low, other.low_open
    return max((one.low, one.low_open), (other.low, other.low_open))


def _lower(one: BoundRange, other: BoundRange) -> tuple[Any, bool]:
    if one.high is None:
        return other.high, other.high_open
    high, closed = min((one.high, not one.high_open), (other.high, not other.high_open))
    return high, not closed


_CLASSES: Mapping[type, str] = {int: "number", float: "number", str: "text", datetime: "time", timedelta: "span"}


def _class_of(value: Any) -> str | None:
    return _CLASSES.get(type(value))


Box = dict[Path, BoundRange]


def bounds_of(node: Expression) -> Box:
    """A range for every attribute that the filter bounds by constants.

    >>> from comity.expression.parse import parse
    >>> bounds_of(parse("x = 1 and y > 3 or x in (5, 3)"))
    {('x',): BoundRange(low=1, high=5, low_open=False, high_open=False)}
    """
    match node:
        case And(items):
            return _joined(map(bounds_of, items))
        case Or(items):
            return _hull(list(map(bounds_of, items)))
    found = _range_of(node)
    return {} if found is None or found[1].values is None else {found[0]: found[1]}


def _joined(boxes: Iterable[Box]) -> Box:
    result: Box = {}
    for box in boxes:
        for path, found in box.items():
            known = result.get(path)
            if known is None:
                result[path] = found
            elif known.values == found.values:
                result[path] = known.within(found)
    return result


def _hull(boxes: list[Box]) -> Box:
    first, *others = boxes
    result = dict(first)
    for box in others:
        result = {
            path: known.around(box[path])
            for path, known in result.items()
            if path in box and known.values == box[path].values
        }
    return {path: found for path, found in result.items() if found.values is not None}


def _range_of(atom: Expression) -> tuple[Path, BoundRange] | None:
    match atom:
        case Compare(operator, Attribute(path), Literal(value)):
            return _compared(path, operator, value)
        case Between(Attribute(path), Literal(low), Literal(high), False) if _class_of(low) == _class_of(high):
            return path, BoundRange(low, high)
        case In(Attribute(path), items, False):
            values = [item.value for item in items if isinstance(item, Literal)]
            if len(values) == len(items) and len({_class_of(value) for value in values}) == 1:
                return (path, BoundRange(min(values), max(values))) if _class_of(values[0]) else None
        case TextTest("starts with", Attribute(path), text, False) if text:
            return path, BoundRange(text, after_prefix(text), high_open=True)
    return None


def _compared(path: Path, operator: str, value: Any) -> tuple[Path, BoundRange] | None:
    match operator:
        case "=":
            return path, BoundRange(value, value)
        case ">" | ">=":
            return path, BoundRange(low=value, low_open=operator == ">")
        case "<" | "<=":
            return path, BoundRange(high=value, high_open=operator == "<")
    return None
