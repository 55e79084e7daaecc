"""Parquet: a scan skips what its predicate rules out, by the statistics of row groups and then row by row."""

from __future__ import annotations

from dataclasses import replace

from comity.event.kinds import Kind
from comity.event.types import ENVELOPE
from comity.expression.render import render_path
from comity.expression.tree import Expression
from comity.language.capability import EQUALITY, LISTS, NOTHING, ORDER, PRESENCE, RANGES, MissingPolicy, for_kinds
from comity.language.language import Language
from comity.language.sql import sql_text

_SCALARS = (Kind.INT, Kind.FLOAT, Kind.TIMESTAMP)

CAPABILITY = replace(
    NOTHING,
    name="parquet",
    operators={
        **for_kinds(Kind, PRESENCE),
        **for_kinds(_SCALARS, EQUALITY, ORDER, RANGES, LISTS, PRESENCE),
        **for_kinds([Kind.STRING], EQUALITY, ORDER, RANGES, LISTS, PRESENCE, ["starts with"]),
        **for_kinds([Kind.BOOL], EQUALITY, PRESENCE),
    },
    conjunction=True,
    disjunction=True,
    max_terms=200,
    nested_paths=True,
    missing=MissingPolicy.UNKNOWN,
    envelope=frozenset(ENVELOPE),
)


def native_text(native: Expression) -> str:
    """The predicate of the scan, as SQL."""
    return sql_text(native, render_path)


PARQUET = Language(CAPABILITY, native_text)
