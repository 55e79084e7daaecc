"""Filters as `split` works on them: `not` only before tests, constants worked out, what a type decides decided."""

from __future__ import annotations

from collections.abc import Iterable

from comity.event.event import Event
from comity.event.types import EventType
from comity.expression.evaluate import evaluate, holds
from comity.expression.tree import (
    FALSE,
    MIRRORED,
    MISSING,
    TRUE,
    And,
    Attribute,
    Compare,
    Conditional,
    Exists,
    Expression,
    IsType,
    Literal,
    Not,
    Or,
    depends_on_event,
    is_truth,
    rebuild,
)

_NO_EVENT = Event("", "", "")


def both(items: Iterable[Expression]) -> Expression:
    """The conjunction without what is said twice, without true, and false when one part is."""
    return _joined(And, items, TRUE, FALSE)


def either(items: Iterable[Expression]) -> Expression:
    """The disjunction without what is said twice, without false, and true when one part is."""
    return _joined(Or, items, FALSE, TRUE)


def _joined(
    node: type[And] | type[Or], items: Iterable[Expression], neutral: Expression, end: Expression
) -> Expression:
    flat: dict[Expression, None] = {}
    for item in items:
        flat.update(dict.fromkeys(item.items if isinstance(item, node) else (item,)))
    flat.pop(neutral, None)
    if end in flat or any(isinstance(one, Not) and one.item in flat for one in flat):
        return end
    parts = tuple(flat)
    return neutral if not parts else parts[0] if len(parts) == 1 else node(parts)


def negation_normal(node: Expression, type: EventType | None = None, positive: bool = True) -> Expression:
    """The filter, or its complement, with `not` only before tests and without what is decided already.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> render(negation_normal(parse("not (x > 2 * 3 or 5 = y and 1 < 2)")))
    'not x > 6 and not y = 5'
    """
    match node:
        case And(items) | Or(items):
            join = both if isinstance(node, And) is positive else either
            return join(negation_normal(item, type, positive) for item in items)
        case Not(item):
            return negation_normal(item, type, not positive)
        case Literal(value):
            return TRUE if (value is True) is positive else FALSE
    atom = _decided(node, type)
    if isinstance(atom, Literal):
        return TRUE if (atom.value is True) is positive else FALSE
    return atom if positive else Not(atom)


def _decided(atom: Expression, type: EventType | None) -> Expression:
    """A test with its constants worked out, or what it always is."""
    if type is not None and isinstance(atom, IsType):
        return Literal(type.qualified_name in atom.names)
    if isinstance(atom, Exists):
        return FALSE if type is not None and type.attribute_at(atom.attribute.path) is None else atom
    folded = rebuild(atom, lambda part: fold(part, type))
    if not reads_events(folded):
        return Literal(holds(folded, _NO_EVENT))
    if isinstance(folded, Compare) and not reads_events(folded.left):
        return Compare(MIRRORED[folded.operator], folded.right, folded.left)
    return folded


def fold(node: Expression, type: EventType | None) -> Expression:
    """A value expression with its constant parts worked out."""
    if isinstance(node, Literal):
        return node
    if isinstance(node, Attribute):
        return _attribute(node, type)
    if is_truth(node):
        return negation_normal(node, type)
    inner = rebuild(node, lambda part: fold(part, type))
    if isinstance(inner, Conditional) and isinstance(inner.condition, Literal):
        return inner.then if inner.condition.value is True else inner.otherwise
    if reads_events(inner):
        return inner
    value = evaluate(inner, _NO_EVENT)
    return MISSING if value is None else Literal(value)


def _attribute(node: Attribute, type: EventType | None) -> Expression:
    if type is None:
        return node
    if node.path == ("event", "type"):
        return Literal(type.qualified_name)
    return node if type.attribute_at(node.path) is not None else MISSING


def reads_events(node: Expression) -> bool:
    """Whether its value depends on the event."""
    return depends_on_event(node)
