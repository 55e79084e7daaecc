"""The index gives what the reference evaluator gives, for every filter and every event."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.arrow_types import arrow_type
from comity.event.event import Event
from comity.event.kinds import Kind, Point, Value, to_microseconds
from comity.event.types import AttributeType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression, attributes
from comity.limits import limited
from comity.match.index import Matches, ProfileIndex
from comity.match.workspace import SMALL_BATCH
from comity.testing import expressions, filters

_TYPE = ("event", "type")


def expected(trees: Sequence[Expression], events: Sequence[Event]) -> list[list[int]]:
    return [[number for number, tree in enumerate(trees) if holds(tree, event)] for event in events]


def found(matches: Matches) -> list[list[int]]:
    for event in range(len(matches.offsets) - 1):
        ids = matches.of(event)
        assert len(ids) == len(set(ids))
    return [matches.of(event) for event in range(len(matches.offsets) - 1)]


def cell(value: Value | None) -> Value | None:
    if isinstance(value, Point):
        return {"x": value.x, "y": value.y}
    return to_microseconds(value) if isinstance(value, timedelta) else value


def typed_batch(events: Sequence[Event], paths: set[tuple[str, ...]]) -> pa.RecordBatch:
    """The columns that these filters need, of events of the sample type."""
    columns = {}
    for path in sorted(paths | {_TYPE}):
        declared = expressions.SAMPLE.attribute_at(path)
        assert declared is not None
        columns[".".join(path)] = pa.array([cell(event.get(path)) for event in events], arrow_type(declared))
    return pa.RecordBatch.from_pydict(columns)


def declared_types(paths: set[tuple[str, ...]]) -> dict[tuple[str, ...], AttributeType]:
    return {path: declared for path in paths if (declared := expressions.SAMPLE.attribute_at(path))}


def needed(trees: Sequence[Expression]) -> set[tuple[str, ...]]:
    return {path for tree in trees for path in attributes(tree)}


@settings(max_examples=300, deadline=None)
@given(st.lists(expressions.filters(), min_size=1, max_size=6), st.lists(expressions.events(), min_size=1, max_size=6))
def test_match_typed_events_agrees_with_the_evaluator(trees: list[Expression], events: list[Event]) -> None:
    paths = needed(trees)
    batch = typed_batch(events, paths)
    index = ProfileIndex.build(trees, declared_types(paths), sample=batch if len(events) % 2 else None)
    wanted = expected(trees, events)
    assert found(index.match(batch)) == wanted
    assert [sorted(index.match_one(event)) for event in events] == wanted
    times = SMALL_BATCH // len(events) + 1
    many = pa.Table.from_batches([batch] * times).combine_chunks().to_batches()[0]
    assert found(index.match(many)) == wanted * times


@settings(max_examples=300, deadline=None)
@given(
    st.lists(expressions.open_filters(), min_size=1, max_size=6),
    st.lists(expressions.open_events(), min_size=1, max_size=6),
)
def test_match_one_open_event_agrees_with_the_evaluator(trees: list[Expression], events: list[Event]) -> None:
    index = ProfileIndex.build(trees)
    assert [sorted(index.match_one(event)) for event in events] == expected(trees, events)


_COLUMNS = {
    "n": (pa.int64(), expressions.values(Kind.INT) | st.integers(-4, 4)),
    "k": (pa.float64(), expressions.values(Kind.FLOAT) | st.sampled_from([-2.5, -0.0, 0.5, 1.0])),
    "s": (pa.string(), st.sampled_from(["", "a", "b", "ab", "aba", "ä", "b\U0010ffff"])),
    "t": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["", "a", "b", "ba", "bb"])),
    "b": (pa.bool_(), st.booleans()),
    "d.n": (pa.int32(), st.integers(-4, 4)),
    "d.w": (pa.large_string(), st.sampled_from(["", "a", "ab"])),
    "event.type": (pa.string(), st.sampled_from(["Base", "small.Base", "Other"])),
}


@st.composite
def open_batches(draw: st.DrawFn) -> pa.RecordBatch:
    """Batches of small values, of some of the columns, sometimes a slice of a longer batch."""
    count = draw(st.integers(0, 5))
    columns = {}
    for name, (kind, values) in _COLUMNS.items():
        if draw(st.integers(0, 7)):
            columns[name] = pa.array(draw(st.lists(st.none() | values, min_size=count, max_size=count)), kind)
    if draw(st.booleans()):
        kind, values = draw(st.sampled_from(list(_COLUMNS.values())))
        columns["any"] = pa.array(draw(st.lists(st.none() | values, min_size=count, max_size=count)), kind)
    if not columns:
        columns["n"] = pa.array([None] * count, pa.int64())
    batch = pa.RecordBatch.from_pydict(columns)
    return batch.slice(draw(st.integers(0, count)))


class Row:
    """A row of a batch as a record."""

    def __init__(self, batch: pa.RecordBatch, at: int) -> None:
        self._values = {name: batch.column(name)[at].as_py() for name in batch.schema.names}

    def get(self, path: tuple[str, ...]) -> Value | None:
        return self._values.get(".".join(path))


@settings(max_examples=300, deadline=None)
@given(filters.open_filters(8), open_batches())
def test_match_open_columns_agrees_with_the_evaluator(texts: list[str], batch: pa.RecordBatch) -> None:
    trees = [bind_text(text, Scope()) for text in texts]
    index = ProfileIndex.build(trees)
    wanted = expected(trees, [Row(batch, at) for at in range(batch.num_rows)])  # type: ignore[misc]
    assert found(index.match(batch)) == wanted


@settings(max_examples=100, deadline=None)
@given(filters.typed_filters(5), st.sampled_from([1, 2, 64]))
def test_match_says_the_same_however_many_conjunctions_a_profile_may_have(texts: list[str], most: int) -> None:
    trees = [bind_text(text, filters.typed_scope()) for text in texts]
    events = [
        Event("1", "/a", kind, data={"x": x, "f": x / 2, "s": s, "b": x > 0, "m": {"n": x}, **more})
        for kind in ("small.Base", "small.Special", "small.Other")
        for x in (-3, -1, 0, 2)
        for s in ("", "ab")
        for more in ({}, {"y": 1, "g": 0.5, "t": "a", "c": False, "d": {"n": 1, "w": "ab"}, "z": 2})
    ]
    with limited(max_conjunctions=most):
        index = ProfileIndex.build(trees)
    assert [sorted(index.match_one(event)) for event in events] == expected(trees, events)


def numbers_index() -> tuple[list[Expression], ProfileIndex]:
    edges = [2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**53) - 1, 0, 1]
    edges += [0.0, -0.0, 2.0**53, 2.0**63, 2.0**64, 1e300, -1e300, 5e-324, 0.5, -(2.0**63)]
    trees = [
        bind_text(f"x {symbol} {edge!r}", Scope()) for edge in edges for symbol in ("=", "!=", "<", "<=", ">", ">=")
    ]
    return trees, ProfileIndex.build(trees)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_match_compares_whole_and_real_numbers_exactly(kind: pa.DataType) -> None:
    trees, index = numbers_index()
    whole = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**62, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0, 1, -1]
    real = [
        2.0**53,
        2.0**53 + 2,
        2.0**62,
        2.0**63,
        2.0**64,
        1e300,
        1e308,
        -1e308,
        -0.0,
        0.0,
        5e-324,
        -5e-324,
        0.5,
        0.25,
    ]
    values: list[Value] = list(whole if kind == pa.int64() else real)
    batch = pa.RecordBatch.from_arrays([pa.array(values, kind)], ["x"])
    events = [Event("1", "/a", "T", data={"x": value}) for value in values]
    assert found(index.match(batch)) == expected(trees, events)
    assert [sorted(index.match_one(event)) for event in events] == expected(trees, events)


@pytest.mark.parametrize("edges", [(-3, 4), (2.0**63, 0), (-1e19, 1e19), (-(2.0**63),)])
def test_match_numbers_far_from_all_constants(edges: tuple[float, ...]) -> None:
    trees = [bind_text(f"x {symbol} {edge!r}", Scope()) for edge in edges for symbol in ("=", "<", ">", "!=")]
    index = ProfileIndex.build(trees)
    values = [2**63 - 1, -(2**63), 2**62, 5, 4, -4, -3, 0, None]
    events = [Event("1", "/a", "T", data={} if value is None else {"x": value}) for value in values]
    assert found(index.match(pa.RecordBatch.from_pydict({"x": values}))) == expected(trees, events)


def test_match_reads_open_texts_as_times_where_profiles_do() -> None:
    trees = [bind_text("at >= 2024-02-29T12:00:00Z", Scope()), bind_text("exists at", Scope())]
    texts = ["2024-02-29T13:00:00+01:00", "2024-02-29T11:00:00Z", "soon", None]
    index = ProfileIndex.build(trees)
    batch = pa.RecordBatch.from_pydict({"at": texts})
    assert found(index.match(batch)) == [[0, 1], [1], [1], []]
    moments = pa.array([datetime(2024, 3, 1, tzinfo=UTC), None], pa.timestamp("ms", "UTC"))
    assert found(index.match(pa.RecordBatch.from_arrays([moments], ["at"]))) == [[0, 1], []]


def test_match_finds_attributes_inside_of_structs() -> None:
    trees = [bind_text("device.load > 1 and exists device", Scope())]
    column = pa.array([{"load": 2}, {"load": 1}, None, {"load": None}])
    batch = pa.RecordBatch.from_arrays([column], ["device"])
    assert found(ProfileIndex.build(trees).match(batch)) == [[0], [], [], []]


def test_match_keeps_type_families_together() -> None:
    texts = ["is Special", "is Base", "is Base and x > 1", "not is Special", "is Other or is Special"]
    trees = [bind_text(text, filters.typed_scope()) for text in texts]
    index = ProfileIndex.build(trees)
    batch = pa.RecordBatch.from_pydict({"event.type": ["small.Base", "small.Special", "small.Other", "else", None]})
    assert found(index.match(batch)) == [[1, 3], [0, 1, 4], [1, 3, 4], [3], [3]]


def test_match_without_profiles_or_events() -> None:
    batch = pa.RecordBatch.from_pydict({"x": [1, 2]})
    nothing = ProfileIndex.build([]).match(batch)
    assert nothing.offsets.tolist() == [0, 0, 0]
    assert len(nothing.ids) == 0
    never = ProfileIndex.build([bind_text("x > 3 and x < 2", Scope()), bind_text("false", Scope())])
    assert found(never.match(batch)) == [[], []]
    assert never.match(batch.slice(0, 0)).offsets.tolist() == [0]
    assert never.match_one(Event("1", "/a", "T", data={"x": 1})) == []


@pytest.mark.parametrize("events", [3, 3000])
def test_match_grows_its_buffers(events: int) -> None:
    trees = [bind_text(f"x >= {number % 7}", Scope()) for number in range(3000)]
    index = ProfileIndex.build(trees)
    values = np.arange(events) % 8
    matches = index.match(pa.RecordBatch.from_pydict({"x": values}))
    assert np.diff(matches.offsets).tolist() == [sum(n % 7 <= v for n in range(3000)) for v in values.tolist()]
    assert matches.of(1) == [n for n in range(3000) if n % 7 <= 1]


def test_match_reports_given_ids() -> None:
    trees = [bind_text(text, Scope()) for text in ("x > 1", "x > 2 or x < 0", "s ends with 'a'")]
    index = ProfileIndex.build(trees, ids=[7, 30, 2])
    batch = pa.RecordBatch.from_pydict({"x": [3], "s": ["ba"]})
    assert index.match(batch).of(0) == [2, 7, 30]
    index.remove([30])
    assert index.match(batch).of(0) == [2, 7]


@pytest.mark.slow
def test_match_with_more_channels_than_atoms_can_name() -> None:
    trees = [bind_text(f"a{n} > {n % 5} and a{(n + 1) % 300} != 3", Scope()) for n in range(300)] * 2
    index = ProfileIndex.build(trees)
    rows = np.random.default_rng(1).integers(0, 7, (400, 300))
    batch = pa.RecordBatch.from_pydict({f"a{n}": rows[:, n] for n in range(300)})
    events = [Event("1", "/a", "T", data={f"a{n}": int(row[n]) for n in range(300)}) for row in rows[:20]]
    assert found(index.match(batch))[:20] == expected(trees, events)
    assert found(index.match(batch.slice(0, 20))) == expected(trees, events)


@pytest.mark.slow
def test_match_many_profiles_in_blocks_and_one_by_one() -> None:
    random = np.random.default_rng(3)
    trees = []
    for _ in range(2000):
        a, b, c, d = random.integers(0, 400, 4).tolist()
        trees.append(
            bind_text(
                f"x between {min(a, b)} and {max(a, b)} and y != {c} and z in ({a}, {c}, {d}) and w >= {d}.5", Scope()
            )
        )
        trees.append(
            bind_text(f"x > {a} and y < {b} and (z = {c} or z < {d // 8}) and w < {d} and v != 'k{c}'", Scope())
        )
        trees.append(bind_text(f"s starts with 'k{a % 50}' and x != {b} and not y between {c} and {c + 50}", Scope()))
    events = 9000
    columns = {name: random.integers(0, 400, events) for name in ("x", "y", "z")}
    texts = [f"k{value}" for value in random.integers(0, 400, events).tolist()]
    batch = pa.RecordBatch.from_pydict({**columns, "w": random.uniform(0, 400, events), "v": texts, "s": texts[::-1]})
    index = ProfileIndex.build(trees, sample=batch.slice(0, 500))
    whole = index.match(batch)
    for start in (0, 200, 8800):
        part = index.match(batch.slice(start, 100))
        assert [part.of(event) for event in range(100)] == [whole.of(start + event) for event in range(100)]
    sample = [0, 17, 8191, 8192, 8999]
    rows = batch.to_pylist()
    wanted = expected(trees, [Event("1", "/a", "T", data=rows[at]) for at in sample])
    assert [whole.of(at) for at in sample] == wanted
