"""A stylesheet as a mapping: attributes that are simply made become expressions, the others run the stylesheet."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from comity.contract.mapping import Mapping, Path
from comity.contract.shape import leaves
from comity.contract.xslt.form import ENVELOPE_PARTS, read_attributes, write_record
from comity.contract.xslt.run import Stylesheet
from comity.contract.xslt.simple import Recognised, is_event_of, recognise
from comity.errors import Misuse, Place
from comity.event.kinds import Kind, Value
from comity.event.schemas.names import identifier
from comity.event.schemas.xml_text import parse_xml
from comity.event.types import ENVELOPE, ENVELOPE_NAME, AttributeType, EventType
from comity.expression.extensions import ExtensionFunction
from comity.expression.tree import Attribute, Expression, Extension


@dataclass(frozen=True, slots=True)
class ReadStylesheet:
    """The mapping, and why filters on some of its attributes cannot be translated: their values are computed first."""

    mapping: Mapping
    opaque: AbstractMapping[Path, str]
    """By attribute of the target, what in the stylesheet is no expression of ours."""


def read_stylesheet(
    given: str | FilePath,
    source: EventType,
    target: EventType,
    functions: AbstractMapping[str, ExtensionFunction] | None = None,
) -> Mapping:
    """The mapping that a stylesheet is, from a file or a text."""
    return examine_stylesheet(given, source, target, functions).mapping


def examine_stylesheet(
    given: str | FilePath,
    source: EventType,
    target: EventType,
    functions: AbstractMapping[str, ExtensionFunction] | None = None,
    *,
    simple: bool = True,
) -> ReadStylesheet:
    """The mapping, and which attributes are opaque; with `simple=False` the stylesheet is run for every attribute.

    The envelope of an event stays as it is, whatever the stylesheet makes of `id`, `src` and `ts`.
    """
    stylesheet = Stylesheet.of(given, functions)
    found = recognise(stylesheet, source, target) if simple else Recognised(None, "it was not looked into")
    expressions: list[tuple[Path, Expression]] = []
    opaque: dict[Path, str] = {}
    for path, declared in leaves(target).items():
        expression = found.expression(path)
        if isinstance(expression, str):
            opaque[path] = expression
            expression = _run_for(stylesheet, source, target, path, declared)
        if expression is not None:
            expressions.append((path, expression))
    _check_mapped(found, target, stylesheet)
    return ReadStylesheet(Mapping(source, target, tuple(expressions)), opaque)


def _check_mapped(found: Recognised, target: EventType, stylesheet: Stylesheet) -> None:
    for name, declared in target.attributes.items():
        if found.lacks(name) and not declared.optional:
            hint = f"add <{identifier(name)}>…</{identifier(name)}>, or make the attribute optional"
            raise _misused(f"nothing maps to the mandatory attribute {name!r}", "unmapped", stylesheet, hint)
    for name in found.unknown:
        known = ", ".join(target.attributes)
        raise _misused(f"{target.name} has no attribute {name!r}", "unknown-attribute", stylesheet, f"known: {known}")


def _misused(message: str, code: str, stylesheet: Stylesheet, hint: str) -> Misuse:
    return Misuse(message, code=code, place=Place(stylesheet.file) if stylesheet.file else None, hint=hint)


def _run_for(
    stylesheet: Stylesheet, source: EventType, target: EventType, path: Path, declared: AttributeType
) -> Extension:
    """A call of the stylesheet for one attribute, over everything that it can see of an event."""
    inputs: list[tuple[Path, Kind]] = [((ENVELOPE_NAME, name), ENVELOPE[name].kind) for name in ENVELOPE_PARTS]
    inputs += [(one, attribute.kind) for one, attribute in leaves(source).items()]
    body = Transformed(Transformation(stylesheet, source, tuple(one for one, _ in inputs), target), path)
    key = hashlib.sha256(stylesheet.text.encode()).hexdigest() + "/" + ".".join(path)
    kinds = tuple(frozenset({kind}) for _, kind in inputs)
    pure = all(function.pure for function in stylesheet.functions)
    name = f"xslt_{'_'.join(path)}"
    function = ExtensionFunction(name, kinds, declared.kind, body, key, pure=pure, takes_missing=True)
    return Extension(name, function, tuple(Attribute(one) for one, _ in inputs))


@dataclass(frozen=True, slots=True)
class Transformation:
    """A stylesheet between two types, and what it sees of an event. It can be sent to other processes."""

    stylesheet: Stylesheet
    source: EventType
    inputs: tuple[Path, ...]
    target: EventType

    def run(self, values: tuple[Value | None, ...]) -> dict[str, Any] | None:
        """The attributes of the event that is made of these values, None when the stylesheet fails or makes another."""
        envelope: dict[str, Value] = {}
        data: dict[str, Any] = {}
        for path, value in zip(self.inputs, values, strict=True):
            if value is not None and path[0] == ENVELOPE_NAME:
                envelope[path[1]] = value
            elif value is not None:
                _put(data, path, value)
        try:
            text = self.stylesheet.run(write_record(self.source.name, envelope, data, self.source))
            root = parse_xml(text)
        except Misuse:
            return None
        return read_result(root, self.target) if is_event_of(root, self.target) else None


@dataclass(frozen=True, slots=True)
class Transformed:
    """Gives one attribute of what a stylesheet makes of an event."""

    transformation: Transformation
    path: Path

    def __call__(self, *values: Value | None) -> Value | None:
        found: Any = _run_once(self.transformation, values)
        for name in self.path:
            found = found.get(name) if isinstance(found, dict) else None
        return found


def _put(data: dict[str, Any], path: Path, value: Value) -> None:
    for name in path[:-1]:
        data = data.setdefault(name, {})
    data[path[-1]] = value


def _run_once(transformation: Transformation, values: tuple[Value | None, ...]) -> dict[str, Any] | None:
    """The result for an event, which its attributes ask for one after the other."""
    try:
        return _remembered(transformation, values)
    except TypeError:  # a list cannot be a key
        return transformation.run(values)


@lru_cache(maxsize=256)
def _remembered(transformation: Transformation, values: tuple[Value | None, ...]) -> dict[str, Any] | None:
    return transformation.run(values)


def read_result(root: Any, target: EventType) -> dict[str, Any]:
    """The attributes in an element; a text alone is the only attribute of a type that has one."""
    single = list(target.attributes.items())
    if len(root) == 0 and (root.text or "").strip() and len(single) == 1:
        wrapped = parse_xml("<a/>")
        root.tag = identifier(single[0][0])
        wrapped.append(root)
        root = wrapped
    return read_attributes(root, target.attributes)
