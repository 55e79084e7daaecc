"""YAML files of profiles.

`profiles:` holds a mapping from names to filters, or to `{on: TYPE, where: FILTER, domain: NAME}`, or, for a composite
profile, to `{on: PATTERN, where: …, duplicates: …, consume: …, limit: …, ties: …, version: …}`. Beside these stand the
terms of the profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.document import Document, did_you_mean, write_yaml
from comity.errors import ComityError, Faults, Misuse
from comity.expression.parse import Parsed
from comity.pattern.composite import Composite
from comity.pattern.text.clauses import PARAMETERS, build_composite
from comity.pattern.text.render import composite_clauses
from comity.profile.profile import Profile
from comity.profile.terms import NO_TERMS, TERMS, Terms, read_terms
from comity.profile.text import parse_condition

_START = re.compile(r"(?:[ \t]*(?:#.*|---[ \t]*)?\n)*profiles[ \t]*:[ \t]*(?:#.*|\{.*)?(?:\n|$)")
_TEXTS = ("on", "where", "domain", "description", *PARAMETERS)
_KNOWN = {*_TEXTS, *TERMS}
_PATTERN = re.compile(r"\S\s+\S|[;&|()\[\]]")
"""What is in a pattern and not in the name of a type."""


def begins_entries(text: str) -> bool:
    """Whether a text begins as a YAML file of profiles.

    >>> begins_entries("# mine\\nprofiles:\\n  hot: heat > 40"), begins_entries("profiles: heat > 40")
    (True, False)
    """
    return bool(_START.match(text))


def scan_entries(document: Document) -> tuple[list[Profile], list[ComityError]]:
    """The good profiles of a document, and what is wrong with the others."""
    found: list[Profile] = []
    faults: list[ComityError] = []
    for name, value in _entries(document):
        entry = _Entry(document, name, value)
        profile = entry.read()
        found += [profile] if profile is not None else []
        faults += entry.faults
    return found, faults


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


def _unknown_key(document: Document, path: tuple[str, ...], known: Iterable[str]) -> Misuse:
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


@dataclass(slots=True)
class _Entry:
    """One entry, and what is wrong with it."""

    document: Document
    name: str
    value: Any
    faults: list[ComityError] = field(default_factory=list)

    @property
    def at(self) -> tuple[str, ...]:
        return ("profiles", self.name)

    @property
    def given(self) -> dict[str, Any]:
        return self.value if isinstance(self.value, dict) else {}

    def read(self) -> Profile | None:
        """The profile; None when too much is wrong to have one."""
        self.faults += [_unknown_key(self.document, (*self.at, key), _KNOWN) for key in self.given if key not in _KNOWN]
        texts = self._texts()
        if texts is None:
            return None
        terms = self._terms()
        composite: Composite | None = None
        if is_composite_entry(self.value):
            composite = self._composite(texts)
            where = None if composite is None else composite.where
        else:
            where = self._where(texts["where"])
        if where is None:
            return None
        return Profile(
            self.name,
            where,
            texts.get("on") if composite is None else None,
            texts.get("domain"),
            self.document.place(self.at, key=True),
            self.locate,
            composite,
            terms,
            texts.get("description"),
        )

    def locate(self, error: ComityError, part: str) -> ComityError:
        """An error of a part, or of an item in a part: `scope.0`."""
        steps = (int(step) if step.isdecimal() else step for step in part.split("."))
        return self.document.locate(error, (*self.at, *steps) if self.given else self.at)

    def _texts(self) -> dict[str, str] | None:
        """What is said as text; None when something is none."""
        said = {"where": "true", **self.given} if self.given else {"where": self.value}
        said |= {key: str(said[key]) for key in PARAMETERS if type(said.get(key)) is int}
        wrong = [key for key in _TEXTS if not isinstance(said.get(key, ""), str)]
        for key in wrong:
            self.faults.append(_not_text(self.document, (*self.at, key) if self.given else self.at, said[key]))
        return None if wrong else {key: said[key] for key in _TEXTS if key in said}

    def _terms(self) -> Terms:
        try:
            return read_terms(self.document, self.at, self.given)
        except Faults as found:
            self.faults += found.errors
            return NO_TERMS

    def _where(self, text: str) -> Parsed | None:
        try:
            return parse_condition(text)
        except Misuse as error:
            self.faults.append(self.locate(error, "where"))
            return None

    def _composite(self, texts: Mapping[str, str]) -> Composite | None:
        if "on" not in texts:
            self.faults.append(self.document.fault("`on` is missing", self.at, code="missing-key"))
        clauses = {key: texts[key] for key in ("on", "where", *PARAMETERS) if key in texts}
        composite, faults = build_composite(clauses, self.locate)
        self.faults += faults
        return composite


# The way back


def entry_of(profile: Profile) -> dict[str, Any]:
    """What a file of profiles says of a profile.

    >>> entry_of(Profile.of("hot", "heat > 40", on="Fire", domain="house"))
    {'domain': 'house', 'on': 'Fire', 'where': 'heat > 40'}
    """
    said: dict[str, Any] = {"domain": profile.domain, "on": profile.on, "where": profile.where.text}
    if profile.composite is not None:
        clauses = composite_clauses(profile.composite)
        said |= {"where": "true", **clauses}
        said |= {word: int(clauses[word]) for word in ("limit", "version") if word in clauses}
    said["description"] = profile.description
    return {key: value for key, value in said.items() if value is not None} | profile.terms.fields


def write_entries(profiles: Iterable[Profile]) -> str:
    """A YAML file with the profiles, which reads back as them."""
    return write_yaml({"profiles": {profile.name: entry_of(profile) for profile in profiles}})
