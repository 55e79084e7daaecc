"""A test of what stands before or after a separator becomes a test of the whole text.

All four functions are one: with texts read backwards, what stands after the last separator stands before the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.kinds import kind_given
from comity.expression.like import Wildcard
from comity.expression.simplify.known import each_atom
from comity.expression.simplify.order_parts import all_of, any_of, negation
from comity.expression.simplify.text_patterns import (
    RUN,
    Pattern,
    asked_patterns,
    is_literal,
    joined,
    text_of,
    text_test,
)
from comity.expression.tree import Call, Compare, Expression, Literal, TextTest

_CUTS = {"before": (False, False), "before_last": (True, False), "after": (True, True), "after_last": (False, True)}
"""Whether the part reaches as far as it can, and whether it is the end of the text, so that it is read backwards."""


def cut_separators(node: Expression, type: EventType) -> Expression:
    """The filter with tests of whole texts in place of tests of `before` and `after`, where these are exact.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"place": AttributeType(Kind.STRING)})
    >>> render(cut_separators(parse("before(place, ', ') = 'Main Street'"), house))
    "place starts with 'Main Street, '"
    """
    return each_atom(node, lambda atom: _cut(atom, type))


@lru_cache(maxsize=8192)
def _cut(atom: Expression, type: EventType) -> Expression:
    match atom:
        case Compare("=", Call(name, (text, Literal(str(separator)))) as left, right) if (
            left == right and name in _CUTS and separator and kind_given(text, type) is Kind.STRING
        ):
            return TextTest("contains", text, separator)
    asked = asked_patterns(atom, Call)
    match asked:
        case (Call(name, (text, Literal(str(separator)))), patterns, negated) if (
            name in _CUTS and separator and kind_given(text, type) is Kind.STRING
        ):
            cases = [_exact(name, text, separator, pattern) for pattern in patterns]
            known = [case for case in cases if case is not None]
            if len(known) < len(cases):
                return atom
            found = any_of(known)
            return all_of([TextTest("contains", text, separator), negation(found)]) if negated else found
    return atom


def _exact(name: str, text: Expression, separator: str, pattern: Pattern) -> Expression | None:
    """The test of the whole text that holds exactly when the part fits the pattern; None when there is none."""
    longest, backwards = _CUTS[name]
    turn = -1 if backwards else 1
    mark, wanted = separator[::turn], pattern[::turn]
    found = _longest(mark, wanted) if longest else _shortest(mark, wanted)
    if found is None:
        return None
    fits = [text_test(text, one[::turn]) for one in found]
    return any_of([]) if not fits else all_of([fits[0], *map(negation, fits[1:])])


def _shortest(mark: str, wanted: Pattern) -> list[Pattern] | None:
    """The pattern of texts whose part before the first mark fits; none when no part can."""
    if is_literal(wanted):
        ends = text_of(wanted) + mark
        return [(*ends, *RUN)] if ends.find(mark) == len(wanted) else []
    if wanted[-1] is not Wildcard.RUN or not is_literal(wanted[:-1]):
        return None
    begin = text_of(wanted[:-1])
    if mark in begin:
        return []
    crosses = any(begin.endswith(mark[:length]) for length in range(1, len(mark)))
    return None if crosses else [joined(wanted, tuple(mark), RUN)]


def _longest(mark: str, wanted: Pattern) -> list[Pattern] | None:
    """The pattern of texts whose part before the last mark fits, and, after it, one that they must not fit."""
    whole = joined(wanted, tuple(mark), RUN)
    if wanted[-1:] == RUN:
        return [whole]
    overlaps = any(mark.endswith(mark[:length]) for length in range(1, len(mark)))
    if Wildcard.RUN in wanted or overlaps:
        return None
    return [whole, joined(whole, tuple(mark), RUN)]


def wider_test(atom: Expression) -> Iterator[Expression]:
    """A test of a whole text that holds whenever a test of its part does.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> [render(test) for test in wider_test(parse("after(place, '--') like 'L%n'"))]
    ["place like '%--L%n'"]
    """
    asked = asked_patterns(atom, Call)
    match asked:
        case (Call(name, (text, Literal(str(separator)))), [pattern], False) if name in _CUTS and separator:
            turn = -1 if _CUTS[name][1] else 1
            yield text_test(text, joined(pattern[::turn], tuple(separator[::turn]), RUN)[::turn])
        case (Call(name, (text, Literal(str(separator)))), _, _) if name in _CUTS and separator:
            yield TextTest("contains", text, separator)
