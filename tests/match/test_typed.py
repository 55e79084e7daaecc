"""Many conditions on events of one type: one by one, by the index, in batches and in other processes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event import Event
from comity.event.arrow_types import arrow_type
from comity.event.kinds import Kind, to_microseconds
from comity.event.types import ENVELOPE, AttributeType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.match import typed
from comity.match.typed import TypedMatcher, declared_paths
from comity.testing.expressions import SAMPLE, events, filters


def cell(value: Any, declared: AttributeType) -> Any:
    if value is None:
        return None
    if declared.kind is Kind.STRUCT:
        return {name: cell(value.get(name), one) for name, one in declared.attributes.items()}
    if declared.kind is Kind.POINT:
        return {"x": value.x, "y": value.y}
    return to_microseconds(value) if declared.kind is Kind.DURATION else value


def as_batch(found: Sequence[Event]) -> pa.RecordBatch:
    """The events as a worker has them: a column for every path."""
    columns = {
        ".".join(path): pa.array([cell(one.get(path), declared) for one in found], arrow_type(declared))
        for path, declared in declared_paths(SAMPLE.attributes)
    }
    for name, declared in ENVELOPE.items():
        columns[f"event.{name}"] = pa.array([getattr(one, name) for one in found], arrow_type(declared))
    return pa.RecordBatch.from_pydict(columns)


def meant(conditions: Sequence[Expression], event: Event) -> list[int]:
    return [number for number, condition in enumerate(conditions) if holds(condition, event)]


@given(conditions=st.lists(filters(1), max_size=5), found=st.lists(events(), max_size=6))
def test_one_event_and_a_batch_match_what_the_conditions_mean(conditions: list[Expression], found: list[Event]) -> None:
    matcher = TypedMatcher(SAMPLE, conditions)
    expected = [meant(conditions, event) for event in found]
    assert [matcher.match_one(event) for event in found] == expected
    matches = matcher.match_batch(as_batch(found))
    assert [matches.of(number) for number in range(len(found))] == expected


@given(conditions=st.lists(filters(1), max_size=5), found=st.lists(events(), max_size=6))
def test_many_conditions_match_as_few_do(conditions: list[Expression], found: list[Event]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed, "INDEXED", 0)
        matcher = TypedMatcher(SAMPLE, conditions)
        assert [matcher.match_one(event) for event in found] == [meant(conditions, event) for event in found]


@pytest.mark.parametrize("indexed", [0, 1_000])
def test_a_matcher_travels_with_its_index_only_when_that_is_dear(monkeypatch: pytest.MonkeyPatch, indexed: int) -> None:
    monkeypatch.setattr(typed, "INDEXED", indexed)
    conditions = [bind_text(text, Scope(SAMPLE)) for text in ("total > 3", "heat > 2", "room like 'a%'")]
    matcher = TypedMatcher(SAMPLE, conditions)
    event = Event("1", "/a", "test.Sample", data={"total": 5, "heat": 1.5, "room": "a"})
    expected = matcher.match_one(event)
    assert expected == [0, 2]
    matcher.match_batch(as_batch([event]))
    arrived = pickle.loads(pickle.dumps(matcher))
    assert (arrived._index is not None) == (indexed == 0)
    assert arrived.match_one(event) == expected
    assert arrived.match_batch(as_batch([event])).of(0) == expected


def test_declared_paths_go_into_structs() -> None:
    found = dict(declared_paths(SAMPLE.attributes))
    assert found[("device", "load")].kind is Kind.FLOAT
    assert ("place", "x") not in found
