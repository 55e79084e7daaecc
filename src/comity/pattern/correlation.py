"""The correlation key: equalities that tie all operands to each other split the events into traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from comity.event.kinds import Point, Value
from comity.expression.tree import Attribute, Compare, Expression
from comity.pattern.report import Happening

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """For each operand, the attributes that make up its key: parts, each of one attribute or of several equal ones."""

    parts: tuple[tuple[tuple[str, tuple[Path, ...]], ...], ...]
    items: frozenset[Expression]
    """The conditions that hold by themselves inside a trace."""

    def paths(self, operand: str) -> tuple[Path, ...]:
        """The attributes of an operand that take part."""
        return tuple(path for part in self.parts for path in dict(part)[operand])

    def parts_of(self, operand: str) -> tuple[tuple[Path, ...], ...]:
        """The same, part by part."""
        return tuple(dict(part)[operand] for part in self.parts)

    def of(self, operand: str, event: Happening) -> tuple[Any, ...] | None:
        """The key of an event as that operand; None when it has none, and so takes part in nothing."""
        found = []
        for part in self.parts:
            values = [canonical(event.get(path)) for path in dict(part)[operand]]
            if values[0] is None or any(value != values[0] for value in values):
                return None
            found.append(values[0])
        return tuple(found)


def canonical(value: Value | None) -> Any:
    """A hashable value that is equal for values that are, and only for them; None for a missing one.

    >>> canonical(1) == canonical(1.0), canonical(True) == canonical(1), canonical("1") == canonical(1)
    (True, False, False)
    """
    match value:
        case None:
            return None
        case bool():
            return ("bool", value)
        case float() if value.is_integer() and abs(value) < 2**63:
            return int(value)
        case int() | float() | str():
            return value
        case datetime() | timedelta() | bytes():
            return (type(value).__name__, str(value))
        case Point():
            return ("point", value.x + 0.0, value.y + 0.0)  # as texts -0.0 and 0.0 differ
        case list():
            return ("list", *(canonical(item) for item in value))
        case dict():
            return ("struct", *sorted((name, canonical(item)) for name, item in value.items() if item is not None))
    raise TypeError(f"no value: {value!r}")


def key_text(key: tuple[Any, ...]) -> str:
    """The key as a text, the same in every process.

    >>> key_text(("attic", 3))
    '["attic",3]'
    """
    return msgspec.json.encode(key).decode()


def correlation_key(operands: Sequence[str], items: Iterable[Expression]) -> Key | None:
    """The key that follows from the conditions; None unless equalities tie every operand to every other."""
    equalities = [item for item in items if _is_equality(item)]
    classes = _classes(equalities)
    whole = [own for own in classes if {operand for operand, _ in own} == set(operands)]
    if not whole or len(operands) < 2:
        return None
    parts = tuple(tuple((name, _paths_of(name, own)) for name in operands) for own in whole)
    members = set().union(*whole)
    return Key(parts, frozenset(item for item in equalities if _sides(item)[0] in members))


def ties(items: Iterable[Expression]) -> list[tuple[tuple[str, Path], ...]]:
    """Attributes of operands that conditions make equal to each other, those of the most operands first.

    >>> from comity.expression.parse import parse
    >>> ties([parse("a.room = b.room"), parse("b.heat > c.heat")])
    [(('a', ('room',)), ('b', ('room',)))]
    """
    classes = _classes(item for item in items if _is_equality(item))
    return sorted((tuple(sorted(own)) for own in classes), key=lambda own: -len({name for name, _ in own}))


def _is_equality(item: Expression) -> bool:
    match item:
        case Compare("=", Attribute(left), Attribute(right)):
            return left[0] != right[0]
    return False


def _sides(item: Expression) -> tuple[tuple[str, Path], tuple[str, Path]]:
    assert isinstance(item, Compare)
    assert isinstance(item.left, Attribute)
    assert isinstance(item.right, Attribute)
    left, right = item.left.path, item.right.path
    return (left[0], left[1:]), (right[0], right[1:])


def _classes(equalities: Iterable[Expression]) -> list[set[tuple[str, Path]]]:
    """The attributes that are equal to each other, directly or by others."""
    classes: list[set[tuple[str, Path]]] = []
    for item in equalities:
        sides = set(_sides(item))
        touched = [own for own in classes if own & sides]
        classes = [own for own in classes if not own & sides]
        classes.append(sides.union(*touched))
    return sorted(classes, key=lambda own: sorted(own))


def _paths_of(operand: str, members: set[tuple[str, Path]]) -> tuple[Path, ...]:
    return tuple(sorted(path for name, path in members if name == operand))
