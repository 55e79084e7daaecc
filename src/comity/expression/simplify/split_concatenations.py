"""A test of one text with constant texts around it becomes a test of that text."""

from __future__ import annotations

from functools import lru_cache

from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.like import Wildcard, like_tokens
from comity.expression.simplify.known import each_atom, kind_given, presence
from comity.expression.simplify.order_parts import all_of, any_of, negation
from comity.expression.tree import Arithmetic, Compare, Expression, In, Literal, TextTest

Pattern = tuple[str | Wildcard, ...]
"""Single characters and wildcards."""

_RUN = (Wildcard.RUN,)
_MOST_CASES = 16


def split_concatenations(node: Expression, type: EventType) -> Expression:
    """The filter with constant beginnings and ends of joined texts taken off.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"street": AttributeType(Kind.STRING)})
    >>> render(split_concatenations(parse("street + ', Bonn' like '% Main Street, %'"), house))
    "street contains ' Main Street, ' or street ends with ' Main Street'"
    """
    return each_atom(node, lambda atom: _split(atom, type))


@lru_cache(maxsize=8192)
def _split(atom: Expression, type: EventType) -> Expression:
    match atom:
        case Compare("=" | "!=" as symbol, operand, Literal(str(text))):
            return _tested(atom, operand, [tuple(text)], symbol == "!=", type)
        case In(operand, items, negated) if all(_is_text(item) for item in items):
            texts = [item.value for item in items if isinstance(item, Literal)]
            return _tested(atom, operand, [tuple(text) for text in texts], negated, type)
        case TextTest(test, operand, text, negated) if test != "matches":
            return _tested(atom, operand, [_pattern(test, text)], negated, type)
    return atom


def _is_text(item: Expression) -> bool:
    return isinstance(item, Literal) and isinstance(item.value, str)


def _pattern(test: str, text: str) -> Pattern:
    match test:
        case "starts with":
            return (*text, *_RUN)
        case "ends with":
            return (*_RUN, *text)
        case "contains":
            return (*_RUN, *text, *_RUN)
    tokens = (tuple(token) if isinstance(token, str) else (token,) for token in like_tokens(text))
    return tuple(part for parts in tokens for part in parts)


def _tested(
    atom: Expression, operand: Expression, patterns: list[Pattern], negated: bool, type: EventType
) -> Expression:
    parts = _parts(operand, type)
    if parts is None:
        return atom
    before, middle, after = parts
    rests = list(dict.fromkeys(rest for pattern in patterns for rest in _rests(pattern, before, after)))
    if len(rests) > max(_MOST_CASES, len(patterns)):
        return atom
    found = any_of(_tests(middle, _widest(rests), type))
    return all_of([presence(middle, type), negation(found)]) if negated else found


def _parts(operand: Expression, type: EventType) -> tuple[str, Expression, str] | None:
    """The constant text before the only text that varies, that text, and the constant text after it."""
    if not isinstance(operand, Arithmetic) or kind_given(operand, type) is not Kind.STRING:
        return None
    pieces = _pieces(operand)
    varying = [place for place, piece in enumerate(pieces) if not isinstance(piece, Literal)]
    if len(varying) != 1:
        return None
    texts = [str(piece.value) if isinstance(piece, Literal) else "" for piece in pieces]
    place = varying[0]
    return "".join(texts[:place]), pieces[place], "".join(texts[place + 1 :])


def _pieces(node: Expression) -> list[Expression]:
    if isinstance(node, Arithmetic):
        return [*_pieces(node.left), *_pieces(node.right)]
    return [node]


def _rests(pattern: Pattern, before: str, after: str) -> list[Pattern]:
    """What is left of a pattern once the text before and the text after are matched, in every way."""
    found: list[Pattern] = []
    for rest in _after(pattern, before):
        turned = _after(rest[::-1], after[::-1])
        found.extend(left[::-1] for left in turned)
    return list(dict.fromkeys(found))


def _after(pattern: Pattern, text: str) -> list[Pattern]:
    """The ends of a pattern that can follow when its beginning has matched the text."""
    places = _closed(pattern, {0})
    for char in text:
        taken: set[int] = set()
        for place in places:
            token = pattern[place] if place < len(pattern) else None
            if token is Wildcard.RUN:
                taken.add(place)
            elif token is Wildcard.ONE or token == char:
                taken.add(place + 1)
        places = _closed(pattern, taken)
    # What follows a run is matched by the run and what follows it, too.
    needless = {place for place in places if place and pattern[place - 1] is Wildcard.RUN and place - 1 in places}
    return [pattern[place:] for place in sorted(places - needless)]


def _closed(pattern: Pattern, places: set[int]) -> set[int]:
    """With the places behind a run, which may be empty."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] is Wildcard.RUN:
            place += 1
            found.add(place)
    return found


def _widest(rests: list[Pattern]) -> list[Pattern]:
    """Without those that a run alone takes in already."""
    return [_RUN] if _RUN in rests else rests


def _tests(operand: Expression, rests: list[Pattern], type: EventType) -> list[Expression]:
    equal = [rest for rest in rests if not any(isinstance(token, Wildcard) for token in rest)]
    literals = tuple(Literal("".join(map(str, rest))) for rest in equal)
    tests = [_test(operand, rest, type) for rest in rests if rest not in equal]
    if len(literals) > 1:
        tests.append(In(operand, literals))
    elif literals:
        tests.append(Compare("=", operand, literals[0]))
    return tests


def _test(operand: Expression, rest: Pattern, type: EventType) -> Expression:
    """The simplest test for a pattern that has a wildcard."""
    if rest == _RUN:
        return presence(operand, type)
    starts, ends = rest[0] is Wildcard.RUN, rest[-1] is Wildcard.RUN
    inner = rest[1 if starts else 0 : -1 if ends else None]
    if any(isinstance(token, Wildcard) for token in inner):
        return TextTest("like", operand, "".join(map(_written, rest)))
    name = "contains" if starts and ends else "ends with" if starts else "starts with"
    return TextTest(name, operand, "".join(map(str, inner)))


def _written(token: str | Wildcard) -> str:
    if isinstance(token, Wildcard):
        return token.value
    return f"\\{token}" if token in "\\%_" else token
