"""Weaker forms of a test: they hold whenever it does, and a language may have them where it lacks the test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from comity.errors import Misuse
from comity.event.kinds import Value, comparable
from comity.expression.regex.parse import parse_regex
from comity.expression.regex.tree import Chars, Concatenation, Regex
from comity.expression.simplify.cut_separators import wider_test
from comity.expression.time_formats import time_format
from comity.expression.tree import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    Extension,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    TextTest,
    children,
)
from comity.filter.sets.symbols import after_prefix
from comity.language.bounds import BoundRange, Box, bounds_of
from comity.language.fold import both
from comity.language.objections import Known
from comity.language.texts import weaker_text_tests

_MOST_CHARS = 64
"""Characters that can stand in one place for the first and the last of them to say something."""


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
    yield from wider_test(atom)
    match atom:
        case TextTest("matches", operand, text, False):
            yield from weaker_text_tests(atom)
            yield from _between_spellings(operand, text)
        case Compare(
            "<" | "<=" | ">" | ">=" as operator, Call("parse_time", (text, Literal(str(format)))), Literal(time)
        ):
            yield from _in_order(f"{operator[0]}=", text, format, time)
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


def _between_spellings(operand: Expression, pattern: str) -> Iterator[Expression]:
    """The least and the greatest text that a pattern takes, as far as it is a row of single characters."""
    low, high, whole = _ends(parse_regex(pattern))
    if low == high:  # that is a prefix, and said already
        return
    if whole:
        yield Between(operand, Literal(low), Literal(high))
    else:
        yield from BoundRange(low, after_prefix(high), high_open=True).tests(operand)


def _ends(regex: Regex) -> tuple[str, str, bool]:
    """What the texts of a pattern begin with at the least and at the most, and whether that is all of them."""
    low = high = ""
    for item in regex.items if isinstance(regex, Concatenation) else (regex,):
        if not isinstance(item, Chars) or not 0 < sum(last - first + 1 for first, last in item.ranges) <= _MOST_CHARS:
            return low, high, False
        low, high = low + chr(item.ranges[0][0]), high + chr(item.ranges[-1][1])
    return low, high, True


def _in_order(operator: str, text: Expression, format: str, time: Value) -> Iterator[Expression]:
    """Texts of a format in which they stand in the order of times: `2026-05-01` and later ones."""
    try:
        found = time_format(format)
    except Misuse:
        return
    if found.is_ordered and isinstance(time, datetime):
        yield Compare(operator, text, Literal(found.write(time)))


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
            yield from BoundRange(low=bound.low, low_open=bound.low_open or operator == ">").tests(attribute)
        case "<" | "<=":
            yield from BoundRange(high=bound.high, high_open=bound.high_open or operator == "<").tests(attribute)


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
    elif _needs_its_parts(node):
        for part in children(node):
            yield from _strictly_read(part)


def _needs_its_parts(node: Expression) -> bool:
    match node:
        case Call(function):
            return function != "coalesce"
        case Extension(_, function):
            return not function.takes_missing
    return isinstance(node, Arithmetic | Negative | Lookup)
