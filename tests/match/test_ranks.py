"""Ranks: the place of a value among the constants, whatever kind of column it stands in."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import Value, to_microseconds
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.match.channels import RANK_FALSE, RANK_NUMBERS, RANK_TRUE, Channel, View
from comity.match.index import ProfileIndex
from comity.match.ranks import Ranking

_WHOLE = st.integers(-6, 6) | st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63), 3_000_000])
_REAL = st.sampled_from([-6.5, -1.0, -0.0, 0.5, 2.0, 5e-324, 2.0**53, 2.0**63, -(2.0**63), 1e300])
_TEXT = st.text(st.sampled_from("ab\x00ä\U0001f600"), max_size=12) | st.sampled_from(["a" * 8, "a" * 9, "a" * 8 + "b"])
_TEXT_COLUMNS = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int64(), pa.large_string()),
)


def ranking_of(numbers: list[Any] | None = None, texts: list[str] | None = None, bounds: list[str] | None = None):
    channel = Channel(("x",), View.VALUE)
    for number in numbers or []:
        channel.number(number)
    for text in texts or []:
        channel.string(text)
    for text in bounds or []:
        channel.bound(text)
    return Ranking(channel.layout())


def column_ranks(ranking: Ranking, column: pa.Array, declared_as_time: bool = False) -> list[int]:
    out = np.full(len(column), -7, np.int32)
    ranking.of_column(column, out, declared_as_time)
    return out.tolist()


def place_among(numbers: list[Any], value: Any) -> int:
    """By counting: two for each constant below, and one for the constant that the value equals."""
    different = set(numbers)
    return RANK_NUMBERS + 2 * sum(number < value for number in different) + (value in different)


def sliced(draw: st.DrawFn, column: pa.Array) -> pa.Array:
    return column.slice(draw(st.integers(0, len(column))))


@st.composite
def number_columns(draw: st.DrawFn) -> pa.Array:
    kind, values = draw(
        st.sampled_from(
            [
                (pa.int64(), _WHOLE),
                (pa.int8(), st.integers(-6, 6)),
                (pa.uint32(), st.integers(0, 6)),
                (pa.uint64(), st.integers(0, 6) | st.just(2**64 - 1)),
                (pa.float64(), _REAL),
                (pa.float32(), st.sampled_from([-6.5, -1.0, 0.5, 2.0, 2.0**63])),
            ]
        )
    )
    return sliced(draw, pa.array(draw(st.lists(st.none() | values, max_size=8)), kind))


@given(st.lists(_WHOLE | _REAL, max_size=8), number_columns())
def test_numbers_are_ranked_by_their_place_among_the_constants(numbers: list[Any], column: pa.Array) -> None:
    ranking = ranking_of(numbers)
    expected = [0 if value is None else place_among(numbers, value) for value in column.to_pylist()]
    assert column_ranks(ranking, column) == expected
    assert [ranking.of_value(value) for value in column.to_pylist()] == expected


@given(
    st.lists(_WHOLE, min_size=2, max_size=4),
    st.lists(_TEXT, max_size=3),
    st.lists(st.none() | st.booleans(), max_size=11),
)
def test_bools_stand_below_all_numbers_and_texts(numbers: list[Any], texts: list[str], values: list[Any]) -> None:
    ranking = ranking_of(numbers, texts)
    ranks = {None: 0, False: RANK_FALSE, True: RANK_TRUE}
    expected = [ranks[value] for value in values]
    assert column_ranks(ranking, pa.array(values, pa.bool_())) == expected
    assert [ranking.of_value(value) for value in values] == expected


@given(
    st.lists(_TEXT, max_size=6),
    st.lists(_TEXT, max_size=6),
    st.lists(st.none() | _TEXT, max_size=6),
    st.sampled_from(_TEXT_COLUMNS),
    st.data(),
)
def test_texts_are_ranked_alike_in_every_kind_of_column(
    equal: list[str], bounds: list[str], values: list[str | None], kind: pa.DataType, data: st.DataObject
) -> None:
    """A known text has its own rank; another one lies on the right side of every bound."""
    ranking = ranking_of(texts=equal, bounds=bounds)
    known = {text: ranking.of_value(text) for text in {*equal, *bounds}}
    assert len(set(known.values())) == len(known)
    column = pa.array([*values, *equal[:2], *bounds[:2]], kind)
    column = column.slice(data.draw(st.integers(0, len(column))))
    for text, rank in zip(column.to_pylist(), column_ranks(ranking, column), strict=True):
        if text is None or text in known:
            assert rank == (0 if text is None else known[text])
            continue
        assert rank not in known.values()
        for bound in bounds:
            assert (rank < known[bound]) == (text < bound)
            assert (ranking.of_value(text) < known[bound]) == (text < bound)


@given(st.lists(st.integers(-5, 5), max_size=4), st.lists(st.none() | st.integers(-5, 5), max_size=8), st.booleans())
def test_times_are_ranked_alike_as_columns_codes_texts_and_values(
    constants: list[int], seconds: list[int | None], is_moment: bool
) -> None:
    channel = Channel(("x",), View.TIMESTAMP if is_moment else View.DURATION)

    def value(count: int | None) -> Any:
        span = None if count is None else timedelta(seconds=count)
        return span if span is None or not is_moment else datetime(2024, 3, 1, tzinfo=UTC) + span

    for count in constants:
        channel.number(to_microseconds(value(count)))
    ranking = Ranking(channel.layout())
    expected = [0 if count is None else place_among(constants, count) for count in seconds]
    values = [value(count) for count in seconds]
    assert [ranking.of_value(one) for one in values] == expected
    for unit in ("s", "ms", "us", "ns"):
        column = pa.array(values, pa.timestamp(unit, "UTC") if is_moment else pa.duration(unit))
        assert column_ranks(ranking, column) == expected
    counts = pa.array([None if one is None else to_microseconds(one) for one in values], pa.int64())
    assert column_ranks(ranking, counts, declared_as_time=True) == expected
    assert column_ranks(ranking, counts) == [0] * len(values)
    if is_moment:
        texts = [one and one.isoformat() for one in values]
        assert [ranking.of_value(text) for text in texts] == expected
        assert column_ranks(ranking, pa.array(texts, pa.string())) == expected
        assert column_ranks(ranking, pa.array(texts, pa.dictionary(pa.int8(), pa.string()))) == expected


def test_what_is_no_time_is_missing_where_times_are_asked_for() -> None:
    for view, other in ((View.TIMESTAMP, timedelta(1)), (View.DURATION, datetime(2024, 3, 1, tzinfo=UTC))):
        ranking = Ranking(Channel(("x",), view).layout())
        assert [ranking.of_value(value) for value in (5, "soon", True, other)] == [0, 0, 0, 0]
        assert column_ranks(ranking, pa.array(["soon", "later"])) == [0, 0]
        assert column_ranks(ranking, pa.array([1.5, 2.5]), declared_as_time=True) == [0, 0]


def test_what_is_no_text_is_no_type() -> None:
    channel = Channel(("event", "type"), View.TYPE)
    channel.string("a.T")
    ranking = Ranking(channel.layout())
    assert ranking.of_value("a.T") > 0
    assert [ranking.of_value(value) for value in (5, "a.Other", None)] == [0, 0, 0]
    assert column_ranks(ranking, pa.array([5, 6])) == [0, 0]
    assert column_ranks(ranking, pa.array(["a.T", "a.Other"])) == [ranking.of_value("a.T"), 0]


def test_a_missing_value_has_a_rank_of_its_own_and_so_has_what_is_always_there() -> None:
    assert ranking_of([1]).of_value(None) == 0
    always = Ranking(Channel((), View.ALWAYS).layout())
    assert always.of_value(None) == always.of_value(5) == column_ranks(always, pa.nulls(1))[0] > 0


@pytest.mark.parametrize("values", [[b"a", None], [[1], None], [{"a": 1}, None]])
def test_values_that_are_neither_numbers_nor_texts_are_above_all(values: list[Any]) -> None:
    ranking = ranking_of([1], ["z"])
    assert column_ranks(ranking, pa.array(values)) == [ranking.of_value(values[0]), 0]
    assert ranking.of_value(values[0]) == ranking.size - 1


def test_integers_are_looked_up_or_searched_with_the_same_result() -> None:
    """Constants close together have a table, and those far apart have none."""
    for numbers in ([0, 1 << 20], [0, (1 << 20) + 1], [-0.5, 7, 2**62], [2.0**63, 0], [-(2**63), -(2**63) + 5]):
        ranking = ranking_of(numbers)
        near = [int(number) + step for number in numbers for step in (-2, -1, 0, 1, 2)]
        values = [value for value in near if -(2**63) <= value < 2**63]
        expected = [place_among(numbers, value) for value in values]
        assert column_ranks(ranking, pa.array(values, pa.int64())) == expected
    assert ranking_of([0, 1 << 20])._lookup is not None
    assert ranking_of([0, (1 << 20) + 1])._lookup is None
    assert ranking_of([-(1 << 20), 1 << 20])._lookup is None


def test_a_ranking_travels_without_what_is_made_again() -> None:
    ranking = ranking_of([1, 2.5], ["a"], ["b"])
    values: list[Value | None] = [0, 1, 2, 2.5, 3, "", "a", "aa", "b", "c", None, True]
    expected = [ranking.of_value(value) for value in values]
    again = pickle.loads(pickle.dumps(ranking))
    assert [again.of_value(value) for value in values] == expected
    assert column_ranks(again, pa.array([0.0, 1.0, 2.5, None])) == [expected[0], expected[1], expected[3], 0]
    assert 0 < ranking.nbytes < again.nbytes  # by now the second one has a scale for the column


@settings(max_examples=60)
@given(st.lists(_TEXT, min_size=1, max_size=5), st.lists(_TEXT, min_size=1, max_size=5))
def test_prefixes_and_ranges_of_texts_hold_as_the_evaluator_says(texts: list[str], values: list[str]) -> None:
    quoted = [text.replace("'", "''") for text in texts if "\x00" not in text]
    trees = [
        bind_text(f"x {operator} '{text}'", Scope())
        for text in quoted
        for operator in ("<", "<=", ">", ">=", "=", "starts with")
    ]
    events = [Event("1", "/a", "T", data={"x": value}) for value in [*values, *texts]]
    index = ProfileIndex.build(trees)
    matches = index.match(pa.RecordBatch.from_pydict({"x": [*values, *texts]}))
    expected = [[number for number, tree in enumerate(trees) if holds(tree, event)] for event in events]
    assert [matches.of(at) for at in range(len(events))] == expected
    assert [sorted(index.match_one(event)) for event in events] == expected
