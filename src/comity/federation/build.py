"""A federation that is written in Python: the same as its files would say, in one mapping.

`federation` is its name, with `description`, `boundary` and `ontology` beside it; `domains`, `contracts`, `codes` and
`federations` (those inside) are by name; `profiles` too, and `rates` has the rates. What can be had as an object may be
one: the taxonomy of a domain, its types and their attributes, profiles.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from comity.document import DataDocument, Document, did_you_mean, plain
from comity.document.data import dotted
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.schemas.domain_file import attribute_declaration, type_declaration
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.federation.new_profile import NewProfile
from comity.profile.entries import entry_of
from comity.profile.profile import Profile

_HEAD = ("federation", "description", "boundary", "ontology")
_NAMED = {"domains": "domain", "contracts": "contract", "codes": "codes"}
_KEYS = (*_HEAD, *_NAMED, "profiles", "rates", "federations")

_Path = tuple[str | int, ...]


def documents_of(given: Mapping[str, Any], folder: Path) -> dict[Path, Document]:
    """By the path that its file would have in the folder, each document; in the order in which files are read."""
    faults: list[ComityError] = []
    found: dict[Path, Document] = {}
    for path, data, at in _parts(given, folder, (), faults):
        try:
            found[path] = DataDocument(plain(data, at, _declared), at, folder)
        except Misuse as error:
            faults.append(error)
    if faults:
        raise Faults(faults)
    return dict(sorted(found.items()))


def _parts(
    given: Mapping[str, Any], folder: Path, at: _Path, faults: list[ComityError]
) -> Iterator[tuple[Path, Any, _Path]]:
    """The files, what each says, and where that stands in what was given."""
    for key in given:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS) or f"keys: {', '.join(_KEYS)}"
            faults.append(_fault(f"unknown key `{key}`", (*at, str(key)), "unknown-key", hint))
    names = _Names(folder)
    head = {key: given[key] for key in _HEAD if key in given}
    if head or at:
        yield names.of("federation", "federation"), {"federation": "", **head}, at
    if "profiles" in given:
        yield names.of("profiles", "profiles"), {"profiles": _by_name(given["profiles"])}, at
    if "rates" in given:
        rates = given["rates"]
        body = rates if isinstance(rates, Mapping) else {"rows": rates}
        yield names.of("rates", "rates"), {"rates": "rates", **body}, (*at, "rates")
    for section, kind in _NAMED.items():
        for name, body in _entries(given, section, at, faults):
            yield names.of(kind, name), _with_name(kind, name, body), (*at, section, name)
    for name, body in _entries(given, "federations", at, faults):
        inside = (*at, "federations", name)
        if not isinstance(body, Mapping):
            faults.append(_fault("a federation is a mapping", inside, "bad-value"))
            continue
        yield from _parts({"federation": name, **body}, folder / names.folder(name), inside, faults)


def profile_data(given: Any) -> dict[str, Any]:
    """Profiles, as the file of profiles would say them."""
    found = plain(_by_name(given), ("profiles",), _declared)
    if isinstance(found, dict):
        return found
    if not found:
        return {}
    raise _fault("profiles are a mapping of names, or a list of `Profile`", ("profiles",), "bad-value")


def said_with_profiles(said: Mapping[Path, Any], added: Mapping[str, Any], removed: Collection[str]) -> dict[Path, Any]:
    """What files say, with other profiles; raises `Misuse` for one that is to go, and is in none of them."""
    files = {path: data["profiles"] for path, data in said.items() if isinstance(data.get("profiles"), dict)}
    known = {name: path for path, own in files.items() for name in own}
    for name in removed:
        if name not in known:
            hint = did_you_mean(name, known) or "only those in YAML files, or added here, can go"
            raise _fault(f"there is no profile {name!r}", ("profiles",), "unknown-profile", hint)
    changed = {path: {name: one for name, one in own.items() if name not in removed} for path, own in files.items()}
    new = next((path for path in changed if path.parent == Path()), Path("profiles.added.yaml"))
    for name, one in added.items():
        changed.setdefault(known.get(name, new), {})[name] = one
    return {**said, **{path: {**said.get(path, {}), "profiles": own} for path, own in changed.items()}}


class _Names:
    """Names of files that differ from each other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[str] = {"federation", "profiles", "rates"}

    def of(self, kind: str, name: str) -> Path:
        """The path of a file: its name where that can be one, and is free."""
        stem = name if kind == name or name.isidentifier() else kind
        if kind != name:
            stem = self._free(stem if stem.casefold() not in self._taken else f"{kind}-{stem}")
        return self._folder / f"{stem}.yaml"

    def folder(self, name: str) -> str:
        return self._free(name if name.isidentifier() else "federation-inside")

    def _free(self, stem: str) -> str:
        found, number = stem, 1
        while found.casefold() in self._taken:
            number += 1
            found = f"{stem}-{number}"
        self._taken.add(found.casefold())
        return found


def _entries(given: Mapping[str, Any], section: str, at: _Path, faults: list[ComityError]) -> Iterator[tuple[str, Any]]:
    body = _by_name(given.get(section, {}))
    if not isinstance(body, Mapping):
        faults.append(_fault(f"`{section}` is a mapping of names", (*at, section), "bad-value"))
        return
    for name, one in body.items():
        if isinstance(name, str):
            yield name, one
        else:
            faults.append(_fault(f"a key must be text, not {name!r}", (*at, section), "yaml-key", "put it in quotes"))


def _by_name(body: Any) -> Any:
    """Objects that know their names, by name."""
    named = (Taxonomy, Profile, NewProfile)
    if isinstance(body, Iterable) and not isinstance(body, Mapping | str):
        listed = list(body)
        if all(isinstance(one, named) for one in listed):
            return {one.namespace if isinstance(one, Taxonomy) else one.name: one for one in listed}
        return listed
    return body


def _with_name(kind: str, name: str, body: Any) -> Any:
    """What the file says whose first key has the name."""
    body = _declared(body)
    if isinstance(body, Mapping):
        return {kind: name, **{key: value for key, value in body.items() if key != kind}}
    if kind == "codes" and isinstance(body, list | tuple):
        return {kind: name, "rows": body}
    return {kind: name, "types": body}


def _declared(value: Any) -> Any:
    """What a file says for an object; everything else as it is."""
    match value:
        case Taxonomy():
            return {"types": {one.name: type_declaration(one) for one in value.types}}
        case EventType():
            return type_declaration(value)
        case AttributeType():
            return attribute_declaration(value)
        case NewProfile():
            return value.fields
        case Profile():
            return entry_of(value)
    return value


def _fault(message: str, at: _Path, code: str, hint: str | None = None) -> Misuse:
    return Misuse(message, code=code, place=Place(path=dotted(at)), hint=hint)
