"""Files of profiles, in four forms.

Text with one `name: filter` a line (`#` begins a comment). Behind such lines, or without them, text with blocks that
begin with `profile NAME` (comity.pattern.text.profiles). RDL, in files that end in `.rdl` or begin with a rule
(comity.pattern.text.rdl). And YAML: `profiles:` holds a mapping from names to filters, or to `{on: TYPE, where: FILTER,
domain: NAME}`, or, for a composite profile, to `{on: PATTERN, where: …, duplicates: …, consume: …, limit: …, ties: …,
version: …}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comity.document import Document, did_you_mean, parse_document, read_text
from comity.errors import ComityError, Faults, Misuse, Place
from comity.expression.parse import Parsed, as_filter, parse_text
from comity.pattern.composite import Composite
from comity.pattern.text.clauses import PARAMETERS, build_composite
from comity.pattern.text.profiles import scan_composites
from comity.pattern.text.rdl import is_rdl, scan_rdl
from comity.pattern.text.written import Written, check_name
from comity.profile.profile import Locate, Profile

_YAML_SUFFIXES = (".yaml", ".yml")
_YAML_START = re.compile(r"(?:[ \t]*(?:#.*|---[ \t]*)?\n)*profiles[ \t]*:[ \t]*(?:#.*|\{.*)?(?:\n|$)")
_KEYS = {"on", "where", "domain", "description"}
_BLOCK = re.compile(r"^[ \t]*(?:profile|PROFILE)[ \t]+(?!:)\S", re.M)
_PATTERN = re.compile(r"\S\s+\S|[;&|()\[\]]")
"""What is in a pattern and not in the name of a type."""


def read_profiles(path: str | Path) -> list[Profile]:
    """The profiles of a file, in their order; raises `Faults` with everything that is wrong, each with its place."""
    profiles, faults = scan_profiles(path)
    if faults:
        raise Faults(faults)
    return profiles


def scan_profiles(path: str | Path) -> tuple[list[Profile], list[ComityError]]:
    """The good profiles of a file, and what is wrong with the others, for whoever has more to check."""
    return parse_profiles(read_text(path), str(path))


def parse_profiles(text: str, file: str) -> tuple[list[Profile], list[ComityError]]:
    """The same for a text at hand; the name of the file tells its form, and where it does not, the first line.

    >>> profiles, faults = parse_profiles("hot: heat > 40\\ncold: heat <", "profiles.txt")
    >>> [profile.name for profile in profiles], [str(fault.place) for fault in faults]
    (['hot'], ['profiles.txt:2:13'])
    """
    reader = _Reader()
    if _is_yaml(text, file):
        document = parse_document(text, file)
        for name, value in _entries(document):
            _take_entry(reader, document, name, value)
    elif file.endswith(".rdl") or is_rdl(text):
        reader.take_written(*scan_rdl(text, file))
    else:
        block = _BLOCK.search(text)
        begin = block.start() if block else len(text)
        for number, line in enumerate(text[:begin].split("\n"), start=1):
            _take_line(reader, line, file, number)
        reader.take_written(*scan_composites(text, file, begin))
    return list(reader.found.values()), reader.faults


def is_text_form(text: str, file: str) -> bool:
    """Whether a text holds composite profiles as text or RDL.

    >>> is_text_form("profile hot on Heat h", "new"), is_text_form("profiles: {}", "new")
    (True, False)
    """
    return not _is_yaml(text, file) and (file.endswith(".rdl") or is_rdl(text) or bool(_BLOCK.search(text)))


def _is_yaml(text: str, file: str) -> bool:
    return file.endswith(_YAML_SUFFIXES) or bool(_YAML_START.match(text))


@dataclass(slots=True)
class _Reader:
    """Gathers profiles and faults."""

    found: dict[str, Profile] = field(default_factory=dict)
    faults: list[ComityError] = field(default_factory=list)

    def take(self, name: str, place: Place, where: str, locate: Locate, on: str | None, domain: str | None) -> None:
        """Note one profile, or what is wrong with it."""
        self._check_name(name, place)
        try:
            self.found.setdefault(name, Profile(name, _parsed(where), on, domain, place, locate))
        except Misuse as error:
            self.faults.append(locate(error, "where"))

    def take_composite(
        self, name: str, place: Place, composite: Composite, locate: Locate, domain: str | None = None
    ) -> None:
        """Note one composite profile."""
        self._check_name(name, place)
        self.found.setdefault(name, Profile(name, composite.where, None, domain, place, locate, composite))

    def take_written(self, found: list[Written], faults: list[ComityError]) -> None:
        """Note the composite profiles of a text, and what is wrong with others."""
        self.faults += faults
        for one in found:
            self.take_composite(one.name, one.spot.place, one.composite, one.locate)

    def _check_name(self, name: str, place: Place) -> None:
        try:
            check_name(name)
        except Misuse as error:
            self.faults.append(Misuse(error.message, code=error.code, place=place, hint=error.hint))
            return
        if name in self.found:
            self.faults.append(_duplicate(self.found[name], place))


def _duplicate(first: Profile, place: Place) -> Misuse:
    line = first.place.line if first.place else None
    hint = f"the first one is in line {line}" if line else None
    return Misuse(f"there are two profiles {first.name!r}", code="duplicate-profile", place=place, hint=hint)


def _parsed(text: str) -> Parsed:
    parsed = parse_text(text)
    as_filter(parsed.tree)  # a value is refused here, where its place is known
    return parsed


def _take_line(reader: _Reader, line: str, file: str, number: int) -> None:
    if not line.strip() or line.lstrip().startswith("#"):
        return
    name, colon, where = line.partition(":")
    begin = len(line) - len(line.lstrip()) + 1
    if not colon:
        hint = "write one `name: filter` in a line, for example `hot: temperature > 30`"
        place = Place(file, number, begin)
        reader.faults.append(Misuse("there is no colon in it", code="syntax", place=place, hint=hint))
        return
    column = len(line) - len(where.lstrip()) + 1
    reader.take(
        name.strip(),
        Place(file, number, begin),
        where.strip(),
        lambda error, part: error.located(file, number, column),
        on=None,
        domain=None,
    )


def _entries(document: Document) -> Iterator[tuple[str, Any]]:
    top = document.data if isinstance(document.data, dict) else {}
    if not isinstance(top.get("profiles"), dict):
        path = ("profiles",) if "profiles" in top else ()
        hint = "write `profiles:` and below it `name: filter`, indented, in a line each"
        raise Faults([document.fault("the profiles are missing", path, code="missing-key", hint=hint)])
    unknown = [key for key in top if key not in ("profiles", "description")]
    if unknown:
        raise Faults([_unknown_key(document, (key,), {"profiles"}) for key in unknown])
    yield from top["profiles"].items()


def _unknown_key(document: Document, path: tuple[str, ...], known: set[str]) -> Misuse:
    hint = did_you_mean(path[-1], known)
    return document.fault(f"unknown key `{path[-1]}`", path, code="unknown-key", key=True, hint=hint)


def _not_text(document: Document, path: tuple[str, ...], value: Any) -> Misuse:
    shown = "nothing" if value is None else str(value)[:60]
    hint = "a filter that YAML reads as something else needs quotes: 'true'"
    return document.fault(f"expected text, not {shown}", path, code="bad-value", hint=hint)


def is_composite_entry(value: object) -> bool:
    """Whether an entry of a YAML file is a composite profile: `on` is more than a type, or it has a key of patterns.

    >>> is_composite_entry({"on": "Heat h ; Fire f"}), is_composite_entry({"on": "Heat", "where": "value > 30"})
    (True, False)
    """
    if not isinstance(value, Mapping):
        return False
    on = value.get("on")
    return any(key in value for key in PARAMETERS) or (isinstance(on, str) and bool(_PATTERN.search(on.strip())))


def _take_entry(reader: _Reader, document: Document, name: str, value: Any) -> None:
    at = ("profiles", name)
    given = value if isinstance(value, dict) else {}
    known = _KEYS | set(PARAMETERS)
    reader.faults += [_unknown_key(document, (*at, key), known) for key in given if key not in known]
    texts = {"where": "true", **given} if given else {"where": value}
    texts |= {key: str(given[key]) for key in PARAMETERS if type(given.get(key)) is int}
    wrong = [key for key in ("on", "where", "domain", *PARAMETERS) if not isinstance(texts.get(key, ""), str)]
    reader.faults += [_not_text(document, (*at, key) if given else at, texts[key]) for key in wrong]
    if wrong:
        return

    def locate(error: ComityError, part: str) -> ComityError:
        return document.locate(error, (*at, part) if given else at)

    place = document.place(at, key=True)
    if not is_composite_entry(value):
        reader.take(name, place, texts["where"], locate, texts.get("on"), texts.get("domain"))
        return
    if "on" not in texts:
        reader.faults.append(document.fault("`on` is missing", at, code="missing-key"))
    clauses = {key: texts[key] for key in ("on", "where", *PARAMETERS) if key in texts}
    composite, faults = build_composite(clauses, locate)
    reader.faults += faults
    if composite is not None:
        reader.take_composite(name, place, composite, locate, texts.get("domain"))
