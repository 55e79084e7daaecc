"""A composite profile from the texts of its clauses: `on`, `where`, and those that set its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from comity.errors import ComityError, Misuse
from comity.expression.parse import Parsed, as_filter, error_at, parse_text
from comity.expression.tree import Attribute
from comity.pattern.composite import Composite
from comity.pattern.parameters import ALL, COLLECT, FIRST, LAST, Consume, Duplicates, Parameters
from comity.pattern.text.foreign import foreign_in_condition
from comity.pattern.text.parse import parse_pattern
from comity.pattern.text.words import is_reserved
from comity.pattern.tree import Pattern, bound_operands

MOST = 1_000_000_000
"""The greatest limit, version, and position among duplicates."""

_COMMENT = re.compile(r"#[^\n]*")
_WORDS = {"first": FIRST, "last": LAST, "all": ALL, "collect": COLLECT}
_ITEM = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*|`[^`]+`)\s+)?(?P<mode>[^\W\d]\w*|\d+(?:st|nd|rd|th)?(?:\s*(?:\.\.|to\b)\s*\d+)?)\s*"
)
_RANGE = re.compile(r"(\d+)(?:st|nd|rd|th)?(?:\s*(?:\.\.|to)\s*(\d+))?")
_MODES = "first, last, all, collect, a position like 2, or positions like 2..4"


def build_composite(
    texts: Mapping[str, str], locate: Callable[[ComityError, str], ComityError]
) -> tuple[Composite | None, list[ComityError]]:
    """The profile that the texts say, by the words of the clauses, and what is wrong with them.

    `locate` gives an error that was found in the text of a clause its place.
    """
    found: dict[str, Any] = {}
    faults: list[ComityError] = []
    for word, text in texts.items():
        try:
            found[word] = _READERS[word](text)
        except Misuse as error:
            faults.append(locate(error, word))
    if "on" in found and "duplicates" in found:
        error_of_names = _unknown_operand(texts["duplicates"], found["duplicates"]["own_duplicates"], found["on"])
        faults += [locate(error_of_names, "duplicates")] if error_of_names else []
    if faults or "on" not in found:
        return None, faults
    said = {name: value for word in PARAMETERS for name, value in found.get(word, {}).items()}
    return Composite(found["on"], found.get("where", parse_text("true")), Parameters(**said), texts["on"]), faults


def _unknown_operand(text: str, own: Iterable[str], pattern: Pattern) -> Misuse | None:
    """The error about an operand that is said to choose, but does not."""
    known = sorted(operand.name for operand in bound_operands(pattern))
    for name in own:
        if name not in known:
            hint = f"operands that choose: {', '.join(known) or 'none'}"
            error = Misuse(f"{name!r} does not choose among duplicates", code="unknown-operand", hint=hint)
            return error_at(text, text.index(name), error)
    return None


def parse_condition(text: str) -> Parsed:
    """What stands behind `where`."""
    try:
        parsed = parse_text(text)
    except Misuse as error:
        raise _foreign(text, error) or error from None
    as_filter(parsed.tree)  # a value is refused here, where its place is known
    return parsed


def _foreign(text: str, error: Misuse) -> Misuse | None:
    """The error about a foreign word in a condition, if one is where it cannot be read."""
    if error.code != "syntax" or error.place is None or error.place.line is None:
        return None
    before = text.split("\n")[: error.place.line - 1]
    return foreign_in_condition(text, sum(len(line) + 1 for line in before) + (error.place.column or 1) - 1)


def parse_duplicates(text: str) -> dict[str, Any]:
    """How all operands choose, and how single ones do, as parameters.

    >>> parse_duplicates("first, h 2..4")["own_duplicates"]
    {'h': Duplicates(first=2, last=4, collect=False)}
    """
    general: Duplicates | None = None
    own: dict[str, Duplicates] = {}
    begin = 0
    for item in text.split(","):
        name, mode = _duplicates_item(text, item, begin)
        if name in own or (name is None and general is not None):
            said = f"{name!r} chooses" if name else "all operands choose"
            raise error_at(text, begin + _indent(item), Misuse(f"it is said twice how {said}", code="syntax"))
        if name is None:
            general = mode
        else:
            own[name] = mode
        begin += len(item) + 1
    return {"duplicates": general or ALL, "own_duplicates": own}


def _duplicates_item(text: str, item: str, begin: int) -> tuple[str | None, Duplicates]:
    found = _ITEM.fullmatch(item)
    if found is None:
        error = Misuse("this is no way to choose", code="syntax", hint=f"write {_MODES}; in front of it, an operand")
        raise error_at(text, begin + _indent(item), error)
    name = found["name"]
    if name is not None and is_reserved(name):
        error = Misuse(f"{name!r} is no operand", code="syntax", hint="write the operand first: `h first, v last`")
        raise error_at(text, begin + found.start("name"), error)
    try:
        return name and name.strip("`"), _mode(found["mode"])
    except Misuse as error:
        raise error_at(text, begin + found.start("mode"), error) from None


def _mode(text: str) -> Duplicates:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    numbers = _RANGE.fullmatch(text)
    if numbers is None:
        raise Misuse(f"{text!r} is no way to choose", code="syntax", hint=f"write {_MODES}")
    first = whole_number(numbers[1])
    last = first if numbers[2] is None else whole_number(numbers[2])
    if first > last:
        raise Misuse(f"position {first} is behind position {last}", code="syntax", hint=f"write {last}..{first}")
    return Duplicates(first, last)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def parse_consume(text: str) -> dict[str, Any]:
    """What a report consumes."""
    if text.lower() not in list(Consume):
        raise Misuse(f"{text[:60]!r} is no way to consume", code="syntax", hint="write keep, delete or reapply")
    return {"consume": Consume(text.lower())}


def parse_limit(text: str) -> dict[str, Any]:
    """How many events an operand has at most."""
    return {"limit": whole_number(text)}


def parse_version(text: str) -> dict[str, Any]:
    """The version of the profile."""
    return {"version": whole_number(text)}


def parse_ties(text: str) -> dict[str, Any]:
    """The attribute that orders events of one time; `by` may be left out.

    >>> parse_ties("by event.sequence")
    {'ties': ('event', 'sequence')}
    """
    begin = re.match(r"(?:by\b\s*)?", text, re.I)
    assert begin is not None, "it matches nothing, too"
    blank = " " * begin.end()  # in place of `by`, so that the column is right
    tree = parse_text(blank + text[begin.end() :]).tree
    if not isinstance(tree, Attribute):
        error = Misuse("a tie-break is an attribute", code="syntax", hint="write `ties by event.sequence`")
        raise error_at(text, begin.end(), error)
    return {"ties": tree.path}


def whole_number(text: str) -> int:
    """A number from 1."""
    if not text.isascii() or not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
        raise Misuse(f"expected a whole number from 1 to {MOST:,}, not {text[:60]!r}", code="syntax")
    return int(text)


PARAMETERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "version": parse_version,
    "duplicates": parse_duplicates,
    "consume": parse_consume,
    "limit": parse_limit,
    "ties": parse_ties,
}
"""By the word of the clause: what its text says, as arguments of `Parameters`."""


def _read_bare(read: Callable[[str], dict[str, Any]], text: str) -> dict[str, Any]:
    """What the text says without its comments."""
    return read(_COMMENT.sub("", text).rstrip())


_READERS: Mapping[str, Callable[[str], Any]] = {
    "on": parse_pattern,
    "where": parse_condition,
    **{word: partial(_read_bare, read) for word, read in PARAMETERS.items()},
}
