"""A language in one file: topics. `hot = house/heat` is a profile `hot` on the type `heat`, from source `house`."""

from __future__ import annotations

from collections.abc import Iterable

from comity.errors import ComityError, Misuse, Place
from comity.expression.parse import parse_text
from comity.language.language import Language, PrintedProfiles, Reading, Types
from comity.language.reasons import Reason
from comity.profile import Profile

_SOURCE = "event.source = '"


def _read(text: str, file: str, types: Types | None) -> Reading:
    profiles: list[Profile] = []
    faults: list[ComityError] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name, _, topic = (part.strip() for part in line.partition("="))
        source, slash, on = topic.partition("/")
        place = Place(file, number, 1)
        if slash:
            profiles.append(Profile(name, parse_text(f"{_SOURCE}{source}'"), on, place=place))
        else:
            faults.append(Misuse("a topic is SOURCE/TYPE", code="syntax", place=place))
    return profiles, faults


def _write(profiles: Iterable[Profile], types: Types) -> PrintedProfiles:
    lines: list[str] = []
    left: list[Reason] = []
    for one in profiles:
        if one.where.text.startswith(_SOURCE) and one.where.text.count("'") == 2:
            lines.append(f"{one.name} = {one.where.text[len(_SOURCE) : -1]}/{one.on}\n")
        else:
            left.append(Reason("operator-not-supported", one.where.text))
    return PrintedProfiles("".join(lines), tuple(left))


TOPICS = Language.of_profiles("topics", read=_read, write=_write, suffixes=(".topics",))
