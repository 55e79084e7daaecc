"""Generated composite profiles for the types of a generated federation.

As in `comity.testing.federations` all choices are made by a `random.Random`.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from random import Random
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from comity.errors import Misuse
from comity.federation.model import Federation
from comity.pattern.bounds import check_bounded
from comity.testing.federations import Texts, load_texts
from comity.testing.texts import Declared, filter_text, paths_of

_SHAPES = (
    "{} ; {} within {frame}",
    "{} ; {} within {frame}",
    "{} ; {} ; {} within {frame}",
    "{} & {} within {frame}",
    "{} : {} tolerance {frame}",
    "{} | {}",
    "{} ; not {} ; {} within {frame}",
    "{} ; not {} within {frame}",
    "not {} ; {} within {frame}",
    "not {} within {frame}",
    "({})[2] & {} within {frame}",
)
_FRAMES = ("20 s", "1 min", "3 min", "10 min")
_PLAIN = ("bool", "int", "string")
_Types = Mapping[str, Mapping[str, Declared]]


def composite_profiles(chance: Random, texts: Texts, count: int) -> dict[str, dict[str, Any]]:
    """So many composite profiles, or a few less, that the federation takes on a stream, as its file would say them."""
    types = _types_by_domain(texts)
    found: dict[str, dict[str, Any]] = {}
    for number in range(count):
        domain = chance.choice(list(types))
        whole = _profile(chance, domain, types[domain])
        plain = {name: value for name, value in whole.items() if name != "where"}
        fitting = next((one for one in (whole, plain) if _is_taken(texts, one)), None)
        if fitting is not None:
            found[f"c{number}"] = fitting
    return found


def texts_with_profiles(texts: Texts, profiles: Mapping[str, Any]) -> dict[str, str]:
    """The files, with these profiles in the place of their own."""
    content = yaml.safe_dump({"profiles": dict(profiles)}, sort_keys=False, allow_unicode=True)
    return {**texts, "profiles": content}


def _is_taken(texts: Texts, profile: Mapping[str, Any]) -> bool:
    try:
        federation: Federation = load_texts(texts_with_profiles(texts, {"tried": profile}))
        check_bounded(one.bound for one in federation.composites.values())
    except Misuse:
        return False
    return True


def _types_by_domain(texts: Texts) -> dict[str, _Types]:
    """The attributes by the names of types that profiles of a domain may be on: its own, and those of contracts."""
    files = [yaml.safe_load(text) for text in texts.values()]
    shared = {
        f"{file['contract']}.Common": file["types"]["Common"]["attributes"] for file in files if "contract" in file
    }
    return {file["domain"]: {**_inherited(file["types"]), **shared} for file in files if "domain" in file}


def _inherited(types: Mapping[str, Any]) -> dict[str, dict[str, Declared]]:
    return {
        name: {**types.get(declared.get("extends"), {}).get("attributes", {}), **declared["attributes"]}
        for name, declared in types.items()
    }


def _profile(chance: Random, domain: str, types: _Types) -> dict[str, Any]:
    shape = chance.choice(_SHAPES)
    kinds = [chance.choice(list(types)) for _ in range(shape.count("{}"))]
    if chance.random() < 0.5:  # so that keys are frequent
        kinds = kinds[:1] * len(kinds)
    operands = {letter: types[kind] for letter, kind in zip(string.ascii_lowercase, kinds, strict=False)}
    named = (f"{kind} {letter}" for letter, kind in zip(operands, kinds, strict=True))
    found: dict[str, Any] = {"domain": domain, "on": shape.format(*named, frame=chance.choice(_FRAMES))}
    if conditions := _conditions(chance, operands):
        found["where"] = " and ".join(f"({one})" if " or " in one else one for one in conditions)
    if chance.random() < 0.3:
        found["duplicates"] = chance.choice(("first", "last", "collect"))
    if chance.random() < 0.3:
        found["consume"] = chance.choice(("delete", "reapply"))
    if "[" in shape or chance.random() < 0.1:
        found["limit"] = chance.randint(2, 5)
    return {**found, "own": True} if chance.random() < 0.5 else found


def _conditions(chance: Random, operands: Mapping[str, Mapping[str, Declared]]) -> list[str]:
    """Tests of single operands, and equalities that tie them to each other."""
    found = [
        filter_text(chance, paths_of(attributes, f"{letter}."), ())
        for letter, attributes in operands.items()
        if attributes and chance.random() < 0.25
    ]
    letters = list(operands)
    common = [
        name
        for name, declared in operands[letters[0]].items()
        if declared["kind"] in _PLAIN
        and all(operands[other].get(name, {}).get("kind") == declared["kind"] for other in letters)
    ]
    if common and len(letters) > 1 and chance.random() < 0.5:
        key = chance.choice(common)
        found += [f"{letters[0]}.{key} = {other}.{key}" for other in letters[1:]]
    return found
