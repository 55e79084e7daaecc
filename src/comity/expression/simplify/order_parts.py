"""And and Or flattened, without repetitions, and without parts that another part already decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from comity.event.types import EventType
from comity.expression.tree import (
    FALSE,
    TRUE,
    And,
    Between,
    Expression,
    In,
    Literal,
    Not,
    Or,
    TextTest,
    conjunction,
    disjunction,
)


def order_parts(node: Expression, type: EventType) -> Expression:
    """The same filter with its parts in their first order, each said once.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> render(order_parts(parse("(a or b) or (not b and c) or a"), EventType("Any", "")))
    'a = true or b = true or c = true'
    """
    match node:
        case And(items):
            return all_of([order_parts(item, type) for item in items])
        case Or(items):
            return any_of([order_parts(item, type) for item in items])
        case Not(item):
            return negation(order_parts(item, type))
    return node


def all_of(items: list[Expression]) -> Expression:
    """The conjunction, as short as its parts allow."""
    return _joined(And, Or, items, TRUE, FALSE)


def any_of(items: list[Expression]) -> Expression:
    """The disjunction, as short as its parts allow."""
    return _joined(Or, And, items, FALSE, TRUE)


def negation(item: Expression) -> Expression:
    """The complement, without two negations in a row."""
    if isinstance(item, Not):
        return item.item
    return Literal(item.value is not True) if isinstance(item, Literal) else Not(item)


_TWO_SIDED = (TextTest, In, Between)


def _opposite(item: Expression) -> Expression:
    """What does not hold where the item does. Neither may hold where a value is missing, so it is no complement."""
    return replace(item, negated=not item.negated) if isinstance(item, _TWO_SIDED) else negation(item)


def choice(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """The filter `then` where the condition holds, `otherwise` elsewhere."""
    if then == otherwise:
        return then
    return any_of([all_of([condition, then]), all_of([negation(condition), otherwise])])


Joined = type[And] | type[Or]


def _joined(node: Joined, dual: Joined, items: list[Expression], neutral: Expression, final: Expression) -> Expression:
    known = dict.fromkeys(_flat(node, items))
    known.pop(neutral, None)
    if final in known or any(item in known for item in _denied(node, known)):
        return final
    shorter = [_reduced(dual, item, known) if isinstance(item, dual) else item for item in known]
    if any(new is not old for new, old in zip(shorter, known, strict=True)):
        return _joined(node, dual, [item for item in shorter if item is not None], neutral, final)
    return (conjunction if node is And else disjunction)(list(known))


def _denied(node: Joined, known: Iterable[Expression]) -> Iterator[Expression]:
    """What those items deny that say no: of two items that deny each other, one does."""
    for item in known:
        if isinstance(item, Not):
            yield item.item
        elif node is And and isinstance(item, _TWO_SIDED) and item.negated:
            yield _opposite(item)


def _flat(node: Joined, items: list[Expression]) -> list[Expression]:
    flat: list[Expression] = []
    for item in items:
        flat.extend(_flat(node, list(item.items))) if isinstance(item, node) else flat.append(item)
    return flat


def _reduced(dual: Joined, item: Expression, known: dict[Expression, None]) -> Expression | None:
    """`a or (not a and b)` is `a or b`, and `a or (a and b)` is `a`: then there is nothing left of the item."""
    assert isinstance(item, And | Or)
    if any(part in known for part in item.items):
        return None
    denied = _opposite if dual is Or else negation
    kept = [part for part in item.items if negation(part) not in known and denied(part) not in known]
    if len(kept) == len(item.items):
        return item
    return (all_of if dual is And else any_of)(kept)
