"""Spark columns give what the reference evaluator gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import decode, encode
from comity.event.kinds import Kind, Point, kind_of, to_microseconds
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.evaluate import evaluate, holds
from comity.expression.kinds import kinds_of
from comity.expression.scope import Scope
from comity.expression.tree import Arithmetic, Attribute, Compare, Exists, Expression, Literal, Lookup, Not
from comity.pipeline.columns.columns import (
    AttributeColumns,
    OpenColumns,
    TypedColumns,
    compile_filter,
    compile_truth,
    compile_value,
    value_alternatives,
)
from comity.pipeline.wrap import wrap_open, wrap_typed
from comity.testing.expressions import (
    OPEN_PATHS,
    SAMPLE,
    events,
    filters,
    open_events,
    open_filters,
    open_values,
    value_expressions,
)

pytestmark = pytest.mark.spark

TYPED = TypedColumns(SAMPLE, SAMPLE.qualified_name)
OPEN = OpenColumns()
MANY = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.data_too_large,
        HealthCheck.too_slow,
        HealthCheck.large_base_example,
    ],
)


def typed(spark: SparkSession, found: Sequence[Event]) -> tuple[DataFrame, list[Event]]:
    lines = [encode(event) for event in found]
    frame = spark.createDataFrame([(line.decode(),) for line in lines], "value string").coalesce(1)
    return wrap_typed(frame, [SAMPLE]), _decoded(lines, {SAMPLE.qualified_name: SAMPLE}.get)


def untyped(spark: SparkSession, found: Sequence[Event]) -> tuple[DataFrame, list[Event]]:
    lines = [encode(event) for event in found]
    frame = spark.createDataFrame([(line.decode(),) for line in lines], "value string").coalesce(1)
    return wrap_open(frame, OPEN_PATHS), _decoded(lines, None)


def _decoded(lines: list[bytes], types: Any) -> list[Event]:
    found = [decode(line, types) for line in lines]
    assert all(isinstance(event, Event) for event in found), found
    return [event for event in found if isinstance(event, Event)]


def check_filters(frame: DataFrame, records: list[Event], nodes: Sequence[Expression], columns: Any) -> None:
    made = [
        make(node, columns).alias(f"{name}{index}") for index, node in enumerate(nodes) for name, make in MAKERS.items()
    ]
    for record, row in zip(records, frame.select(*made).collect(), strict=True):
        for index, node in enumerate(nodes):
            expected = holds(node, record)
            assert bool(row[f"filter{index}"]) is expected, (node, record)
            assert row[f"truth{index}"] is expected, (node, record)


MAKERS: dict[str, Callable[..., Column]] = {"filter": compile_filter, "truth": compile_truth}


def check_values(frame: DataFrame, records: list[Event], nodes: Sequence[Expression], columns: Any) -> None:
    kinds = [kind for kind in Kind if kind not in (Kind.STRUCT, Kind.LIST)]
    cells = [(index, node, kind) for index, node in enumerate(nodes) for kind in kinds]
    made = [
        collectable(compile_value(node, columns, kind), kind).alias(f"{kind}{index}") for index, node, kind in cells
    ]
    for record, row in zip(records, frame.select(*made).collect(), strict=True):
        for index, node, kind in cells:
            expected = evaluate(node, record)
            wanted = stored(expected) if kind_of(expected) is kind else None
            assert plain(row[f"{kind}{index}"], kind) == wanted, (node, kind, record)


def collectable(column: Column, kind: Kind) -> Column:
    """PySpark turns timestamps into local time, which fails at both ends of their range."""
    return F.unix_micros(column.cast("timestamp")) if kind is Kind.TIMESTAMP else column


def stored(value: Any) -> Any:
    return to_microseconds(value) if isinstance(value, datetime | timedelta) else value


def plain(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind is Kind.POINT:
        return Point(value.x, value.y)
    return bytes(value) if kind is Kind.BYTES else value


@MANY
@given(st.lists(filters(), min_size=10, max_size=40), st.lists(events(), min_size=5, max_size=25))
def test_filters_typed(spark: SparkSession, nodes: list[Expression], found: list[Event]) -> None:
    check_filters(*typed(spark, found), nodes, TYPED)


@MANY
@given(st.lists(open_filters(), min_size=10, max_size=25), st.lists(open_events(), min_size=5, max_size=25))
def test_filters_open(spark: SparkSession, nodes: list[Expression], found: list[Event]) -> None:
    check_filters(*untyped(spark, found), nodes, OPEN)


SCALARS = st.one_of(*(value_expressions(kind) for kind in Kind if kind not in (Kind.STRUCT, Kind.LIST)))


@MANY
@given(st.lists(SCALARS, min_size=10, max_size=30), st.lists(events(), min_size=5, max_size=20))
def test_values_typed(spark: SparkSession, nodes: list[Expression], found: list[Event]) -> None:
    check_values(*typed(spark, found), nodes, TYPED)


@MANY
@given(st.lists(open_values(), min_size=10, max_size=20), st.lists(open_events(), min_size=5, max_size=20))
def test_values_open(spark: SparkSession, nodes: list[Expression], found: list[Event]) -> None:
    check_values(*untyped(spark, found), nodes, OPEN)


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    ],
)
def test_filters_other_modes_of_spark(spark: SparkSession, settings: dict[str, str]) -> None:
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        nodes = [bind_text(text, Scope(type=SAMPLE)) for text in EDGES]
        check_filters(*typed(spark, EDGE_EVENTS), nodes, TYPED)
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


EDGES = [
    "count * total + 1 > 0",
    "-count < 0 or abs(count) < 0",
    "count + 5 + -5 = count or count * 2 * 0 = 0 or 5 + (count + total) > 0 or total * (2 * count) = 0",
    "span + 1 h + -1 h = span or span * 2 * 0 = span or since + (span + pause) > since",
    "count % total = 1 or count / total > 1.5",
    "not (heat * 10.0 > 0.0)",
    "heat / level > 0.0 or not (1.0 / (heat * 10.0) < 1.0)",
    "floor(heat) = count or ceil(heat * 2.0) >= 0",
    "count = heat or count < heat or not (total >= heat)",
    "count = 9007199254740993.0 or heat < 9007199254740993 or count < 9223372036854775808.0",
    "since + span > event.time or since - event.time < span",
    "span * 2.5 > 1 min or span / 0.5 < pause or span / pause > 1.0",
    "substring(name, count, total) = 'a' or name like 'a\\%%' or not (name matches '(a*)*b')",
]
EDGE_INTS = (0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63))
EDGE_FLOATS = (0.0, 0.5, 2.0**53, 2.0**63, -(2.0**63), 1.7e308)


def _edge_events() -> list[Event]:
    spans = (timedelta(), timedelta(days=3_000_000), timedelta(microseconds=2**63 - 1), timedelta(seconds=-1))
    found = []
    for index, (whole, real) in enumerate((whole, real) for whole in EDGE_INTS for real in EDGE_FLOATS):
        data = {
            "count": whole,
            "total": EDGE_INTS[index % 5],
            "heat": real,
            "level": EDGE_FLOATS[index % 4],
            "room": "attic",
            "name": ("a%b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "a", "aab")[index % 4],
            "since": datetime(9999, 12, 31, tzinfo=UTC) if index % 2 else datetime(2024, 5, 1, tzinfo=UTC),
            "span": spans[index % 4],
            "pause": spans[index % 3],
        }
        found.append(Event(str(index), "/a", SAMPLE.qualified_name, datetime(1, 1, 1, tzinfo=UTC), data))
    return [*found, Event("none", "/a", SAMPLE.qualified_name, data={"total": 0, "heat": 0.0, "room": ""})]


EDGE_EVENTS = _edge_events()


def test_filters_edges(spark: SparkSession) -> None:
    nodes = [bind_text(text, Scope(type=SAMPLE)) for text in EDGES]
    check_filters(*typed(spark, EDGE_EVENTS), [*nodes, *map(Not, nodes)], TYPED)


@MANY
@given(st.lists(SCALARS, min_size=20, max_size=40), st.lists(open_values(), min_size=20, max_size=40))
def test_alternatives_are_kinds_of_the_one_inference(
    spark: SparkSession, typed_nodes: list[Expression], open_nodes: list[Expression]
) -> None:
    """That none is left out which a value can have is shown by comparing values."""
    both: tuple[tuple[AttributeColumns, list[Expression]], ...] = ((TYPED, typed_nodes), (OPEN, open_nodes))
    for columns, nodes in both:
        for node in nodes:
            inferred = kinds_of(node, lambda path: frozenset(columns.alternatives(path)))  # noqa: B023
            assert set(value_alternatives(node, columns)) <= inferred, node


READING = EventType(
    "Reading",
    "bench",
    own={
        "count": AttributeType(Kind.INT),
        "load": AttributeType(Kind.FLOAT),
        "room": AttributeType(Kind.STRING, optional=True),
        "flag": AttributeType(Kind.BOOL),
    },
)
COUNT, LOAD, ROOM = "count", "load", "room"
WRITTEN: list[tuple[str, Callable[[], Column]]] = [
    ("count > 500 and load < 0.75", lambda: (F.col(COUNT) > 500) & (F.col(LOAD) < 0.75)),
    ("count > 2.5", lambda: F.col(COUNT) > 2),
    ("load > 3", lambda: F.col(LOAD) > 3.0),
    ("flag or not exists room", lambda: F.col("flag") | ~F.col(ROOM).isNotNull()),
    ("room = 'a' or room != 'b'", lambda: (F.col(ROOM) == "a") | (F.col(ROOM) != "b")),
    ("room in ('a', 'b')", lambda: F.col(ROOM).isin("a", "b")),
    ("not room in ('a', 'b')", lambda: ~F.coalesce(F.col(ROOM).isin("a", "b"), F.lit(False))),
    ("room not in ('a', 'b')", lambda: ~F.col(ROOM).isin("a", "b")),
    ("room like 'a%'", lambda: F.col(ROOM).startswith("a")),
    ("room like 'a%b_'", lambda: F.col(ROOM).like("a%b_")),
    ("load between 1.0 and 2.0", lambda: (F.col(LOAD) >= 1.0) & (F.col(LOAD) <= 2.0)),
    ("load not between 1.0 and 2.0", lambda: (F.col(LOAD) < 1.0) | (F.col(LOAD) > 2.0)),
    ("load * 0.5 + 32.0 > 5.0", lambda: F.col(LOAD) * 0.5 + 32.0 > 5.0),
    ("event.source = '/a'", lambda: F.col("source") == "/a"),
]


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_filters_are_what_a_person_would_write(spark: SparkSession, text: str, written: Callable[[], Column]) -> None:
    made = compile_filter(bind_text(text, Scope(type=READING)), TypedColumns(READING))
    assert str(made).replace("`", "") == str(written()).replace("`", "")


def test_lookup_in_a_large_table(spark: SparkSession) -> None:
    rows = tuple((f"k{number}", number if number % 3 else f"v{number}") for number in range(500))
    data = {"total": 0, "heat": 0.0}
    found = [
        Event("1", "/a", SAMPLE.qualified_name, data={**data, "room": key}) for key in ("k1", "k3", "k499", "no", "ß")
    ]
    check_values(*typed(spark, found), [Lookup("large", Attribute(("room",)), rows)], TYPED)


def test_attributes_that_the_type_lacks_are_missing(spark: SparkSession) -> None:
    columns = TypedColumns(READING)
    row = spark.range(1).select(
        compile_truth(Exists(Attribute(("nothing",))), columns).alias("present"),
        compile_truth(Not(Compare("=", Attribute(("nothing",)), Literal(1))), columns).alias("unequal"),
    )
    assert row.first() == (False, True)


def test_an_expression_that_would_explode_is_refused(spark: SparkSession) -> None:
    node: Expression = Attribute(("x",))
    for _ in range(60):
        node = Arithmetic("/", Literal(1.0), Arithmetic("+", node, node))
    with pytest.raises(Misuse) as caught:
        compile_filter(Compare(">", node, Literal(0.0)), OPEN)
    assert caught.value.code == "not-in-columns"
