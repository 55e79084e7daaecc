"""Sources and sinks in domain files: `name: {kind: options}`, checked against the connector of the kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from comity.connect.registry import Side, as_mapping, connector, kinds, read_options
from comity.connect.specs import SinkSpec, SourceSpec
from comity.document import Document
from comity.errors import ComityError, Faults

Spec = TypeVar("Spec", SourceSpec, SinkSpec)
_Path = tuple[str, ...]

SOURCES_KEY, SINKS_KEY = "sources", "deliver"
_NAME = re.compile(r"[^\W\d]\w*")


def read_sources(document: Document, domain: str) -> tuple[SourceSpec, ...]:
    """The sources that a domain file names; raises `Faults` with everything that is wrong with them."""
    return _read(document, domain, SOURCES_KEY, "source", SourceSpec)


def read_sinks(document: Document, domain: str) -> tuple[SinkSpec, ...]:
    """Where a domain file has its notifications go; raises `Faults` with everything that is wrong with them."""
    return _read(document, domain, SINKS_KEY, "sink", SinkSpec)


def _read(
    document: Document, domain: str, key: str, side: Side, make: Callable[[str, str, str, Mapping[str, Any]], Spec]
) -> tuple[Spec, ...]:
    given = document.data.get(key)
    if given is None:
        return ()
    if not isinstance(given, dict):
        hint = f"write `{key}:` and below it `name: {{kind: options}}`, indented"
        raise document.fault(f"`{key}` is a mapping of names", (key,), code="bad-value", hint=hint)
    found: list[Spec] = []
    faults: list[ComityError] = []
    for name, value in given.items():
        wrong = list(_faults(document, (key, name), value, side))
        faults += wrong
        if not wrong:
            ((kind, options),) = value.items()
            found.append(make(name, domain, kind, as_mapping(kind, options, side)))
    if faults:
        raise Faults(faults)
    return tuple(found)


def _faults(document: Document, path: _Path, value: Any, side: Side) -> Iterator[ComityError]:
    name = path[-1]
    if not _NAME.fullmatch(name):
        hint = "use letters, digits and underscores, and no digit in front"
        yield document.fault(f"`{name}` cannot name a {side}", path, code="bad-name", key=True, hint=hint)
    if not isinstance(value, dict) or len(value) != 1:
        hint = f"write `{name}: {{kind: options}}`, with one of the kinds {', '.join(sorted(kinds(side)))}"
        yield document.fault(f"a {side} has one kind", path, code="bad-value", hint=hint)
        return
    ((kind, options),) = value.items()
    try:
        connector(kind, side)
    except ComityError as error:
        yield document.fault(error.message, (*path, kind), code=error.code, key=True, hint=error.hint)
        return
    yield from _option_faults(document, (*path, kind), options, side)


def _option_faults(document: Document, path: _Path, options: Any, side: Side) -> Iterator[ComityError]:
    """What the connector has against its options, each fault at the option in the file."""
    try:
        read_options(path[-1], options, side)
    except Faults as found:
        for error in found.errors:
            yield _placed(document, path, error)
    except ComityError as error:
        yield document.fault(error.message, path, code=error.code, hint=error.hint)


def _placed(document: Document, path: _Path, error: ComityError) -> ComityError:
    option = error.place.path if error.place else None
    at = (*path, *option.split(".")) if option else path
    return document.fault(error.message, at, code=error.code, key=error.code == "unknown-key", hint=error.hint)
