"""The tests on texts in each other's terms: what is the same, and what is weaker."""

from __future__ import annotations

from collections.abc import Iterator

from comity.errors import ComityError
from comity.expression.like import Wildcard, like_tokens
from comity.expression.regex.parse import parse_regex
from comity.expression.regex.tree import Chars, Concatenation, Regex, Repeat
from comity.expression.tree import Compare, Expression, Literal, TextTest
from comity.filter.sets.symbols import after_prefix
from comity.language.fold import both, either


def same_text_tests(atom: TextTest) -> Iterator[Expression]:
    """Other tests of a string that hold for the same values.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> [render(one) for one in same_text_tests(parse("x like 'ab%'"))]
    ["x starts with 'ab'"]
    """
    operand, negated = atom.operand, atom.negated
    match atom.operator:
        case "like":
            yield from _without_like(atom)
        case "matches":
            whole = _literal(atom.text)
            if whole is not None:
                yield Compare("!=" if negated else "=", operand, Literal(whole))
        case "starts with":
            yield TextTest("like", operand, f"{_escaped(atom.text)}%", negated)
            yield from _prefix_as_range(atom)
        case "ends with":
            yield TextTest("like", operand, f"%{_escaped(atom.text)}", negated)
        case "contains":
            yield TextTest("like", operand, f"%{_escaped(atom.text)}%", negated)


def _without_like(atom: TextTest) -> Iterator[Expression]:
    match like_tokens(atom.text):
        case ():
            yield Compare("!=" if atom.negated else "=", atom.operand, Literal(""))
        case (str(text),):
            yield Compare("!=" if atom.negated else "=", atom.operand, Literal(text))
        case (str(text), Wildcard.RUN):
            yield TextTest("starts with", atom.operand, text, atom.negated)
        case (Wildcard.RUN, str(text)):
            yield TextTest("ends with", atom.operand, text, atom.negated)
        case (Wildcard.RUN, str(text), Wildcard.RUN):
            yield TextTest("contains", atom.operand, text, atom.negated)


def _prefix_as_range(atom: TextTest) -> Iterator[Expression]:
    """The texts with a prefix stand in a row in the order of code points."""
    end = after_prefix(atom.text)
    if not atom.text or end is None:
        return
    low, high = Literal(atom.text), Literal(end)
    if atom.negated:
        yield either([Compare("<", atom.operand, low), Compare(">=", atom.operand, high)])
    else:
        yield both([Compare(">=", atom.operand, low), Compare("<", atom.operand, high)])


def one_of_each(pattern: str) -> str | None:
    """A text that a regular expression matches, when it is a row of classes of characters; else None.

    >>> one_of_each("[Aa]b"), one_of_each("a*")
    ('Ab', None)
    """
    parsed = _parsed(pattern)
    items = parsed.items if isinstance(parsed, Concatenation) else (parsed,)
    chars = [chr(item.ranges[0][0]) for item in items if isinstance(item, Chars) and item.ranges]
    return "".join(chars) if len(chars) == len(items) else None


def weaker_text_tests(atom: TextTest) -> Iterator[Expression]:
    """Simpler tests of a string that hold whenever this one does."""
    if atom.negated:
        return
    if atom.operator == "like":
        yield from _parts_of_like(atom)
    elif atom.operator == "matches":
        prefix = _literal_prefix(atom.text)
        if prefix:
            yield TextTest("starts with", atom.operand, prefix)


def _parts_of_like(atom: TextTest) -> Iterator[Expression]:
    tokens = like_tokens(atom.text)
    for place, token in enumerate(tokens):
        if isinstance(token, str):
            first, last = place == 0, place == len(tokens) - 1
            test = "starts with" if first else "ends with" if last else "contains"
            yield TextTest(test, atom.operand, token)


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\%_" else char for char in text)


def _parsed(pattern: str) -> Regex | None:
    try:
        return parse_regex(pattern)
    except ComityError:
        return None


def _literal(pattern: str) -> str | None:
    """The only text that a regular expression matches."""
    parsed = _parsed(pattern)
    if parsed is None:
        return None
    text, whole = _prefix(parsed)
    return text if whole else None


def _literal_prefix(pattern: str) -> str:
    """What every text that a regular expression matches begins with."""
    parsed = _parsed(pattern)
    return "" if parsed is None else _prefix(parsed)[0]


def _prefix(regex: Regex) -> tuple[str, bool]:
    """The text that a match begins with, and whether that is all of it."""
    match regex:
        case Chars(((low, high),)) if low == high:
            return chr(low), True
        case Concatenation(items):
            found = ""
            for item in items:
                text, whole = _prefix(item)
                found += text
                if not whole:
                    return found, False
            return found, True
        case Repeat(item, low, high) if low > 0:
            text, whole = _prefix(item)
            repeated = text * min(low, 64) if whole else text
            return repeated, whole and low == high and low <= 64
    return "", False
