"""Tests behind the index: of few events one by one, of many once for each different text, with the same answer."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event.kinds import Kind, Point
from comity.event.types import AttributeType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.match import residual
from comity.match.index import ProfileIndex
from comity.match.residual import _MANY, BatchRows, declared_kind, python_values

_TEXTS = (
    *("s ends with 'b'", "s contains 'a'", "s matches '.*a.b'", "not s ends with 'b'", "s not like '%a%'"),
    *("s like '_b%'", "length(s) > 1", "s ends with 'b' and n > 2", "n + 1 > 3", "s = t", "lower(s) contains 'a'"),
)
_TREES = [bind_text(text, Scope()) for text in _TEXTS]
_COLUMNS = (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))
_WORDS = st.none() | st.sampled_from(["", "a", "b", "ab", "xb", "Ab", "ba"])


def record(row: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    return {(name,): value for name, value in row.items()}


@given(
    st.lists(st.tuples(_WORDS, _WORDS, st.none() | st.integers(0, 4)), min_size=1, max_size=6),
    st.sampled_from(_COLUMNS),
    st.sampled_from([1, _MANY]),
    st.booleans(),
)
def test_tests_hold_for_few_and_many_events_as_the_evaluator_says(
    rows: list[tuple[str | None, str | None, int | None]], kind: pa.DataType, times: int, missing: bool
) -> None:
    drawn = [{"s": s, "t": t, "n": n} for s, t, n in rows]
    some = [{**row, "s": None} if missing else row for row in drawn] * times
    columns = {
        "s": pa.array([row["s"] for row in some], kind),
        "t": pa.array([row["t"] for row in some], pa.string()),
        "n": pa.array([row["n"] for row in some], pa.int64()),
    }
    if missing:
        del columns["s"]
    batch = pa.RecordBatch.from_pydict(columns)
    tests, seen = residual.Tests(_TREES), BatchRows(batch)
    events = np.arange(0, len(some), 1 if times == 1 else 2, dtype=np.int32)
    for number, tree in enumerate(_TREES):
        expected = [holds(tree, record(some[event])) for event in events.tolist()]
        assert tests.hold(number, seen, events).tolist() == expected
    found = ProfileIndex.build(_TREES).match(batch)
    everything = [[number for number, tree in enumerate(_TREES) if holds(tree, record(row))] for row in some]
    assert [found.of(event) for event in range(len(some))] == everything


def test_a_test_on_texts_takes_a_column_of_something_else_as_it_is() -> None:
    tests = residual.Tests(_TREES[:4])
    rows = BatchRows(pa.RecordBatch.from_pydict({"s": [7] * _MANY}))
    events = np.arange(_MANY, dtype=np.int32)
    assert rows.distinct_texts(("s",)) is None
    assert [tests.hold(number, rows, events).any() for number in range(4)] == [False, False, False, True]


def test_a_text_is_tested_once_however_often_it_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    tests, asked = residual.Tests([_TREES[0]]), list[Any]()
    known = tests.test(0)
    monkeypatch.setattr(tests, "test", lambda number: lambda record: asked.append(record) or known(record))
    for count, calls in ((_MANY - 1, _MANY - 1), (_MANY, 2)):
        asked.clear()
        rows = BatchRows(pa.RecordBatch.from_pydict({"s": (["ab", "a"] * count)[:count]}))
        held = tests.hold(0, rows, np.arange(count, dtype=np.int32))
        assert held.tolist() == ([True, False] * count)[:count]
        assert len(asked) == calls


_MOMENT = datetime(2024, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (pa.array([_MOMENT, None], pa.timestamp("ns", "UTC")), None, [_MOMENT, None]),
        (pa.array([_MOMENT, None], pa.timestamp("s", "UTC")), Kind.TIMESTAMP, [_MOMENT, None]),
        (pa.array([1, None]), Kind.TIMESTAMP, [datetime(1970, 1, 1, microsecond=1, tzinfo=UTC), None]),
        (pa.array([1, None]), Kind.DURATION, [timedelta(microseconds=1), None]),
        (pa.array([1, None]), Kind.INT, [1, None]),
        (pa.array([timedelta(seconds=1), None], pa.duration("ns")), None, [timedelta(seconds=1), None]),
        (pa.array([{"x": 1.0, "y": 2.0}, None]), Kind.POINT, [Point(1.0, 2.0), None]),
        (pa.array([{"x": 1.0, "y": 2.0}, None]), None, [{"x": 1.0, "y": 2.0}, None]),
        (pa.array([{"x": 1.0, "y": None}]), Kind.POINT, [{"x": 1.0}]),
        (pa.array([{"a": {"b": None, "c": [1, None]}}]), None, [{"a": {"c": [1, None]}}]),
    ],
)
def test_columns_become_the_values_that_expressions_know(column: pa.Array, kind: Kind | None, expected: Any) -> None:
    assert python_values(column, kind) == expected


def test_the_kinds_of_the_envelope_are_known_and_others_are_declared() -> None:
    declared = {("at",): AttributeType(Kind.TIMESTAMP), ("event", "time", "x"): AttributeType(Kind.INT)}
    paths = [("event", "time"), ("event", "unknown"), ("at",), ("other",), ("event", "time", "x"), ("a", "time")]
    kinds = [Kind.TIMESTAMP, None, Kind.TIMESTAMP, None, Kind.INT, None]
    assert [declared_kind(path, declared) for path in paths] == kinds


def test_tests_travel_without_what_was_compiled() -> None:
    tests = residual.Tests(_TREES)
    tests.test(0)
    again = pickle.loads(pickle.dumps(tests))
    assert len(again) == len(_TREES)
    assert again.test(0)({("s",): "ab"})
    assert not again.test(0)({("s",): "a"})
