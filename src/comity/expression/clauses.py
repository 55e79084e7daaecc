"""The truth of a filter on one event: clause by clause, with the values that each clause saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.expression.evaluate import AttributeReader, evaluate, holds
from comity.expression.render import render, render_path, render_value
from comity.expression.tree import And, Attribute, Exists, Expression, Not, Or, walk


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a filter, whether it holds, the values that it saw, and its own parts."""

    text: str
    holds: bool
    values: dict[str, Any] = field(default_factory=dict)
    parts: tuple[Clause, ...] = ()


def explain_clause(node: Expression, record: AttributeReader) -> Clause:
    """The truth of a filter on an event, down to its atoms and the values they saw.

    >>> from comity.event.event import Event
    >>> from comity.expression.parse import parse
    >>> explain_clause(parse("x > 5"), Event("1", "/a", "T", data={"x": 3})).values
    {'x': 3}
    """
    if isinstance(node, And | Or | Not):
        inner = (node.item,) if isinstance(node, Not) else node.items
        return Clause(render(node), holds(node, record), parts=tuple(explain_clause(part, record) for part in inner))
    paths = dict.fromkeys(part.path for part in walk(node) if isinstance(part, Attribute))
    values = {render_path(path): record.get(path) for path in paths}
    for side in (getattr(node, name, None) for name in ("left", "right", "operand")):
        if (
            side is not None
            and not isinstance(node, Exists)
            and _reads_attributes(side)
            and not isinstance(side, Attribute)
        ):
            values[render(side)] = evaluate(side, record)
    return Clause(render(node), holds(node, record), values)


def _reads_attributes(node: Expression) -> bool:
    return any(isinstance(part, Attribute) for part in walk(node))


def values_text(values: Mapping[str, Any]) -> str:
    """What was seen, for people.

    >>> values_text({"room": "attic", "heat": None})
    "room = 'attic', heat = missing"
    """
    return ", ".join(f"{name} = {'missing' if value is None else value_text(value)}" for name, value in values.items())


def value_text(value: Any) -> str:
    """A value as it would be written in an expression, as far as it can be."""
    try:
        return render_value(value)
    except TypeError:
        return str(value)
