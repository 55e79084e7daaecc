"""A test of texts that are joined becomes tests of these texts, one for each way to divide what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.kinds import kind_given
from comity.expression.like import Wildcard
from comity.expression.simplify.known import each_atom, presence
from comity.expression.simplify.order_parts import all_of, any_of, negation
from comity.expression.simplify.text_patterns import Pattern, asked_patterns, covers, joined, rests, tests_of
from comity.expression.tree import Arithmetic, Expression, Literal
from comity.expression.uncovered import uncovered

_MOST_CASES = 16
_MOST_TRIED = 2_000
"""Beginnings of cases that are looked at; of most of them nothing comes."""

_MOST_COMPARED = 64
"""Cases that are compared with each other."""

Case = tuple[Pattern, ...]
"""A pattern for each text that varies."""


def split_concatenations(node: Expression, type: EventType) -> Expression:
    """The filter with tests of single texts in place of tests of joined ones, where there are not too many cases.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> text = AttributeType(Kind.STRING)
    >>> house = EventType("House", "city", own={"street": text, "town": text})
    >>> render(split_concatenations(parse("street + ', Bonn' like '% Main Street, %'"), house))
    "street contains ' Main Street, ' or street ends with ' Main Street'"
    >>> render(split_concatenations(parse("street + ', ' + town = 'Main Street, Bonn'"), house))
    "street = 'Main Street' and town = 'Bonn'"
    """
    return each_atom(node, lambda atom: _split(atom, type))


@lru_cache(maxsize=8192)
def _split(atom: Expression, type: EventType) -> Expression:
    asked = asked_patterns(atom, Arithmetic)
    if asked is None:
        return atom
    operand, patterns, negated = asked
    pieces = _pieces(operand) if kind_given(operand, type) is Kind.STRING else []
    varying: list[Expression] = [piece for piece in pieces if not isinstance(piece, Literal)]
    if len(pieces) < 2 or not varying:
        return atom
    try:
        cases = list(dict.fromkeys(case for pattern in patterns for case in _cases(pattern, pieces)))
    except _TooManyError:
        return atom
    cases = _widest(cases)
    if len(cases) > max(_MOST_CASES, len(patterns)):
        return atom
    found = _said(varying, cases, type)
    return all_of([*(presence(piece, type) for piece in varying), negation(found)]) if negated else found


def _pieces(node: Expression) -> list[Expression]:
    """The texts that are joined, neighbouring constants as one."""
    if not isinstance(node, Arithmetic):
        return [node]
    found: list[Expression] = []
    for piece in (*_pieces(node.left), *_pieces(node.right)):
        if isinstance(piece, Literal) and found and isinstance(found[-1], Literal):
            found[-1] = Literal(found[-1].value + piece.value)
        else:
            found.append(piece)
    return found


class _TooManyError(Exception):
    """More cases than it is worth to look at."""


def _cases(pattern: Pattern, pieces: list[Expression]) -> Iterator[Case]:
    """Every way to divide a pattern among the pieces."""
    if isinstance(pieces[-1], Literal):  # the last text first: it leaves less to divide
        turned = rests(pattern[::-1], str(pieces[-1].value)[::-1])
        patterns, pieces = [rest[::-1] for rest in turned], pieces[:-1]
    else:
        patterns = [pattern]
    left = [_MOST_TRIED]
    for one in patterns:
        yield from _divided(one, pieces, left)


def _divided(pattern: Pattern, pieces: list[Expression], left: list[int]) -> Iterator[Case]:
    left[0] -= 1
    if left[0] < 0:
        raise _TooManyError
    first, *others = pieces
    if isinstance(first, Literal):
        for rest in rests(pattern, str(first.value)):
            yield from _divided(rest, others, left)
    elif not others:
        yield (pattern,)
    else:
        for begin, rest in _halves(pattern):
            for case in _divided(rest, others, left):
                yield (begin, *case)


def _halves(pattern: Pattern) -> Iterator[tuple[Pattern, Pattern]]:
    """Every way to cut a pattern in two; a run is cut into two of them, which takes in the cuts at its ends."""
    for place in range(len(pattern) + 1):
        token = pattern[place] if place < len(pattern) else None
        if token is Wildcard.RUN:
            yield pattern[: place + 1], pattern[place:]
        elif place == 0 or pattern[place - 1] is not Wildcard.RUN:
            yield pattern[:place], pattern[place:]


def _widest(cases: list[Case]) -> list[Case]:
    """Without those that another one takes in."""
    if len(cases) > _MOST_COMPARED:
        return cases
    return uncovered(cases, _takes_in)


def _takes_in(wider: Case, case: Case) -> bool:
    return all(covers(one, other) for one, other in zip(wider, case, strict=True))


def _said(varying: list[Expression], cases: list[Case], type: EventType) -> Expression:
    """One test for each group of cases that differ in one text only."""
    chosen = min(range(len(varying)), key=lambda place: len({_without(case, place) for case in cases}))
    groups: dict[Case, list[Pattern]] = {}
    for case in cases:
        groups.setdefault(_without(case, chosen), []).append(joined(case[chosen]))
    rest = [piece for place, piece in enumerate(varying) if place != chosen]
    found: list[Expression] = []
    for others, patterns in groups.items():
        beside = [any_of(tests_of(piece, [pattern], type)) for piece, pattern in zip(rest, others, strict=True)]
        beside.insert(chosen, any_of(tests_of(varying[chosen], patterns, type)))
        found.append(all_of(beside))
    return any_of(found)


def _without(case: Case, place: int) -> Case:
    return case[:place] + case[place + 1 :]
