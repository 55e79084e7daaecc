"""Generated federations: small ones, that use everything that types, contracts, mappings and profiles can say.

All choices are made by a `random.Random`, so that a seed names a federation; `federations()` is the same as a strategy
of Hypothesis, which can make a failing one smaller.

>>> texts = federation_texts(Random(7))
>>> texts["domain_office"].splitlines()[0], "profiles" in texts
('domain: office', True)
>>> load_texts(texts).name
'generated'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]
from hypothesis import strategies as st

from comity.federation import Federation, load
from comity.testing.texts import Declared, filter_text, paths_of, value_text

SOURCE_DOMAINS = ("plant", "house", "Plant")
"""Two of them differ in case only."""
OBSERVER = "office"
_TABLES = {"levels": {"a": 1, "ab": 3, "": -2}, "names": {"a": "first", "b": "", "Straße": "Größe"}}

_DEVICE: Declared = {
    "kind": "struct",
    "attributes": {
        "serial": {"kind": "string", "optional": True},
        "load": {"kind": "float", "optional": True},
        "ports": {"kind": "int"},
        "inner": {"kind": "struct", "optional": True, "attributes": {"deep": {"kind": "int"}}},
    },
}
_PAIR: Declared = {
    "kind": "struct",
    "attributes": {"left": {"kind": "int", "optional": True}, "since": {"kind": "timestamp", "optional": True}},
}
_NEST: Declared = {
    "kind": "struct",
    "attributes": {
        "low": {
            "kind": "struct",
            "optional": True,
            "attributes": {
                "lower": {"kind": "struct", "attributes": {"n": {"kind": "int"}, "f": {"kind": "float"}}},
                "loose": _PAIR | {"optional": True},
                "g": {"kind": "float", "optional": True},
            },
        },
        "s": {"kind": "string", "optional": True},
    },
}
ATTRIBUTES: Mapping[str, tuple[Declared, ...]] = {
    "n": ({"kind": "int"},),
    "N": ({"kind": "int"},),
    "k": ({"kind": "int"},),
    "f": ({"kind": "float"},),
    "g": ({"kind": "float"},),
    "heat": tuple({"kind": "float", "unit": unit} for unit in ("degC", "degF", "kelvin")),
    "far": tuple({"kind": "float", "unit": unit} for unit in ("km", "m")),
    "s": ({"kind": "string"},),
    "t": ({"kind": "string"},),
    "time": ({"kind": "string"},),
    "b": ({"kind": "bool"},),
    "c": ({"kind": "bool"},),
    "seen": ({"kind": "timestamp"},),
    "span": ({"kind": "duration"},),
    "raw": ({"kind": "bytes"},),
    "place": ({"kind": "point"},),
    "tags": ({"kind": "list", "of": {"kind": "string"}},),
    "spans": ({"kind": "list", "of": {"kind": "duration"}},),
    "spots": ({"kind": "list", "of": {"kind": "point"}},),
    "device": (_DEVICE,),
    "pair": (_PAIR,),
    "nest": (_NEST,),
}
"""What an attribute of this name can be; one of them is named like a part of the envelope."""

Texts = Mapping[str, str]
"""The YAML files of a federation, by name."""
_Attributes = dict[str, Declared]
_Types = dict[str, "_Type"]


@dataclass(frozen=True, slots=True)
class _Type:
    """A type while it is made: its own attributes, and all of them."""

    own: _Attributes
    all: _Attributes
    extends: str | None = None
    abstract: bool = False

    def as_file(self) -> dict[str, Any]:
        more = {"extends": self.extends, "abstract": self.abstract}
        return {"attributes": self.own, **{name: value for name, value in more.items() if value}}


def federations() -> st.SearchStrategy[Federation]:
    """Federations."""
    return st.randoms(use_true_random=False).map(lambda chance: load_texts(federation_texts(chance)))


def federation_texts(chance: Random) -> Texts:
    """The files of a federation: one to three domains with events, one that observes, contracts, and profiles."""
    domains = {name: _types(chance) for name in chance.sample(SOURCE_DOMAINS, chance.randint(1, 3))}
    domains[OBSERVER] = {"Record": _type(chance, chance.randint(1, 6), is_target=True)}
    domains[OBSERVER]["Special"] = _below(chance, "Record", domains[OBSERVER]["Record"])
    files: dict[str, dict[str, Any]] = {}
    for name, types in domains.items():
        files[f"domain_{name}"] = {"domain": name, "types": {one: type.as_file() for one, type in types.items()}}
    common: dict[str, _Type] = {}
    for name in ("shared", "second")[: chance.choice((1, 1, 2))]:
        made = _type(chance, chance.randint(1, 7), is_target=True)
        if made.own in [one.own for one in common.values()]:  # a second contract of the same type is refused
            continue
        common[f"{name}.Common"] = made
        files[f"contract_{name}"] = _contract(chance, name, common[f"{name}.Common"], domains)
    files["profiles"] = {"profiles": dict(_profiles(chance, domains, common))}
    return {
        name: yaml.dump(content, Dumper=_Plain, sort_keys=False, allow_unicode=True) for name, content in files.items()
    }


class _Plain(yaml.SafeDumper):  # type: ignore[misc, unused-ignore]
    """Writes what occurs twice twice: federation files have no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def write_texts(texts: Texts, folder: Path) -> Path:
    """The folder, which has the files now."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def load_texts(texts: Texts) -> Federation:
    """The federation that the files make up."""
    with TemporaryDirectory() as folder:
        return load(write_texts(texts, Path(folder) / "generated"))


# Types


_ONLY_COPIED = ("bytes", "list")
"""Kinds that have no constants, so that nothing but an attribute can give a value of them."""


def _attribute(chance: Random, name: str, is_target: bool) -> Declared:
    declared = dict(chance.choice(ATTRIBUTES[name]))
    is_optional = chance.random() < 0.6 or (is_target and declared["kind"] in _ONLY_COPIED)
    return {**declared, "optional": True} if is_optional else declared


def _type(chance: Random, count: int, without: tuple[str, ...] = (), *, is_target: bool = False) -> _Type:
    names = chance.sample([name for name in ATTRIBUTES if name not in without], count)
    own = {name: _attribute(chance, name, is_target) for name in names}
    return _Type(own, own)


def _below(chance: Random, name: str, parent: _Type) -> _Type:
    more = _type(chance, chance.randint(0, 2), tuple(parent.all), is_target=True)
    return _Type(more.own, {**parent.all, **more.own}, name)


def _types(chance: Random) -> _Types:
    """One type, and perhaps a subtype of it and another one that differs in case only."""
    first = _type(chance, chance.randint(1, 8))
    types = {"Reading": first}
    if chance.random() < 0.5:
        types["Special"] = _below(chance, "Reading", first)
        if chance.random() < 0.3:
            types["Reading"] = _Type(first.own, first.all, abstract=True)
    if chance.random() < 0.4:
        types["reading"] = _type(chance, chance.randint(0, 4))
    return types


# Contracts


def _contract(chance: Random, name: str, common: _Type, domains: Mapping[str, _Types]) -> dict[str, Any]:
    members = {domain: _members(chance, types, common) for domain, types in domains.items() if domain != OBSERVER}
    observers = {
        OBSERVER: [_mapping(chance, chance.choice(("Record", "Record", "Special")), common, domains[OBSERVER])]
    }
    if chance.random() < 0.3:
        domain = chance.choice(list(members))
        fitting = [one for one, type in domains[domain].items() if _can_be_made(type.all, common.all)]
        if fitting:
            observers[domain] = [_mapping(chance, fitting[0], common, domains[domain])]
    if chance.random() < 0.3:
        observers = {domain: [{**one, "own": True} for one in given] for domain, given in observers.items()}
    return {
        "contract": name,
        "authority": OBSERVER,
        "types": {"Common": common.as_file()},
        "members": members,
        "observers": observers,
        "tables": _TABLES,
    }


def _can_be_made(target: _Attributes, source: _Attributes) -> bool:
    copied = (name for name, one in target.items() if one["kind"] in _ONLY_COPIED and not one.get("optional"))
    return all(name in source for name in copied)


def _members(chance: Random, types: _Types, common: _Type) -> list[dict[str, Any]]:
    chosen = chance.sample(list(types), chance.choice((1, 1, len(types))))
    return [{"type": name, "map": _map(chance, types[name].all, common.all)} for name in chosen]


def _mapping(chance: Random, target: str, common: _Type, types: _Types) -> dict[str, Any]:
    return {"type": target, "map": _map(chance, common.all, types[target].all)}


def _map(chance: Random, source: _Attributes, target: _Attributes) -> dict[str, str]:
    """An expression for every mandatory attribute, and for most of the others."""
    found: dict[str, str] = {}
    for name, declared in target.items():
        is_copied = declared["kind"] in _ONLY_COPIED
        if not declared.get("optional") or (chance.random() < 0.8 and (name in source or not is_copied)):
            found |= _expressions(chance, name, declared, source)
    return found


def _expressions(chance: Random, name: str, declared: Declared, source: _Attributes) -> Iterator[tuple[str, str]]:
    """One expression, or one for each part of a struct."""
    if declared["kind"] == "struct" and (name not in source or chance.random() < 0.5):
        for at, (inner, part) in enumerate(declared["attributes"].items()):
            if at == 0 or not part.get("optional") or chance.random() < 0.7:
                yield from _expressions(chance, f"{name}.{inner}", part, source)
        return
    yield name, value_text(chance, declared, paths_of(source), name)


# Profiles


def _profiles(
    chance: Random, domains: Mapping[str, _Types], common: Mapping[str, _Type]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(chance.randint(0, 8)):
        domain = chance.choice([*domains, OBSERVER, OBSERVER])
        seen: Mapping[str, _Type] = chance.choice((common, domains[domain], domains[domain]))
        name = chance.choice(list(seen))
        profile: dict[str, Any] = {"domain": domain, "on": name}
        if chance.random() < 0.2:
            profile["own"] = True
        if chance.random() < 0.85:
            kinds = () if seen is common else tuple(seen)
            profile["where"] = filter_text(chance, paths_of(seen[name].all), kinds)
        yield f"p{number}", profile
