"""Back through joined texts: where one part ends and the next begins must be certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from comity.contract.invert.found import Finding, InversionFacts, Obstacle, Peel, if_together
from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.kinds import kind_given
from comity.expression.render import render
from comity.expression.tree import (
    Arithmetic,
    Call,
    Conditional,
    Expression,
    Literal,
    Lookup,
    attributes,
)

_DIGITS = frozenset("0123456789")
_ALPHABETS = {
    Kind.INT: _DIGITS | frozenset("-"),
    Kind.FLOAT: _DIGITS | frozenset("-+.e"),
    Kind.BOOL: frozenset("truefalse"),
    Kind.TIMESTAMP: _DIGITS | frozenset("-:.TZ+"),
    Kind.DURATION: _DIGITS | frozenset("-.PTYMWDHS"),
}
"""The characters in the texts of values."""


def is_concatenation(node: Expression, source: EventType) -> bool:
    """Whether the node joins texts."""
    return isinstance(node, Arithmetic) and kind_given(node, source) is Kind.STRING


def peel_concatenation(node: Expression, value: Expression, known: InversionFacts, peel: Peel) -> Iterator[Finding]:
    """What a joined text tells of its parts: those that can be told from what stands beside them."""
    left, pairs = _cut(_Rest(value, tuple(_pieces(node))), known)
    yield from _parts(pairs, node, known, peel)
    varying = [piece for piece in left.pieces if not known.has(piece)]
    if len(varying) == 1:
        yield from _parts([(varying[0], _middle(left, varying[0], known))], node, known, peel)
    elif varying:
        text = f"`{render(node)}` does not tell where one part ends and the next begins"
        yield Obstacle(frozenset().union(*map(attributes, varying)), "ambiguous", text)


def _parts(
    pairs: Sequence[tuple[Expression, Expression]], whole: Expression, known: InversionFacts, peel: Peel
) -> Iterator[Finding]:
    for piece, value in pairs:
        for found in peel(piece, value, known):
            yield if_together(found, attributes(whole), known)


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left of a joined text, and the pieces that it is made of."""

    value: Expression
    pieces: tuple[Expression, ...]


def _pieces(node: Expression) -> Iterator[Expression]:
    """The joined texts from left to right, constants that touch as one."""
    constant = ""
    for piece in _flat(node):
        if isinstance(piece, Literal):
            constant += str(piece.value)
            continue
        if constant:
            yield Literal(constant)
        constant = ""
        yield piece
    if constant:
        yield Literal(constant)


def _flat(node: Expression) -> Iterator[Expression]:
    if isinstance(node, Arithmetic):
        yield from _flat(node.left)
        yield from _flat(node.right)
    else:
        yield node


def _cut(rest: _Rest, known: InversionFacts) -> tuple[_Rest, list[tuple[Expression, Expression]]]:
    """Cut pieces off at both ends as long as there is more than one that varies."""
    found: list[tuple[Expression, Expression]] = []
    while sum(not known.has(piece) for piece in rest.pieces) > 1:
        step = _cut_first(rest, known) or _cut_last(rest, known)
        if step is None:
            break
        rest, pairs = step
        found += pairs
    return rest, found


_Step = tuple[_Rest, list[tuple[Expression, Expression]]]


def _cut_first(rest: _Rest, known: InversionFacts) -> _Step | None:
    first, *others = rest.pieces
    if known.has(first):
        start = _sum([_length(known.over_target(first)), Literal(1)])
        return _Rest(Call("substring", (rest.value, start)), tuple(others)), []
    match others:
        case [Literal(str(mark)) as separator, *behind] if _lacks(first, mark[0], known.source):
            value = Call("before", (rest.value, separator))
            return _Rest(Call("after", (rest.value, separator)), tuple(behind)), [(first, value)]
    return None


def _cut_last(rest: _Rest, known: InversionFacts) -> _Step | None:
    *others, last = rest.pieces
    if known.has(last):
        length = Arithmetic("-", _length(rest.value), _length(known.over_target(last)))
        return _Rest(Call("substring", (rest.value, Literal(1), length)), tuple(others)), []
    match others:
        case [*before, Literal(str(mark)) as separator] if _lacks(last, mark[-1], known.source):
            value = Call("after_last", (rest.value, separator))
            return _Rest(Call("before_last", (rest.value, separator)), tuple(before)), [(last, value)]
    return None


def _middle(rest: _Rest, piece: Expression, known: InversionFacts) -> Expression:
    """The text between those that are known."""
    at = rest.pieces.index(piece)
    before = [_length(known.over_target(one)) for one in rest.pieces[:at]]
    after = [_length(known.over_target(one)) for one in rest.pieces[at + 1 :]]
    if not before and not after:
        return rest.value
    start = _sum([*before, Literal(1)])
    if not after:
        return Call("substring", (rest.value, start))
    length = Arithmetic("-", _length(rest.value), _sum([*before, *after]))
    return Call("substring", (rest.value, start, length))


def _length(text: Expression) -> Expression:
    return Literal(len(str(text.value))) if isinstance(text, Literal) else Call("length", (text,))


def _sum(numbers: list[Expression]) -> Expression:
    constant = sum(number.value for number in numbers if isinstance(number, Literal))
    total: Expression = Literal(constant)
    for number in numbers:
        if not isinstance(number, Literal):
            total = Arithmetic("+", number, total)
    return total


def _lacks(piece: Expression, char: str, source: EventType) -> bool:
    """Whether a character never stands in the text."""
    known = alphabet(piece, source)
    return known is not None and char not in known


def alphabet(node: Expression, source: EventType) -> frozenset[str] | None:
    """The characters that can stand in the values of a text; None when any can.

    >>> from comity.expression.tree import Attribute
    >>> sorted(alphabet(Lookup("levels", Attribute(("code",)), (("a", "no"), ("b", "on"))), EventType("T", "test")))
    ['n', 'o']
    """
    match node:
        case Literal(str(text)):
            return frozenset(text)
        case Call("text", (value,)):
            kind = kind_given(value, source)
            return _ALPHABETS.get(kind) if kind else None
        case Lookup(rows=rows) if all(isinstance(value, str) for _, value in rows):
            return frozenset(char for _, value in rows for char in str(value))
        case Conditional(_, then, otherwise):
            return _either(alphabet(then, source), alphabet(otherwise, source))
        case Arithmetic("+", left, right):
            return _either(alphabet(left, source), alphabet(right, source))
    return None


def _either(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or other is None else one | other
