"""The units and prefixes that UCUM defines, as its own table gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

_SPACE = "{http://unitsofmeasure.org/ucum-essence}"
_OWN_BASE = "mol"
"""A mole is a number for UCUM and an amount of substance for everybody else; it is kept until it must be a number."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A unit that is no product: `value` times `unit`, or a base when it has none; special if a function is between."""

    code: str
    name: str
    of: str
    metric: bool
    value: Fraction = Fraction(1)
    unit: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """An atom, and the prefix in front of it."""

    atom: Atom
    prefix: Fraction = Fraction(1)
    prefix_name: str = ""

    @property
    def name(self) -> str:
        return f"{self.prefix_name}{self.atom.name}"


@cache
def atoms() -> Mapping[str, Atom]:
    """All atoms by their code."""
    bases = [Atom(one.attrib["Code"], _text(one, "name"), _text(one, "property"), True) for one in _all("base-unit")]
    return {atom.code: atom for atom in (*bases, *map(_atom, _all("unit")))}


@cache
def prefixes() -> Mapping[str, tuple[Fraction, str]]:
    """What each prefix multiplies by, and its name."""
    return {
        one.attrib["Code"]: (Fraction(one.find(f"{_SPACE}value").attrib["value"]), _text(one, "name"))
        for one in _all("prefix")
    }


@cache
def symbols() -> Mapping[str, Symbol]:
    """All atoms and all prefixed ones by their text; an atom comes before a prefixed one that looks the same."""
    plain = {code: Symbol(atom) for code, atom in atoms().items()}
    prefixed = {
        prefix + code: Symbol(atom, factor, name)
        for prefix, (factor, name) in prefixes().items()
        for code, atom in atoms().items()
        if atom.metric
    }
    return prefixed | plain


@cache
def avogadro() -> Fraction:
    """The number that a mole is."""
    definition = next(one for one in _all("unit") if one.attrib["Code"] == _OWN_BASE).find(f"{_SPACE}value")
    return Fraction(definition.attrib["value"]) * Fraction(definition.attrib["Unit"].replace("10*", "1e"))


def _atom(one: Any) -> Atom:
    value = one.find(f"{_SPACE}value")
    function = value.find(f"{_SPACE}function")
    measure = value if function is None else function
    own = one.attrib["Code"] == _OWN_BASE or (one.get("isArbitrary") == "yes" and measure.attrib["Unit"] == "1")
    return Atom(
        code=one.attrib["Code"],
        name=_text(one, "name"),
        of=_text(one, "property"),
        metric=one.attrib["isMetric"] == "yes",
        value=Fraction(1) if own else Fraction(measure.attrib["value"]),
        unit=None if own else measure.attrib["Unit"],
        function=None if function is None else function.attrib["name"],
    )


def _text(one: Any, name: str) -> str:
    found = one.find(f"{_SPACE}{name}")
    return "" if found is None else " ".join("".join(found.itertext()).split())


def _all(kind: str) -> list[Any]:
    return list(_root().findall(f"{_SPACE}{kind}"))


@cache
def _root() -> Any:
    # The table comes with a library of which nothing else is needed, so it is found without loading that.
    spec = find_spec("ucumvert")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("ucumvert, which brings the table of UCUM, is not installed")
    return ElementTree.parse(Path(spec.origin).parent / "vendor" / "ucum-essence.xml").getroot()
