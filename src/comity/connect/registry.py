"""Which connectors there are: our own, and those that other packages bring under `comity.connectors`.

An entry point has the kind as its name and gives a `Connector`. One kind may stand for a source and for a sink, in one
connector or in two: `webhook` receives in the one place and sends in the other.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from comity.connect.port import Connector, Setting, Sink, Source
from comity.connect.specs import SinkSpec, SourceSpec
from comity.document import did_you_mean
from comity.errors import ComityError, Faults, Misuse, Permanent, Place
from comity.event.formats.jsonlines import TypeLookup
from comity.event.taxonomy import Taxonomy

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from comity.connect.frames import FrameSource
    from comity.language.language import Language

Side = Literal["source", "sink"]

GROUP = "comity.connectors"
"""The group of entry points of plugins."""

_PACKAGE = "comity.connect.connectors"
_BUILT_IN: Mapping[Side, Mapping[str, str]] = {
    "source": {
        "files": "files",
        "stdin": "standard",
        "webhook": "webhook.source",
        "memory": "memory.source",
        "kafka": "frames.kafka",
        "table": "frames.table",
        "jdbc": "frames.jdbc",
        "rate": "frames.rate",
    },
    "sink": {"stdout": "stdout", "webhook": "webhook.sink", "memory": "memory.sink"},
}


def connector(kind: str, side: Side = "source") -> Connector:
    """The connector of a kind; raises `Misuse` with a hint when there is none.

    >>> connector("files").main_option
    'path'
    >>> connector("flies")
    Traceback (most recent call last):
    comity.errors.Misuse: there is no source of kind `flies` [unknown-connector]
    hint: did you mean `files`?
    """
    built_in = _BUILT_IN[side].get(kind)
    if built_in is not None:
        found: Connector = importlib.import_module(f"{_PACKAGE}.{built_in}").CONNECTOR
        return found
    for plugin in _plugins(kind):
        if getattr(plugin, side) is not None or (side == "source" and plugin.frames is not None):
            return plugin
    hint = did_you_mean(kind, kinds(side)) or f"there are: {', '.join(sorted(kinds(side)))}"
    raise Misuse(f"there is no {side} of kind `{kind}`", code="unknown-connector", hint=hint)


def kinds(side: Side = "source") -> frozenset[str]:
    """The kinds that files may name, those of plugins without looking whether they have this side.

    >>> sorted(kinds("source") & {"files", "stdin", "webhook", "memory"})
    ['files', 'memory', 'stdin', 'webhook']
    """
    return frozenset(_BUILT_IN[side]) | {point.name for point in entry_points(group=GROUP)}


def as_mapping(kind: str, options: Any, side: Side = "source") -> Mapping[str, Any]:
    """The options as a mapping, where a file may write the main option alone, or nothing.

    >>> as_mapping("files", "events")
    {'path': 'events'}
    """
    if isinstance(options, Mapping):
        return options
    if options is None:
        return {}
    main = connector(kind, side).main_option
    if main is None:
        raise Misuse(f"the options of `{kind}` are a mapping", code="bad-value")
    return {main: options}


def read_options(kind: str, options: Any, side: Side = "source") -> BaseModel:
    """The options as the connector's model; raises `Faults` whose places have the path of the option.

    >>> read_options("files", "events").path
    'events'
    >>> read_options("files", {"path": "events", "folow": True})
    Traceback (most recent call last):
    comity.errors.Faults: folow: unknown key `folow` [unknown-key]
    hint: did you mean `follow`?
    """
    from pydantic import ValidationError

    model = connector(kind, side).options
    try:
        return model.model_validate(dict(as_mapping(kind, options, side)))
    except ValidationError as error:
        raise Faults([_fault(one, model) for one in error.errors()]) from None


def open_source(
    spec: SourceSpec,
    base: Path,
    *,
    types: Taxonomy | TypeLookup | None = None,
    require_time: bool = False,
) -> Source:
    """The source of a spec, ready for `open(position)`. Relative paths in its options begin at `base`."""
    found = connector(spec.kind, "source")
    options = read_options(spec.kind, spec.options, "source")
    if found.source is None:
        if found.frames is not None:
            hint = "run it with `comity run`, without --engine local"
            raise Misuse(f"`{spec.kind}` is read by Spark only", code="read-by-spark", hint=hint)
        raise Misuse(f"`{spec.kind}` is no source", code="unknown-connector")
    return found.source(options, Setting(spec.name, spec.domain, base, types, require_time))


def is_read_by_spark(kind: str) -> bool:
    """Whether sources of a kind are read by Spark itself.

    >>> is_read_by_spark("kafka"), is_read_by_spark("files")
    (True, False)
    """
    return connector(kind, "source").frames is not None


def frame_source(spec: SourceSpec, base: Path) -> FrameSource:
    """What Spark reads for the source of a spec. Relative paths in its options begin at `base`."""
    found = connector(spec.kind, "source")
    if found.frames is None:
        raise Misuse(f"`{spec.kind}` is not read by Spark", code="unknown-connector")
    return found.frames(read_options(spec.kind, spec.options, "source"), Setting(spec.name, spec.domain, base))


def source_language(spec: SourceSpec) -> Language:
    """The language of filters that the source of a spec understands: one of its own, or a known one by its name."""
    from comity.language.languages import language  # it takes a while to import, and most commands ask nobody

    found = connector(spec.kind, "source")
    if found.language is not None:
        return found.language(read_options(spec.kind, spec.options, "source"))
    return language(found.capability.filters)


def open_sink(spec: SinkSpec, base: Path) -> Sink:
    """The sink of a spec, ready for messages. Relative paths in its options begin at `base`."""
    found = connector(spec.kind, "sink")
    options = read_options(spec.kind, spec.options, "sink")
    if found.sink is None:
        raise Misuse(f"`{spec.kind}` is no sink", code="unknown-connector")
    return found.sink(options, Setting(spec.name, spec.domain, base))


def _plugins(kind: str) -> Iterator[Connector]:
    for point in entry_points(group=GROUP, name=kind):
        try:
            found = point.load()
        except Exception as error:  # the code of a plugin may fail in any way
            message = f"the plugin of connector `{kind}` cannot be loaded: {error}"
            raise Permanent(message, code="broken-connector", hint=f"it is {point.value}") from error
        if not isinstance(found, Connector):
            message = f"the plugin of connector `{kind}` gives no Connector"
            raise Permanent(message, code="broken-connector", hint=f"it is {point.value}")
        yield found


def _fault(detail: ErrorDetails, model: type[BaseModel]) -> ComityError:
    path = ".".join(str(step) for step in detail["loc"])
    place = Place(path=path or None)
    match detail["type"]:
        case "extra_forbidden":
            hint = did_you_mean(path, model.model_fields)
            return Misuse(f"unknown key `{path}`", code="unknown-key", place=place, hint=hint)
        case "missing":
            return Misuse(f"`{path}` is missing", code="missing-key", place=place)
    reason = detail["msg"].removeprefix("Value error, ")
    return Misuse(f"`{path}`: {reason}" if path else reason, code="bad-value", place=place)
