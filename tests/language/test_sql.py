"""Native text in SQL, run by a database: it selects the events for which the native part holds."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import Kind
from comity.event.types import AttributeType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.parse import parse
from comity.expression.tree import TRUE
from comity.language.parquet import PARQUET
from comity.language.sql import sql_text, sql_value
from comity.testing.filters import BASE, typed_filters, typed_scope
from comity.testing.samples import events

_TYPES = {Kind.INT: "INTEGER", Kind.BOOL: "INTEGER", Kind.FLOAT: "REAL", Kind.STRING: "TEXT"}


def _columns(attributes: Any, prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], AttributeType]:
    found: dict[tuple[str, ...], AttributeType] = {}
    for name, declared in attributes.items():
        found[(*prefix, name)] = declared
        found |= _columns(declared.attributes, (*prefix, name))
    return found


COLUMNS = _columns(BASE.attributes)


def _name(path: tuple[str, ...]) -> str:
    return f'"{".".join(path)}"'


@pytest.fixture(scope="module")
def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = ON")
    columns = ", ".join(f"{_name(path)} {_TYPES.get(one.kind, 'BLOB')}" for path, one in COLUMNS.items())
    connection.execute(f"CREATE TABLE events (number INTEGER, {columns})")
    return connection


def _row(event: Event, number: int) -> list[Any]:
    values = [event.get(path) for path in COLUMNS]
    return [number, *("struct" if isinstance(value, dict) else value for value in values)]


def _is_storable(event: Event) -> bool:
    """The database cuts texts at a zero character in some of its functions."""
    return not any("\0" in value for path in COLUMNS if isinstance(value := event.get(path), str))


@given(typed_filters(1), st.lists(events(BASE).filter(_is_storable), min_size=1, max_size=5))
def test_sql_text_selects_what_the_native_part_holds_for(
    database: sqlite3.Connection, texts: list[str], some: list[Event]
) -> None:
    native = PARQUET.split(bind_text(texts[0], typed_scope()), type=BASE).native
    database.execute("DELETE FROM events")
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    database.executemany(f"INSERT INTO events VALUES ({marks})", [_row(one, number) for number, one in enumerate(some)])
    found = database.execute(f"SELECT number FROM events WHERE {sql_text(native, _name)} ORDER BY number")
    assert [number for (number,) in found] == [number for number, one in enumerate(some) if holds(native, one)]


def test_the_native_parts_of_these_filters_say_something() -> None:
    texts = ["x > 1", "s like 'a%' or y in (1, 2)", "not (t = 'a')", "d.n between 1 and 2 and exists d", "not c"]
    for text in texts:
        assert PARQUET.split(bind_text(text, typed_scope()), type=BASE).native != TRUE


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("x = 'it''s'", "x = 'it''s'"),
        ("x not like 'a_' and not (y > 1 or z < 2)", "x NOT LIKE 'a_' AND NOT (y > 1 OR z < 2)"),
        ("x contains '50%'", "x LIKE '%50\\%%'"),
        ("x between 1 and 2 or y not in ('a', 'b')", "x BETWEEN 1 AND 2 OR y NOT IN ('a', 'b')"),
        ("true", "TRUE"),
        ("x matches 'a.*'", "x matches 'a.*'"),
    ],
)
def test_sql_text(text: str, sql: str) -> None:
    assert sql_text(parse(text), ".".join) == sql


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "TIMESTAMP '2026-01-31T12:00:00Z'"),
        (timedelta(seconds=2), "INTERVAL '2000000' MICROSECOND"),
        (b"\x01\xff", "X'01FF'"),
        (True, "TRUE"),
        (-1.5, "-1.5"),
    ],
)
def test_sql_value(value: Any, sql: str) -> None:
    assert sql_value(value) == sql
