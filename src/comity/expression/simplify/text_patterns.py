"""Patterns of texts as sequences of characters and wildcards: what the tests of texts have in common."""

from __future__ import annotations

from typing import TypeVar

from comity.event.types import EventType
from comity.expression.like import Wildcard, like_tokens
from comity.expression.simplify.known import presence
from comity.expression.tree import Arithmetic, Call, Compare, Expression, In, Literal, TextTest

Pattern = tuple[str | Wildcard, ...]
"""Single characters and wildcards."""

RUN: Pattern = (Wildcard.RUN,)


N = TypeVar("N", bound=Arithmetic | Call)


def asked_patterns(atom: Expression, of: type[N]) -> tuple[N, list[Pattern], bool] | None:
    """What an atom asks of a text that is made so: how, the patterns of which it fits one, and whether that is negated.

    >>> from comity.expression.parse import parse
    >>> asked_patterns(parse("lower(x) != 'a'"), Call)
    (Call(function='lower', arguments=(Attribute(path=('x',)),)), [('a',)], True)
    """
    operand = atom.left if isinstance(atom, Compare) else atom.operand if isinstance(atom, In | TextTest) else None
    if not isinstance(operand, of):
        return None
    match atom:
        case Compare("=" | "!=" as symbol, _, Literal(str(text))):
            return operand, [tuple(text)], symbol == "!="
        case In(_, items, negated) if items:
            texts = [item.value for item in items if isinstance(item, Literal) and isinstance(item.value, str)]
            return (operand, [tuple(text) for text in texts], negated) if len(texts) == len(items) else None
        case TextTest(test, _, text, negated) if test != "matches":
            return operand, [pattern_of(test, text)], negated
    return None


def pattern_of(test: str, text: str) -> Pattern:
    """The pattern that a test of texts compares with."""
    match test:
        case "starts with":
            return (*text, *RUN)
        case "ends with":
            return (*RUN, *text)
        case "contains":
            return joined(RUN, tuple(text), RUN)
    tokens = (tuple(token) if isinstance(token, str) else (token,) for token in like_tokens(text))
    return tuple(part for parts in tokens for part in parts)


def is_literal(pattern: Pattern) -> bool:
    """Whether one text only fits it."""
    return not any(isinstance(token, Wildcard) for token in pattern)


def text_of(pattern: Pattern) -> str:
    """The one text that fits a literal pattern."""
    return "".join(map(str, pattern))


def joined(*patterns: Pattern) -> Pattern:
    """One pattern after the other, neighbouring runs as one."""
    found: list[str | Wildcard] = []
    for token in (token for pattern in patterns for token in pattern):
        if token is not Wildcard.RUN or found[-1:] != [Wildcard.RUN]:
            found.append(token)
    return tuple(found)


def rests(pattern: Pattern, text: str) -> list[Pattern]:
    """The ends of a pattern that can follow when its beginning has matched the text."""
    places = _closed(pattern, {0})
    for char in text:
        places = _after(pattern, places, char)
    # What follows a run is matched by the run and what follows it, too.
    needless = {place for place in places if place and pattern[place - 1] is Wildcard.RUN and place - 1 in places}
    return [pattern[place:] for place in sorted(places - needless)]


def _after(pattern: Pattern, places: set[int], token: str | Wildcard) -> set[int]:
    """Where a pattern can be once it has taken a character, or whatever another pattern has there."""
    taken: set[int] = set()
    for place in places:
        own = pattern[place] if place < len(pattern) else None
        if own is Wildcard.RUN:
            taken.add(place)
        elif own == token or (own is Wildcard.ONE and token is not Wildcard.RUN):
            taken.add(place + 1)
    return _closed(pattern, taken)


def _closed(pattern: Pattern, places: set[int]) -> set[int]:
    """With the places behind a run, which may be empty."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] is Wildcard.RUN:
            place += 1
            found.add(place)
    return found


def covers(wider: Pattern, pattern: Pattern) -> bool:
    """Whether everything that fits the pattern fits the wider one; false also where that is hard to see.

    >>> covers(("a", Wildcard.RUN), ("a", "b")), covers((Wildcard.ONE,), (Wildcard.RUN,))
    (True, False)
    """
    places = _closed(wider, {0})
    for token in pattern:
        places = _after(wider, places, token)
    return len(wider) in places


def tests_of(operand: Expression, patterns: list[Pattern], type: EventType) -> list[Expression]:
    """Tests of which one holds when the operand is a text that fits one of the patterns."""
    if RUN in patterns:
        return [presence(operand, type)]
    literals = tuple(Literal(text_of(pattern)) for pattern in patterns if is_literal(pattern))
    tests: list[Expression] = [text_test(operand, pattern) for pattern in patterns if not is_literal(pattern)]
    if len(literals) > 1:
        tests.append(In(operand, literals))
    elif literals:
        tests.append(Compare("=", operand, literals[0]))
    return tests


def text_test(operand: Expression, pattern: Pattern) -> TextTest:
    """The simplest test for a pattern that has a wildcard."""
    starts, ends = pattern[0] is Wildcard.RUN, pattern[-1] is Wildcard.RUN
    inner = pattern[1 if starts else 0 : -1 if ends else None]
    if any(isinstance(token, Wildcard) for token in inner) or not (starts or ends):
        return TextTest("like", operand, "".join(map(_written, pattern)))
    name = "contains" if starts and ends else "ends with" if starts else "starts with"
    return TextTest(name, operand, text_of(inner))


def _written(token: str | Wildcard) -> str:
    if isinstance(token, Wildcard):
        return token.value
    return f"\\{token}" if token in "\\%_" else token
