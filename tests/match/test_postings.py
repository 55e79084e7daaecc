"""Records under their lists: few and many predicates, short and long lists of constants, few and many channels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.match.access import MAX_POSTED
from comity.match.buckets import MAX_BUCKETS, MAX_CHANNELS
from comity.match.index import ProfileIndex
from comity.match.postings import INLINE, MAX_SPLIT, PADDING
from comity.match.workspace import SMALL_BATCH


def bound(texts: Sequence[str]) -> list[Expression]:
    return [bind_text(text, Scope()) for text in texts]


def assert_matches(index: ProfileIndex, trees: Sequence[Expression], rows: list[dict[str, Any]]) -> None:
    """One by one, in a small batch and in blocks: what the evaluator says."""
    records = [{(name,): value for name, value in row.items()} for row in rows]
    expected = [[number for number, tree in enumerate(trees) if holds(tree, record)] for record in records]
    assert [sorted(index.match_one(record)) for record in records] == expected
    small = pa.RecordBatch.from_pylist(rows[: SMALL_BATCH - 1])
    found = index.match(small)
    assert [found.of(at) for at in range(small.num_rows)] == expected[: small.num_rows]
    times = SMALL_BATCH // len(rows) + 1
    found = index.match(pa.RecordBatch.from_pylist(rows * times))
    assert [found.of(at) for at in range(len(rows) * times)] == expected * times


def constants(count: int, step: int = 2) -> str:
    return ", ".join(str(step * i) for i in range(count))


def test_a_short_list_beside_an_equality_is_written_out_and_a_long_one_is_searched() -> None:
    rows = [{"x": x, "y": y} for x in (0, 1) for y in range(-1, 2 * MAX_SPLIT + 5)]
    for count, records in ((2, 2), (MAX_SPLIT, MAX_SPLIT), (MAX_SPLIT + 1, 1)):
        trees = bound([f"x = 1 and y in ({constants(count)})"])
        index = ProfileIndex.build(trees)
        assert index.postings.record_count == records
        assert len(index.postings.set_low) == (1 if records == count else 1 + count)
        assert_matches(index, trees, rows)


def test_a_list_is_posted_under_each_constant_up_to_a_limit() -> None:
    rows = [{"x": x} for x in range(-1, 2 * MAX_POSTED + 5)]
    for count, records in ((MAX_POSTED, MAX_POSTED), (MAX_POSTED + 1, 2)):
        trees = bound([f"x in ({constants(count)})"])
        index = ProfileIndex.build(trees)
        assert index.postings.record_count <= records
        assert_matches(index, trees, rows)


@pytest.mark.parametrize("count", [1, INLINE, INLINE + 1, INLINE + 2, 9])
def test_predicates_beyond_those_in_a_record_count(count: int) -> None:
    """Whichever attribute is wrong, and however many there are, the profile does not match."""
    names = [f"a{i}" for i in range(count)]
    trees = bound(
        [
            " and ".join(f"{name} >= {i}" for i, name in enumerate(names)),
            " and ".join(f"{name} != {i}" for i, name in enumerate(names)),
            " and ".join(f"{name} in ({constants(MAX_SPLIT + 2)})" for name in names),
            " and ".join(f"{name} not in ({constants(MAX_SPLIT + 2)})" for name in names),
            " and ".join(f"{name} between {i} and {i + 2} and exists b{i}" for i, name in enumerate(names)),
        ]
    )
    right = {name: i for i, name in enumerate(names)} | {f"b{i}": 1 for i in range(count)}
    wrong = [{**right, name: value} for name in names for value in (-1, 2, 50, None)]
    wrong += [{**right, f"b{i}": None} for i in range(count)]
    even = [dict.fromkeys(names, 2), dict.fromkeys(names, 3), {**dict.fromkeys(names, 2), names[-1]: 3}]
    assert_matches(ProfileIndex.build(trees), trees, [right, *wrong, *even])


def test_attributes_beyond_the_channels_that_fit_are_compared_by_rank() -> None:
    count = MAX_CHANNELS + 20
    trees = bound(
        [f"a{i} > 3" for i in range(count)]
        + [f"a{i} = 4 and a{i - 1} != 7 and a{i - 2} in (1, 4, 9)" for i in range(2, count)]
        + [f"not exists a{count - 1} and a{count - 2} <= 4"]
    )
    random_rows = random.Random(1)
    rows = [{f"a{i}": random_rows.choice([1, 3, 4, 7, None]) for i in range(count)} for _ in range(12)]
    rows.append({f"a{i}": 4 for i in range(count - 1)} | {f"a{count - 1}": None})
    assert_matches(ProfileIndex.build(trees), trees, rows)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("many", [MAX_BUCKETS // 4, 3 * MAX_BUCKETS])
def test_more_constants_than_buckets(many: int, sampled: bool) -> None:
    """Where several constants share a bucket the exact ranks decide, at both ends of an interval and outside of it."""
    chance = random.Random(many)
    texts = []
    for number in range(many):
        low = chance.randrange(4 * many)
        high = low + chance.choice([0, 1, 2, 40, 3 * many])
        texts += [
            f"x between {low} and {high}" if number % 2 else f"x >= {low} and y <= {high}",
            f"x not between {low} and {high} and y != {low}",
            f"x != {low} and y > {low} and y < {high}",
        ]
    trees = bound(texts)
    rows = [{"x": chance.randrange(-1, 4 * many + 2), "y": chance.randrange(4 * many)} for _ in range(24)]
    rows += [{"x": None, "y": 3}, {"x": 3, "y": None}]
    sample = pa.RecordBatch.from_pylist([{"x": 5, "y": 7}] * 40 + rows) if sampled else None
    assert_matches(ProfileIndex.build(trees, sample=sample), trees, rows)


_ATOMS = st.sampled_from(
    [
        *(f"x {symbol} {value}" for symbol, value in product(("=", "!=", "<", ">="), (1, 2))),
        *("x in (1, 3)", "y not in (1, 3)", "y = 'a'", "y starts with 'a'", "not exists x", "exists y", "z = true"),
        *("x between 1 and 2", "x not between 1 and 2", "y ends with 'b'", "x > y", "z", "not z"),
    ]
)


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.lists(_ATOMS, min_size=1, max_size=6).map(" and ".join), min_size=1, max_size=3).map(" or ".join),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.integers(0, 5), max_size=3),
)
def test_conjunctions_under_or_are_reported_once_until_they_are_removed(texts: list[str], gone: list[int]) -> None:
    trees = bound(texts)
    ids = [7 * number + 3 for number in range(len(trees))]
    index = ProfileIndex.build(trees, ids=ids)
    values = {"x": [None, 0, 1, 2, 3], "y": [None, "a", "ab"], "z": [None, True, False]}
    records = [{(name,): value for name, value in zip("xyz", row)} for row in product(*values.values())]
    removed = {ids[number] for number in gone if number < len(ids)}
    for left in (set(ids), set(ids) - removed):
        index.remove([number for number in ids if number not in left])
        for record in records:
            found = index.match_one(record)
            assert sorted(found) == [
                number for number, tree in zip(ids, trees) if number in left and holds(tree, record)
            ]


def test_records_end_with_as_many_that_are_never_read_as_a_vector_takes() -> None:
    index = ProfileIndex.build(bound(["x = 1", "x > 2 or y = 3"]))
    assert len(index.postings.target) == index.postings.record_count + PADDING
    assert index.postings.record_count >= 3
    assert 0 < index.postings.nbytes < index.nbytes
