"""RDL, the Rule Definition Language of RUBCES: rules become composite profiles.

The grammar and what the paper leaves open are in docs/reference/rdl.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import pairwise

from lark import Lark, Tree, UnexpectedCharacters, UnexpectedToken
from lark.exceptions import VisitError

from comity.errors import ComityError, Faults, Misuse
from comity.expression.parse import Parsed, error_at, shown_in
from comity.language.rdl.tree import Rule, RuleBuilder
from comity.limits import limits
from comity.pattern.composite import Composite
from comity.profile.profile import Profile
from comity.profile.spot import Spot

_TOKEN = re.compile(
    r"//[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|(?<![\w.])(?P<word>rule|onEvent|where)(?!\w)(?:(?<=rule)[ \t]+\w+)?"
)
_SKIPPED = re.compile(r"(?:\s|//[^\n]*)*")
_START = re.compile(r"(?:\s|//[^\n]*)*rule\s+\w")
_READABLE = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text",
    "RELATION": "a comparison",
    "SIGN": "+ or -",
    "SCALE": "* or /",
    "TRUTH": "true, false",
    "ONEVENT": "onEvent",
    "SEMICOLON": ";",
    "COMMA": ",",
    "DOT": ".",
    "LPAR": "(",
    "RPAR": ")",
    "BANG": "!",
    "$END": "the end",
}


def is_rdl(text: str) -> bool:
    """Whether a text begins with a rule.

    >>> is_rdl("rule rule1; onEvent HeatEvent h1;"), is_rdl("rule: x > 1")
    (True, False)
    """
    return bool(_START.match(text))


def parse_rdl(text: str) -> list[tuple[str, Composite]]:
    """The rules of a text, each with its name; raises `Faults` with everything that is wrong, each with its place.

    >>> [(name, rule)] = parse_rdl("rule hot onEvent HeatEvent h1; where h1.value > 25;")
    >>> name, rule.pattern
    ('hot', Operand(name='h1', type='HeatEvent'))
    """
    found, faults = scan_rdl(text)
    if faults:
        raise Faults(faults)
    return [(one.name, one.composite) for one in found if one.composite is not None]


def scan_rdl(text: str, file: str | None = None) -> tuple[list[Profile], list[ComityError]]:
    """The good rules of a text, and what is wrong with the others."""
    found: list[Profile] = []
    faults: list[ComityError] = []
    line, counted = 1, 0
    for begin, end in _rules(text):
        line, counted = line + text.count("\n", counted, begin), begin
        spot = Spot(file, line, begin - text.rfind("\n", 0, begin))
        try:
            found.append(_profile(text[begin:end].rstrip(), spot))
        except Misuse as error:
            faults.append(spot.located(error))
    return found, faults


def _rules(text: str) -> Iterator[tuple[int, int]]:
    """Where each rule begins and ends."""
    skipped = _SKIPPED.match(text)
    begin = skipped.end() if skipped else 0
    if begin < len(text):
        later = [found.start() for found in _TOKEN.finditer(text) if found["word"] == "rule" and found.start() > begin]
        yield from pairwise([begin, *later, len(text)])


def _profile(text: str, spot: Spot) -> Profile:
    rule = _parse_rule(text)
    where = next((found.end("word") for found in _TOKEN.finditer(text) if found["word"] == "where"), None)
    if where is None:
        return spot.profile(rule.name, Composite(rule.pattern), {})
    begin = where + len(text[where:]) - len(text[where:].lstrip())
    condition = Parsed(rule.condition, text[begin:])
    return spot.profile(rule.name, Composite(rule.pattern, condition), {"where": _spot_within(text, begin, spot)})


def _spot_within(text: str, index: int, spot: Spot) -> Spot:
    own = Spot.at(text, index)
    column = spot.column + own.column - 1 if own.line == 1 else own.column
    return Spot(spot.file, spot.line + own.line - 1, column)


def _parse_rule(text: str) -> Rule:
    bound = limits().max_filter_chars
    if len(text) > bound:
        message = f"the rule has {len(text):,} characters, the limit is {bound:,}"
        raise Misuse(message, code="expression-too-long", hint="split it, or raise COMITY_MAX_FILTER_CHARS")
    try:
        tree = _parser().parse(text)
        events = [child for child in tree.children if isinstance(child, Tree) and child.data == "event"]
        rule: Rule = RuleBuilder([str(event.children[-1]) for event in events]).transform(tree)
    except VisitError as error:
        if not isinstance(error.orig_exc, Misuse):
            raise
        raise shown_in(text, error.orig_exc) from None
    except UnexpectedToken as error:
        at = len(text.rstrip()) if error.token.type == "$END" else error.pos_in_stream or 0
        message = "the rule ends too early" if error.token.type == "$END" else f"{str(error.token)!r} does not fit here"
        raise _syntax_error(text, at, message, error.expected) from None
    except UnexpectedCharacters as error:
        at = error.pos_in_stream or 0
        raise _syntax_error(text, at, f"{text[at]!r} does not fit here", set(error.allowed or ())) from None
    return rule


_FOREIGN = (
    (r"(?<![=!<>])=(?!=)", "RDL compares with `==`"),
    (r"<>", "RDL writes `!=`"),
    (r"&&|&|\bAND\b", "RDL writes `and`"),
    (r"\|\||\||\bOR\b", "RDL writes `or`"),
    (r"\b(?:not|NOT)\b", "RDL writes `!`"),
    (
        r"->|=>",
        "RDL has no sequences: compare times, `h1.time > h2.time`, or write a composite profile: `on A a ; B b`",
    ),
    (r"\bwithin\b", "RDL has no time frames: compare times, `h1.time < h2.time + 5000`, or write a composite profile"),
)
"""What other languages write, and RDL does not."""


def _syntax_error(text: str, position: int, message: str, expected: set[str]) -> Misuse:
    for spelling, advice in _FOREIGN:
        for found in re.finditer(spelling, text):
            # At the place where the rule can no longer be read, or as the last thing in front of it.
            if found.start() <= position and not text[found.end() : position].strip():
                error = Misuse(f"{found[0]!r} does not fit here", code="syntax", hint=advice)
                return error_at(text, found.start(), error)
    wanted = sorted({_READABLE.get(name, name.lower()) for name in expected})
    return error_at(text, position, Misuse(message, code="syntax", hint=f"expected {', '.join(wanted)}"))


@cache
def _parser() -> Lark:
    text = resources.files(__package__).joinpath("rdl.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", maybe_placeholders=True, propagate_positions=False)
