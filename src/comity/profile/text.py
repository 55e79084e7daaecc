"""Text with one `name: filter` a line, `#` begins a comment; behind such lines, or without them, blocks of profiles."""

from __future__ import annotations

import re

from comity.errors import ComityError, Misuse, Place
from comity.expression.parse import Parsed, as_filter, parse_text
from comity.profile.blocks import scan_composites
from comity.profile.profile import Profile

_BLOCK = re.compile(r"^[ \t]*(?:profile|PROFILE)[ \t]+(?!:)\S", re.M)


def has_blocks(text: str) -> bool:
    """Whether a composite profile begins somewhere in a text.

    >>> has_blocks("profile hot on Heat h"), has_blocks("hot: heat > 40")
    (True, False)
    """
    return bool(_BLOCK.search(text))


def scan_text(text: str, file: str) -> tuple[list[Profile], list[ComityError]]:
    """The good profiles of a text, and what is wrong with the others.

    >>> profiles, faults = scan_text("hot: heat > 40\\ncold: heat <", "profiles.txt")
    >>> [profile.name for profile in profiles], [str(fault.place) for fault in faults]
    (['hot'], ['profiles.txt:2:13'])
    """
    block = _BLOCK.search(text)
    begin = block.start() if block else len(text)
    found: list[Profile] = []
    faults: list[ComityError] = []
    for number, line in enumerate(text[:begin].split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(_of_line(line, file, number))
        except Misuse as error:
            faults.append(error)
    composites, more = scan_composites(text, file, begin)
    return found + composites, faults + more


def _of_line(line: str, file: str, number: int) -> Profile:
    name, colon, where = line.partition(":")
    place = Place(file, number, len(line) - len(line.lstrip()) + 1)
    if not colon:
        hint = "write one `name: filter` in a line, for example `hot: temperature > 30`"
        raise Misuse("there is no colon in it", code="syntax", place=place, hint=hint)
    column = len(line) - len(where.lstrip()) + 1
    try:
        parsed = parse_condition(where.strip())
    except Misuse as error:
        raise error.located(file, number, column) from None
    return Profile(name.strip(), parsed, place=place, locate=lambda error, part: error.located(file, number, column))


def parse_condition(text: str) -> Parsed:
    """The filter that a text says; a value is refused here, where its place is known."""
    parsed = parse_text(text)
    as_filter(parsed.tree)
    return parsed
