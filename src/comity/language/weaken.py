"""Weaker forms of a test: they hold whenever it does, and a language may have them where it lacks the test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from comity.event.kinds import comparable
from comity.expression.tree import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    IsType,
    Lookup,
    Negative,
    Not,
    TextTest,
    children,
)
from comity.language.bounds import Box, Range, bounds_of
from comity.language.fold import both
from comity.language.objections import Known
from comity.language.texts import weaker_text_tests


def weaker(leaf: Expression, known: Known, around: Box) -> Iterator[list[Expression]]:
    """What follows from a test, strongest first; each list is of tests that all follow.

    `around` are the bounds of attributes in the conjunction that the test stands in.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> [[render(one) for one in some] for some in weaker(parse("x like 'ab%cd'"), Known(), {})]
    [["x starts with 'ab'", "x ends with 'cd'"], ['exists x']]
    """
    if isinstance(leaf, Not):
        return
    yield list(_parts(leaf, known, around))
    yield [Exists(attribute) for attribute in _needed(leaf) if known.may_miss(attribute.path)]


def _parts(atom: Expression, known: Known, around: Box) -> Iterator[Expression]:
    match atom:
        case TextTest("starts with", operand):
            for found in bounds_of(atom).values():
                yield from replace(found, high_open=False).tests(operand)
        case TextTest():
            yield from weaker_text_tests(atom)
        case In(Attribute() as operand, items, False) if len(items) > 1:
            for found in bounds_of(atom).values():
                yield both(found.tests(operand))
        case Compare(operator, Attribute() as left, Attribute() as right):
            yield from _by_the_other(operator, left, right, known, around)
            yield from _by_the_other(MIRRORED[operator], right, left, known, around)
        case Between(operand, low, high, False):
            yield Compare(">=", operand, low)
            yield Compare("<=", operand, high)


def _by_the_other(
    operator: str, attribute: Attribute, other: Attribute, known: Known, around: Box
) -> Iterator[Expression]:
    """`x > y` where y is at least 5: x > 5."""
    bound = around.get(other.path)
    if bound is None or not comparable(known.kind(attribute.path), known.kind(other.path)):
        return
    match operator:
        case "=":
            yield from bound.tests(attribute)
        case ">" | ">=":
            yield from Range(low=bound.low, low_open=bound.low_open or operator == ">").tests(attribute)
        case "<" | "<=":
            yield from Range(high=bound.high, high_open=bound.high_open or operator == "<").tests(attribute)


def _needed(atom: Expression) -> Iterator[Attribute]:
    """The attributes without which the test is false."""
    if isinstance(atom, Exists):
        yield atom.attribute
    elif not isinstance(atom, IsType):
        for part in dict.fromkeys(children(atom)):
            yield from _strictly_read(part)


def _strictly_read(node: Expression) -> Iterator[Attribute]:
    if isinstance(node, Attribute):
        yield node
    elif isinstance(node, Arithmetic | Negative | Lookup) or (isinstance(node, Call) and node.function != "coalesce"):
        for part in children(node):
            yield from _strictly_read(part)
