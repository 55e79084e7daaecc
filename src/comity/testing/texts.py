"""Generated texts of expressions and filters, over attributes as federation files declare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

Declared = dict[str, Any]
"""An attribute as a file declares it, in full."""
Paths = Mapping[str, Declared]
"""Every attribute by its dotted path, those inside structs and points too."""

_ORDER = ("=", "!=", "<", "<=", ">", ">=")
_INTS = ("-3", "-1", "0", "1", "2", "3", "7", "9007199254740993")
_FLOATS = ("-2.5", "0.0", "0.5", "1.5", "3.0", "(1e300)")
_TEXTS = ("", "a", "b", "ab", "Straße", "😀", "a''b")
_LIKE = ("%", "a%", "%b", "_", "%a%", "a_")
_REGEX = ("a*", "[ab]+", ".*ß.*", "a|😀", "")
_SPANS = ("5 min", "1 d", "0 s", "-90 s")
_MOMENTS = ("2024-02-29T12:00:00Z", "1970-01-01T00:00:00Z", "2026-06-01T00:00:00.000001Z")
_UNITS = {"degC": ("degC", "degF", "kelvin"), "km": ("km", "m")}
_DIMENSION = {unit: units for units in _UNITS.values() for unit in units}


def paths_of(attributes: Mapping[str, Declared], prefix: str = "", *, optional: bool = False) -> dict[str, Declared]:
    """Every attribute by its path.

    >>> sorted(paths_of({"place": {"kind": "point"}}))
    ['place', 'place.x', 'place.y']
    """
    found: dict[str, Declared] = {}
    for name, declared in attributes.items():
        found[prefix + name] = declared
        inner = declared.get("attributes", {})
        if declared["kind"] == "point":
            inner = {"x": {"kind": "float"}, "y": {"kind": "float"}}
        found |= paths_of(inner, f"{prefix}{name}.")
    return found


# Values


def value_text(chance: Random, declared: Declared, paths: Paths, name: str) -> str:
    """An expression that gives a value for an attribute of this kind and unit."""
    makers = _MAKERS.get(declared["kind"])
    if makers is None:  # lists, bytes and structs, whose shape goes with the name
        return name
    return makers(_Source(chance, paths, declared.get("unit")))


class _Source:
    """Chooses among what there is of a kind."""

    def __init__(self, chance: Random, paths: Paths, unit: str | None) -> None:
        self.chance, self.paths, self.unit = chance, paths, unit

    def attribute(self, kind: str, constants: Sequence[str], unit: str | None = None) -> str:
        """The path of an attribute, or a constant if there is none, and sometimes so."""
        fitting = [
            path
            for path, one in self.paths.items()
            if one["kind"] == kind and _DIMENSION.get(one.get("unit", "")) == _DIMENSION.get(unit or "")
        ]
        if fitting and self.chance.random() < 0.9:
            return self.chance.choice(fitting)
        return self.chance.choice(constants)

    def one_of(self, *texts: str) -> str:
        return self.chance.choice(texts)

    def condition(self) -> str:
        return filter_text(self.chance, self.paths, (), depth=0)

    @property
    def int(self) -> str:
        return self.attribute("int", _INTS)

    @property
    def float(self) -> str:
        return self.attribute("float", _FLOATS)

    @property
    def text(self) -> str:
        return self.attribute("string", [f"'{text}'" for text in _TEXTS])

    @property
    def moment(self) -> str:
        return self.attribute("timestamp", (*_MOMENTS, "event.time"))

    @property
    def span(self) -> str:
        return self.attribute("duration", _SPANS)


def _int(source: _Source) -> str:
    a, b = source.int, source.int
    return source.one_of(
        a,
        a,
        f"{a} * 2 + 1",
        f"{a} + {b}",
        f"{a} % 3",
        f"floor({source.float})",
        f"length({source.text})",
        f"coalesce({a}, {b})",
        f"if {source.condition()} then {a} else {b}",
        f"lookup('levels', {source.text})",
        f"year({source.moment})",
    )


def _float(source: _Source) -> str:
    if source.unit is not None:
        return _measured(source, source.unit)
    a, b = source.float, source.float
    return source.one_of(
        a,
        a,
        source.int,
        f"{a} * 2.5 - 1",
        f"{a} / {b}",
        f"{source.int} / {source.int}",
        f"abs({a})",
        f"coalesce({a}, {b})",
        f"if {source.condition()} then {a} else {b}",
        f"{source.span} / 1 min",
    )


def _measured(source: _Source, unit: str) -> str:
    """A number with a unit, from others that are measured in one that can be converted."""
    constant = f"{source.one_of('20', '0.5')} {source.chance.choice(_DIMENSION[unit])}"
    a = source.attribute("float", [constant], unit)
    return source.one_of(a, a, f"coalesce({a}, {constant})", f"if {source.condition()} then {a} else {constant}")


def _string(source: _Source) -> str:
    a, b = source.text, source.text
    return source.one_of(
        a,
        a,
        f"{a} + '-' + {b}",
        f"lower({a})",
        f"upper({a})",
        f"substring({a}, 1, 2)",
        f"replace({a}, 'a', 'ä')",
        f"coalesce({a}, {b})",
        f"if {source.condition()} then {a} else {b}",
        f"lookup('names', {a})",
        "event.source",
        "event.subject",
    )


def _bool(source: _Source) -> str:
    return source.one_of(source.attribute("bool", ("true", "false")), f"({source.condition()})")


def _timestamp(source: _Source) -> str:
    a = source.moment
    return source.one_of(a, a, f"{a} + {source.span}", f"{a} - 1 h", f"coalesce({a}, event.time)")


def _duration(source: _Source) -> str:
    a = source.span
    return source.one_of(a, a, f"{a} * 2", f"{a} / 3", f"{a} + {source.span}", f"{source.moment} - {source.moment}")


def _point(source: _Source) -> str:
    return source.one_of(source.attribute("point", ("point(0, 1.5)",)), f"point({source.float}, {source.int})")


_MAKERS: Mapping[str, Callable[[_Source], str]] = {
    "int": _int,
    "float": _float,
    "string": _string,
    "bool": _bool,
    "timestamp": _timestamp,
    "duration": _duration,
    "point": _point,
}


# Filters


def filter_text(chance: Random, paths: Paths, types: Sequence[str], depth: int = 2) -> str:
    """A filter; `types` can be asked for."""
    if depth == 0 or chance.random() < 0.3:
        return _atom(chance, paths, types)
    inner = [filter_text(chance, paths, types, depth - 1) for _ in range(2)]
    return chance.choice((f"({inner[0]} and {inner[1]})", f"({inner[0]} or {inner[1]})", f"not ({inner[0]})"))


def _atom(chance: Random, paths: Paths, types: Sequence[str]) -> str:
    if not paths or chance.random() < 0.15:
        return _envelope_test(chance, types)
    path = chance.choice(list(paths))
    if chance.random() < 0.15 and not path.endswith((".x", ".y")):
        return chance.choice((f"exists {path}", f"not exists {path}"))
    return _test(chance, path, paths)


def _envelope_test(chance: Random, types: Sequence[str]) -> str:
    tests = ("event.sequence > 3", "event.subject = 'a'", "event.source starts with '/b'", "event.mode != 'live'")
    asked = tuple(f"is {name}" for name in types)
    return chance.choice((*tests, *asked, "event.time >= 2024-02-29T12:00:00Z", "exists event.version", "true"))


def _test(chance: Random, path: str, paths: Paths) -> str:
    declared, order, word = paths[path], chance.choice(_ORDER), chance.choice(("", "not "))
    match declared["kind"]:
        case "int" | "float":
            return _number_test(chance, path, declared.get("unit"), paths)
        case "string":
            text = chance.choice(_TEXTS)
            return chance.choice(
                (
                    f"{path} {order} '{text}'",
                    f"{path} {word}in ('{text}', 'b')",
                    f"{path} {word}like '{chance.choice(_LIKE)}'",
                    f"{path} {word}matches '{chance.choice(_REGEX)}'",
                    f"{path} {word}{chance.choice(('contains', 'starts with', 'ends with'))} '{text}'",
                    f"lower({path}) = 'ab'",
                    f"length({path}) {order} 1",
                )
            )
        case "bool":
            return chance.choice((path, f"{path} = false", f"{path} != true"))
        case "timestamp":
            moment = chance.choice((*_MOMENTS, "event.time"))
            return chance.choice((f"{path} {order} {moment}", f"{path} + 1 h {order} {moment}", f"hour({path}) = 12"))
        case "duration":
            return chance.choice((f"{path} {order} {chance.choice(_SPANS)}", f"{path} {word}between -1 d and 5 min"))
        case "point":
            return chance.choice((f"{path}.x {order} 0", f"{path} = point(0, 1.5)"))
        case "list" if declared["of"]["kind"] == "string":
            return f"{path} {word}contains 'a'"
    return f"exists {path}"


def _number_test(chance: Random, path: str, unit: str | None, paths: Paths) -> str:
    order, word = chance.choice(_ORDER), chance.choice(("", "not "))
    if unit is not None:
        return f"{path} {order} {chance.choice(('20', '68', '0.5'))} {chance.choice(_DIMENSION[unit])}"
    low, high = chance.choice(_INTS + _FLOATS), chance.choice(_INTS + _FLOATS)
    others = [one for one, declared in paths.items() if declared["kind"] == "int"] or ["1"]
    return chance.choice(
        (
            f"{path} {order} {low}",
            f"{path} {word}between {low} and {high}",
            f"{path} {word}in ({low}, {high}, 1)",
            f"{path} {order} {chance.choice(others)}",
            f"{path} * 2 + {chance.choice(others)} {order} {low}",
            f"{path} / {chance.choice(others)} > 0.5",
        )
    )
