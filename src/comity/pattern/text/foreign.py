"""Spellings of other event languages in a pattern or its condition, and what is written here instead.

They are those of Esper's EPL, Flink's MATCH_RECOGNIZE, Siddhi and SASE, and what people write who try. They are looked
for only where a text cannot be read, so that hardly any of these words is taken from types and operands.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from comity.errors import Misuse
from comity.expression.parse import error_at

_THEN = "one after the other is written `;`, with the time frame behind it: `A a ; B b within 5 min`"
_AND = "both, in any order, is written `&`: `A a & B b within 5 min`"
_OR = "either of them is written `|`: `A a | B b`"
_NOT = "what must not occur is written `not`, as a step of a sequence: `A a ; not N n within 5 min`"
_FRAME = "a length of time is written `within 5 min`, last in its group: `A a ; B b within 5 min`"
_NAME = "the type comes first, then the name, with nothing between them: `Heat h`"
_CONDITION = "conditions stand behind `where`, led by the name of the operand: `on Heat h where h.value > 30`"
_MANY = "all events of an operand are gathered by `duplicates a collect`; positions are written `A a[1..3]`"
_TIMER = f"there are no timers. {_FRAME[0].upper()}{_FRAME[1:]}"
_CONDITION_TIMER = "a time frame is part of the pattern, not of the condition: `on A a ; B b within 5 min`"
_EVERY = "leave it out: every occurrence is reported, unless `duplicates` or `consume` say otherwise"

_PATTERN: tuple[tuple[str, str], ...] = (
    (r"timer\s*:\s*\w+", _TIMER),
    (r"-+>|=>|→|\b(?:is\s+)?followed[ \t_]*by\b|\b(?:and\s+)?then\b|\bnext\b|\bbefore\b", _THEN),
    (r"\bafter\b", f"the earlier one stands first: {_THEN}"),
    (r"\b(?:seq|sequence|pattern)\b(?=\s*\()", f"there is no such word in front. {_THEN[0].upper()}{_THEN[1:]}"),
    (r"\bevery\b", _EVERY),
    (r"\band\b|&&|∧", _AND),
    (r"\bor\b|\|\||∨", _OR),
    (r"!|¬|\b(?:absent|absence\s+of|without|unless|no)\b", _NOT),
    (r"\b(?:for|in|during)\b(?=\s*\d)|(?<=within)\s*(?:\(|interval\b|time\b)", _FRAME),
    (r"\bas\b", _NAME),
    (r"\buntil\b", "write a sequence whose first operand collects: `A a ; B b`, and `duplicates a collect`"),
    (r"(?<=\w)\s*=(?!=)", _NAME),
    (r"(?<=\w)\s*(?:[+*?]|\{[^}]*\}|<\s*\d[^>]*>)", _MANY),
    (r"(?<![\w\]) ])\s*\[\s*\d[^\]]*\]", "positions stand behind the operand: `A a[2]`"),
    (r"\b(?:first|last)\s+\d+", "write `first A a` or `last A a` of one event, positions of several: `A a[1..3]`"),
    (r"(?<=\w)[ \t]*(?:\[(?!\s*\d)|\((?=[^()]*(?<!-)[<>=]))|==|!=|<=?|>=?", _CONDITION),
    (r",", "between events stands `;` (one after the other), `&` (in any order), `|` (either) or `:` (at one time)"),
)
_WHERE: tuple[tuple[str, str], ...] = (
    (r"timer\s*:\s*\w+|\bwithin\b", _CONDITION_TIMER),
    (r"&&|∧", "in a condition it is written `and`: `a.x = 1 and b.x = 2`"),
    (r"\|\||∨", "in a condition it is written `or`: `a.x = 1 or b.x = 2`"),
    (r"!(?!=)|¬", "in a condition it is written `not`: `not a.x = 1`"),
)
ADVICE_FOR_TYPES = {"every": _EVERY, "no": _NOT, "absent": _NOT, "without": _NOT}
"""By the words that are not taken for a type."""
_QUIET = re.compile(r"#[^\n]*|'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_ALIKE = re.compile(r"[;|&:()]")
"""What cannot stand between a foreign word and the place where the text can no longer be read."""


class _Spelling(NamedTuple):
    """A foreign word, where it stands, and what to write instead."""

    begin: int
    end: int
    text: str
    advice: str


def foreign_in_pattern(text: str, position: int) -> Misuse | None:
    """The error about the foreign word by which a pattern cannot be read at a position; None if there is none.

    >>> foreign_in_pattern("Heat h -> Fire f", 7).message
    "'->' does not fit here"
    """
    return _error(text, position, _PATTERN)


def foreign_in_condition(text: str, position: int) -> Misuse | None:
    """The same for what stands behind `where`."""
    return _error(text, position, _WHERE)


def _error(text: str, position: int, table: tuple[tuple[str, str], ...]) -> Misuse | None:
    # Texts, comments and quoted names are blanked, with the places of everything else as they were.
    bare = _QUIET.sub(lambda found: " " * len(found[0]), text)
    known = [one for one in _spellings(bare, table) if _is_cause(bare, one, position)]
    if not known:
        return None
    found = max(known, key=lambda one: (one.begin, one.end))
    message = f"{' '.join(found.text.split())!r} does not fit here"
    return error_at(text, found.begin, Misuse(message, code="syntax", hint=found.advice))


def _spellings(text: str, table: tuple[tuple[str, str], ...]) -> list[_Spelling]:
    found = []
    for pattern, advice in table:
        for one in re.finditer(pattern, text, re.I):
            begin = one.end() - len(one[0].lstrip())
            found.append(_Spelling(begin, one.end(), one[0].strip(), advice))
    return found


def _is_cause(text: str, one: _Spelling, position: int) -> bool:
    """Whether the text became unreadable at it, or behind it with nothing but names between."""
    return one.begin <= position and (position <= one.end or not _ALIKE.search(text, one.end, position))
