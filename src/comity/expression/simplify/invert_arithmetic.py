"""A comparison of arithmetic over one attribute becomes a comparison of the attribute: the interval that passes."""

from __future__ import annotations

from functools import lru_cache

from comity.event.types import EventType
from comity.expression.simplify.known import each_atom
from comity.expression.simplify.ranges import range_of, say, says_itself
from comity.expression.tree import Attribute, Between, Compare, Exists, Expression, In


def invert_arithmetic(node: Expression, type: EventType) -> Expression:
    """The filter with constants on one side and bare attributes on the other, wherever arithmetic is monotone.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT)})
    >>> render(invert_arithmetic(parse("floor * 2 + 1 < 10"), house))
    'floor between -4611686018427387904 and 4'
    """
    return each_atom(node, lambda atom: atom if says_itself(atom, type) else _inverted(atom, type))


@lru_cache(maxsize=65536)
def _inverted(atom: Expression, type: EventType) -> Expression:
    if isinstance(atom, Exists):
        return atom
    found = range_of(atom, type)
    if found is None:
        return atom
    plain = _is_plain(atom) and found.spans not in ((), ((found.domain.first, found.domain.last),))
    return atom if plain else say(found, type)


def _is_plain(atom: Expression) -> bool:
    operand = atom.left if isinstance(atom, Compare) else atom.operand if isinstance(atom, Between | In) else None
    return isinstance(operand, Attribute)
