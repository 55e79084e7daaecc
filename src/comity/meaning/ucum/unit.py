"""UCUM codes as units of the unit library, so that they take part in everything that its own units do."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from comity.meaning.ucum.convert import linear
from comity.meaning.ucum.parse import UnitPart, check, is_ucum, parse

PREFIX = "ucum:"
"""In front of a code that is to be read as UCUM, whatever else it may be."""

_BASES = {
    "m": "meter",
    "s": "second",
    "g": "gram",
    "rad": "radian",
    "K": "kelvin",
    "C": "coulomb",
    "cd": "candela",
    "mol": "mole",
}
_SAME = {"Cel": "degree_Celsius", "[degF]": "degree_Fahrenheit"}
"""Units that the library has under another name, which reads better than ours."""
_NAME = re.compile(r"(?<![A-Za-z0-9])(?:delta_)?ucum_((?:[A-Za-z0-9]|_[0-9a-f]{2})+)")


def is_marked(text: str) -> bool:
    """Whether a text can be meant as UCUM only: it says so, or has brackets or braces.

    >>> is_marked("ucum:B"), is_marked("mm[Hg]"), is_marked("mmHg")
    (True, True, False)
    """
    return text.startswith(PREFIX) or any(mark in text for mark in "[]{}")


def as_unit(registry: Any, text: str) -> Any:
    """The unit of a UCUM code in a registry of units, None if the text is no code and does not say that it is one."""
    code = text.removeprefix(PREFIX)
    if code != text:
        check(code)
    if not is_ucum(code):
        return None
    if code in _SAME:
        return registry.parse_units(_SAME[code])
    return registry.parse_units(_defined(registry, code))


def define_named(registry: Any, text: str) -> None:
    """Let a registry know the units in a text that another one spelled."""
    for name in _NAME.findall(text):
        code = re.sub(r"_([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), name)
        if is_ucum(code):
            _defined(registry, code)


def _defined(registry: Any, code: str) -> str:
    """The name of a code's unit, which holds the code itself: another process can read it."""
    name = "ucum_" + re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):02x}", code)
    if name not in registry:
        scale, offset, powers = _measured(registry, code)
        _define(registry, name, scale, offset, powers)
    return name


def _measured(registry: Any, code: str) -> tuple[Fraction, Fraction, dict[str, int]]:
    """Factor, offset and powers of units of the registry."""
    found = linear(code)
    if found is None:  # a curve: known to itself and its multiples only
        parts = [part for part in parse(code) if not isinstance(part.of, int)]
        return _multiple(code), Fraction(0), {_base(registry, parts[0].of.atom.code): 1}  # type: ignore[union-attr]
    return found.factor, found.offset, {_base(registry, name): power for name, power in found.powers}


def _multiple(code: str) -> Fraction:
    factor = Fraction(1)
    for part in parse(code):
        factor *= _factor(part)
    return factor


def _factor(part: UnitPart) -> Fraction:
    return Fraction(part.of) ** part.exponent if isinstance(part.of, int) else part.of.prefix


def _base(registry: Any, code: str) -> str:
    """The unit of the registry for a base of UCUM; one that only UCUM knows is a dimension of its own."""
    if code in _BASES:
        return _BASES[code]
    name = "ucum_base_" + re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):02x}", code)
    if name not in registry:
        own = re.sub(r"\W", "_", code.strip("[]"))
        _define(registry, name, Fraction(1), Fraction(0), {f"[{own}]": 1})
    return name


def _define(registry: Any, name: str, scale: Fraction, offset: Fraction, powers: dict[str, int]) -> None:
    from pint.facets.nonmultiplicative.definitions import OffsetConverter
    from pint.facets.plain import ScaleConverter, UnitDefinition

    converter = OffsetConverter(scale, offset) if offset else ScaleConverter(scale)  # type: ignore[arg-type]
    registry.define(UnitDefinition(name, None, (), converter, registry.UnitsContainer(powers)))
