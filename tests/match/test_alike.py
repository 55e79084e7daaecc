"""Conjunctions that ask the same stand in the index once, and every profile that has them is reported, singly too."""

from __future__ import annotations

import pickle
from collections import defaultdict
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.match import alike
from comity.match.alike import first_alike
from comity.match.index import ProfileIndex
from comity.match.live import LiveIndex
from comity.match.predicates import Predicates, read_predicates

_PARTS = (
    *("x = 1", "x != 1", "x > 1", "x in (1, 3)", "x in (1, 2)", "y = 'a'", "y starts with 'a'", "exists y"),
    *("y ends with 'b'", "x > z", "x = 1 or y = 'a'", "not (x = 1 and y = 'a')"),
)
_TEXTS = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3).map(
    lambda parts: " and ".join(f"({part})" for part in parts)
)
_VALUES = ({"x": 1, "y": "a"}, {"x": 3, "y": "ab", "z": 2}, {"x": 2, "z": 1}, {"y": "b"}, {})
_EVENTS = [Event("1", "/a", "T", data=dict(values)) for values in _VALUES]
_BATCH = pa.RecordBatch.from_pydict({name: [values.get(name) for values in _VALUES] for name in "xyz"})


def bound(*texts: str) -> list[Expression]:
    return [bind_text(text, Scope()) for text in texts]


def what_each_asks(table: Predicates) -> list[tuple[frozenset[object], frozenset[int]]]:
    """For each conjunction its predicates and tests, taken from the table one by one."""
    predicates: dict[int, set[object]] = defaultdict(set)
    for at, conjunction in enumerate(table.conjunction.tolist()):
        part = slice(table.starts[at], table.starts[at + 1])
        intervals = (*table.low[part].tolist(), *table.high[part].tolist())
        predicates[conjunction].add((int(table.channel[at]), bool(table.outside[at]), intervals))
    return [
        (
            frozenset(predicates[number]),
            frozenset(table.test[table.test_starts[number] : table.test_starts[number + 1]].tolist()),
        )
        for number in range(len(table.profile_of))
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(_TEXTS, min_size=1, max_size=12))
def test_first_alike_proposes_only_conjunctions_that_ask_the_same(texts: list[str]) -> None:
    table = read_predicates(bound(*texts))
    asked = what_each_asks(table)
    for number, first in enumerate(first_alike(table).tolist()):
        assert first <= number
        assert asked[first] == asked[number]


def test_first_alike_the_order_of_constraints_and_constants_does_not_count() -> None:
    same = bound("x > 1 and y = 'a'", "y = 'a' and x > 1", "1 < x and y in ('a')")
    assert first_alike(read_predicates(same)).tolist() == [0, 0, 0]
    sets = bound("x in (1, 2)", "x in (2, 1)", "x in (1, 3)", "x in (1, 2, 3)", "x != 1", "x = 1")
    assert first_alike(read_predicates(sets)).tolist() == [0, 0, 2, 3, 4, 5]


def test_first_alike_with_equal_digests_looks_at_the_predicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants could be chosen so that digests are equal: here all of them are."""
    monkeypatch.setattr(alike, "_digests", lambda table: np.zeros(len(table.profile_of), np.uint64))
    texts = ["x = 1", "x = 2", "x = 1 and y = 'a'", "x in (1, 3)", "x != 1", "x = 1 and y ends with 'b'", "x = 1"]
    trees = bound(*texts, *texts)
    assert first_alike(read_predicates(trees)).tolist()[::6] == [0, 0, 12]
    check(trees, ProfileIndex.build(trees))


def check(trees: list[Expression], index: ProfileIndex | LiveIndex, gone: frozenset[int] = frozenset()) -> None:
    """The index says of every event what the evaluator says, in a batch and singly."""
    wanted = [
        [number for number, tree in enumerate(trees) if number not in gone and holds(tree, event)] for event in _EVENTS
    ]
    matches = index.match(_BATCH)
    assert [matches.of(row) for row in range(len(_EVENTS))] == wanted
    assert [sorted(index.match_one(event)) for event in _EVENTS] == wanted
    assert [sorted(index.ids_of(event).tolist()) for event in _EVENTS] == wanted


@settings(max_examples=100, deadline=None)
@given(st.lists(_TEXTS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_profiles_that_ask_the_same_are_all_reported_until_they_are_removed(texts: list[str], random: Random) -> None:
    trees = bound(*(random.choice(texts) for _ in range(20)))
    index = ProfileIndex.build(trees)
    check(trees, index)
    first = frozenset(random.sample(range(20), random.randrange(20)))
    index.remove(sorted(first))
    check(trees, index, first)
    index.remove([number for number in range(20) if number not in first])
    check(trees, index, frozenset(range(20)))


def test_an_index_of_profiles_that_ask_the_same_is_small_and_travels() -> None:
    trees = bound(*(f"x = {number % 3} and y = 'a'" for number in range(3000)))
    index = ProfileIndex.build(trees, ids=range(7000, 10_000))
    assert index.postings.record_count == 3
    again = pickle.loads(pickle.dumps(index))
    for one in (index, again):
        assert sorted(one.match_one(_EVENTS[0])) == list(range(7001, 10_000, 3))
    again.remove([7001])
    assert sorted(again.ids_of(_EVENTS[0]).tolist()) == list(range(7004, 10_000, 3))


def test_a_live_index_adds_and_removes_those_that_ask_the_same() -> None:
    trees = bound(*(_PARTS[number % len(_PARTS)] for number in range(60)))
    live = LiveIndex(trees[:30])
    live.add_all(trees[30:58])
    for tree in trees[58:]:
        live.add(tree)
    gone = frozenset(range(0, 60, 7)) | frozenset(range(0, 60, len(_PARTS)))  # all that ask the first, too
    for number in gone:
        live.remove(number)
    check(trees, live, gone)
    live.compact()
    check(trees, live, gone)
