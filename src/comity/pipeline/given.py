"""Events in a DataFrame that somebody hands in: raw columns, in which the envelope is found, or lines of JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from comity.errors import Misuse
from comity.event.formats.csv import ENVELOPE_COLUMNS
from comity.event.formats.rows import DATA
from comity.event.owners import Owners
from comity.pipeline.facts import NO_FACTS, ColumnRange, Facts
from comity.pipeline.line_numbers import BEGIN, FILE
from comity.pipeline.operands import quoted
from comity.pipeline.read import SourceRows, Tables

_LINES = "lines"
_MANDATORY = ("id", "source", "type", "time")
_ALIKE = ("source", "type", "subject", "mode", "typeversion")
"""Parts of the envelope that events may have in common, so that a text may be the value itself."""
TEXT_PARTS = ("id", *_ALIKE)


class EventColumns(TypedDict, total=False):
    """Where a DataFrame has the parts of events, if not in columns that are named like them.

    A text names a column. Where events may have a value in common (`source`, `type`, `subject`, `mode`, `typeversion`),
    a text that names no column is that value.
    """

    id: str | Column
    source: str | Column
    type: str | Column
    time: str | Column
    subject: str | Column
    sequence: str | Column
    mode: str | Column
    typeversion: str | Column
    data: str | Column
    """The struct, the map or the JSON text with the attributes; without it they are all the other columns."""
    lines: str | Column
    """The one column that has whole events, as lines of JSON; then there is nothing else to say."""


@dataclass(frozen=True, slots=True)
class GivenEvents:
    """A DataFrame of events, and where in it the parts of events are."""

    table: DataFrame
    """With a column for each part that was named, before the columns that it had."""
    columns: tuple[str, ...]
    """The columns that it had."""
    named: frozenset[str]
    """The parts that were named."""
    constant_type: str | None = None

    @classmethod
    def of(cls, events: DataFrame, given: EventColumns) -> GivenEvents:
        """The events; what is named is looked up with the settings of the session."""
        named = _checked(given)
        columns = tuple(events.columns)
        found = {name: _column(name, value, columns).alias(_name(name)) for name, value in named.items()}
        alike = named.get("type")
        constant = alike if isinstance(alike, str) and alike not in columns else None
        return cls(events.select(*found.values(), "*"), columns, frozenset(named), constant)

    @property
    def line(self) -> Column | None:
        """The column of lines; None for raw columns."""
        return quoted(_name(_LINES)) if _LINES in self.named else None

    def tables(self, types: Iterable[str], domain: str | None = None, only: Collection[str] | None = None) -> Tables:
        """The events as tables of a batch; a type that all of them have must be one of these. With a `domain` they may
        be of its types only; `only` are the attributes that rows may have.
        """
        if self.line is not None:
            lines = self.table.select(self.line.alias("value"))
            if domain is None:
                return Tables(lines=lines)
            place = F.lit(domain).alias(FILE), F.lit(None).cast("long").alias(BEGIN)
            return Tables(lines=lines.select("value", *place), owners=Owners.of([(domain, domain)]))
        self.check_parts(_MANDATORY)
        if self.constant_type is not None:
            _check_type(self.constant_type, sorted(types))
        rows = self.table.select(*(column.alias(name) for name, column in self.parts(only).items()))
        domains = None if domain is None else frozenset({domain})
        return Tables(rows=(SourceRows(rows, _facts(self.constant_type), domains, of_files=False),))

    @property
    def added(self) -> list[str]:
        """The columns that it did not have."""
        return [_name(part) for part in self.named]

    def parts(self, only: Collection[str] | None = None) -> dict[str, Column]:
        """The envelope, and the attributes or only those of these names.

        If some part was named they are in a struct, so that an attribute may be named like a part of the envelope.
        """
        kinds = {field.name: field.dataType for field in self.table.schema}
        found: dict[str, Column] = {}
        for name in (*ENVELOPE_COLUMNS, DATA):
            if name in self.named:
                found[name] = _fitting(name, kinds[_name(name)])
            elif name in self.columns:
                found[name] = quoted(name)
        if DATA in found:
            return found
        others = [name for name in self.columns if name not in found or name in self.named]
        others = [name for name in others if only is None or name in only]
        if not self.named:
            return found | {name: quoted(name) for name in others}
        return found | ({DATA: F.struct(*(quoted(name) for name in others))} if others else {})

    def check_parts(self, mandatory: Iterable[str]) -> None:
        """Refuse a table that lacks one of these parts of the envelope."""
        absent = [name for name in mandatory if name not in self.named and name not in self.columns]
        if absent:
            told = ", ".join(absent)
            message = f"no column is named like these parts of the envelope: {told}"
            hint = "say where they are: " + ", ".join(f"{name}={_EXAMPLES[name]}" for name in absent)
            raise Misuse(message, code="no-envelope", hint=hint)


def check_domain(domain: str | None, known: Iterable[str]) -> None:
    """Raise `Misuse` for a domain that the federation has not."""
    names = sorted(known)
    if domain is not None and domain not in names:
        hint = f"domains: {', '.join(names[:8])}"
        raise Misuse(f"there is no domain {domain!r}", code="unknown-domain", hint=hint)


_EXAMPLES = {"id": "'COLUMN'", "source": "'/NAME'", "type": "'DOMAIN.TYPE'", "time": "'COLUMN'"}


def _checked(given: EventColumns) -> Mapping[str, str | Column]:
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    known = [*ENVELOPE_COLUMNS, DATA, _LINES]
    for name, value in named.items():
        if name not in known:
            hint = f"known: {', '.join(known)}"
            raise Misuse(f"events have no part {name!r}", code="unknown-part", hint=hint)
        if not isinstance(value, str | Column):
            hint = "name a column, or give an expression of Spark"
            raise Misuse(f"{name} is neither a text nor a column", code="bad-usage", hint=hint)
    if _LINES in named and len(named) > 1:
        others = ", ".join(name for name in named if name != _LINES)
        hint = f"leave out {others}, or take lines apart before"
        raise Misuse("lines have whole events, envelope and all", code="bad-usage", hint=hint)
    return named


def _column(name: str, value: str | Column, columns: tuple[str, ...]) -> Column:
    if isinstance(value, Column):
        return value
    if value in columns:
        return quoted(value)
    if name in _ALIKE:
        return F.lit(value)
    close = get_close_matches(value, columns, 1) or columns[:8]
    hint = f"did you mean {close[0]!r}?" if len(close) == 1 else f"columns: {', '.join(close)}"
    raise Misuse(f"{name} is to be in a column {value!r}, which is not there", code="unknown-column", hint=hint)


def _check_type(name: str, known: list[str]) -> None:
    if name not in known:
        hint = f"a column of this name is not there either; types: {', '.join(known[:8])}"
        raise Misuse(f"there is no type {name!r}", code="unknown-type", hint=hint)


def _fitting(name: str, kind: T.DataType) -> Column:
    """A part that was named, as the envelope has it: keys of tables are often numbers, and times dates."""
    column = quoted(_name(name))
    if name in TEXT_PARTS and not isinstance(kind, T.StringType):
        return column.cast("string")
    return column.cast(T.TimestampType()) if name == "time" and isinstance(kind, T.DateType) else column


def _name(part: str) -> str:
    """The column of a part that was named; no table has one that is named so."""
    return f"comity {part}"


def _facts(type: str | None) -> Facts:
    return NO_FACTS if type is None else Facts(frozenset({"type"}), {"type": ColumnRange(type, type)})
