"""One event at a time: whatever carries it, the answer is that of the reference evaluator, and that of the ranks."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import nan
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import Point
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Attribute, Compare, Expression, Literal, TextTest
from comity.match.index import ProfileIndex
from comity.match.live import LiveIndex
from comity.match.ranks import Ranking
from comity.match.single import SingleEvents
from comity.testing import expressions

Path = tuple[str, ...]
_TEXTS = ["", "a", "ab", "abc", "b", "café", "caff", "日本", "日本語", "x" * 8, "x" * 9, "\U0001f600", "\ud800"]
_NUMBERS = [0, 1, -1, 2.5, -2.5, 1e300, -0.0, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, -(2**63), 2**70, 0.1, 1e-320]
_OTHERS: list[Any] = [
    None,
    True,
    False,
    Point(1.0, 2.0),
    [1, "a"],
    {"a": 1},
    b"a",
    timedelta(seconds=1),
    datetime(2026, 1, 1, tzinfo=UTC),
]
_VALUES = st.sampled_from([*_TEXTS, *_NUMBERS, *_OTHERS]) | st.integers() | st.floats(allow_nan=False) | st.text()
_CONSTANTS = st.sampled_from([*_TEXTS[:-1], *_NUMBERS, True, False]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=9
)
_TESTS = st.builds(
    lambda name, symbol, value: Compare(symbol, Attribute((name,)), Literal(value)),
    st.sampled_from("xyz"),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    _CONSTANTS,
) | st.builds(
    lambda name, text: TextTest("starts with", Attribute((name,)), text),
    st.sampled_from("xyz"),
    st.sampled_from(_TEXTS[:-1]),
)
_RECORDS = st.dictionaries(st.sampled_from("xyzw"), _VALUES)


class Reader:
    """Something with attributes that is neither a dict nor an event."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def get(self, path: Path) -> Any:
        return self._values.get(path[0])


def carriers(values: Mapping[str, Any]) -> list[Any]:
    record = {(name,): value for name, value in values.items()}
    return [record, Event("1", "/a", "T", data=dict(values)), Reader(values)]


def bound(*texts: str) -> list[Expression]:
    return [bind_text(text, Scope()) for text in texts]


@settings(max_examples=300, deadline=None)
@given(st.lists(_TESTS, min_size=1, max_size=8), _RECORDS)
@example(bound("x = 1", "x = true", "x > 0"), {"x": True})
@example(bound("x >= 9007199254740992", "x > 9007199254740992"), {"x": 2**53 + 1})
@example(bound("x < 'b'", "x = 'a'", "x > 'a'"), {"x": "\ud800"})
def test_match_one_any_carrier_agrees_with_the_evaluator(trees: list[Expression], values: dict[str, Any]) -> None:
    index = ProfileIndex.build(trees)
    for record in carriers(values):
        wanted = [number for number, tree in enumerate(trees) if holds(tree, record)]
        assert sorted(index.match_one(record)) == wanted
        assert sorted(index.ids_of(record).tolist()) == wanted


@settings(max_examples=200, deadline=None)
@given(st.lists(_TESTS, min_size=1, max_size=8), _RECORDS)
def test_the_kernel_ranks_as_python_does(trees: list[Expression], values: dict[str, Any]) -> None:
    """Ranks may differ only where no constant tells them apart."""
    index = ProfileIndex.build(trees)
    for record in carriers(values)[:1]:
        events = SingleEvents(index.rankings, index.postings, index.conditions, index.tests)
        events.ways().match_one(record)
        own = events._scratch.own
        for ranking, rank in zip(index.rankings, own.tolist(), strict=True):
            value = record.get(ranking.path) if ranking.path else None
            assert rank == ranking.of_value(value) or _tells_none_apart(ranking, value)


def _tells_none_apart(ranking: Ranking, value: Any) -> bool:
    return type(value) is str and not len(ranking._texts.bounds)


@settings(max_examples=150, deadline=None)
@given(st.lists(expressions.filters(), min_size=1, max_size=6), st.lists(expressions.events(), min_size=1, max_size=4))
def test_typed_events_with_times_and_structures_agree(trees: list[Expression], events: list[Event]) -> None:
    index = ProfileIndex.build(trees)
    again = pickle.loads(pickle.dumps(index))
    for event in events:
        wanted = [number for number, tree in enumerate(trees) if holds(tree, event)]
        assert sorted(index.match_one(event)) == sorted(index.ids_of(event).tolist()) == wanted
        assert sorted(again.match_one(event)) == wanted


def test_more_matches_than_there_was_room_for() -> None:
    count = 70_000  # more than the ints that are kept, and than the first buffer holds
    index = ProfileIndex.build([*bound("x = 1") * count, *bound("x = 2", "x > 0", "x = 1 and y = 2")])
    record = {("x",): 1}
    assert sorted(index.match_one(record)) == [*range(count), count + 1]
    assert sorted(index.ids_of(record).tolist()) == [*range(count), count + 1]
    index.remove([0, 17, count - 1])
    left = sorted({*range(count), count + 1} - {0, 17, count - 1})
    assert sorted(index.match_one(record)) == left
    assert sorted(index.ids_of({("x",): 1, ("y",): 2}).tolist()) == [*left, count + 2]


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_pass_with_gaps_are_found_whole(seed: int) -> None:
    """Records with nothing more to verify stand beside others, and removed ones among them."""
    random = Random(seed)
    texts = [random.choice(["x = 1", "x = 1", "x = 1", "x = 1 and y > 2", "x = 1 and z = 'a'"]) for _ in range(200)]
    trees = bound(*texts)
    index = ProfileIndex.build(trees)
    gone = set(random.sample(range(200), random.randrange(60)))
    index.remove(sorted(gone))
    for y in (1, 3):
        record = {("x",): 1, ("y",): y, ("z",): "a"}
        wanted = [number for number, tree in enumerate(trees) if number not in gone and holds(tree, record)]
        assert sorted(index.match_one(record)) == wanted
        assert sorted(index.ids_of(record).tolist()) == wanted


def test_results_are_the_callers_own() -> None:
    index = ProfileIndex.build(bound("x = 1", "x > 0"))
    first, empty = index.match_one({("x",): 1}), index.match_one({})
    array = index.ids_of({("x",): 1})
    first.append(7)
    empty.append(8)
    array[:] = 9
    assert sorted(index.match_one({("x",): 1})) == [0, 1]
    assert index.match_one({}) == []


def test_references_are_neither_lost_nor_kept() -> None:
    index = ProfileIndex.build(bound(*(f"x = 'text {number % 2}'" for number in range(300))))
    text, number = "text 1".replace("1", "1"), 1001
    record = {("x",): text, ("y",): number}
    index.match_one(record)
    gc.collect()
    before = [
        sys.getrefcount(thing) for thing in (record, text, index.match_one(record)[0], index.match_one(record)[-1])
    ]
    for _ in range(1000):
        index.match_one(record)
        index.ids_of(record)
    after = [
        sys.getrefcount(thing) for thing in (record, text, index.match_one(record)[0], index.match_one(record)[-1])
    ]
    assert before == after


def test_threads_match_beside_each_other() -> None:
    trees = bound(*(f"x = {number % 50} and y > {number % 7}" for number in range(2000)))
    index, live = ProfileIndex.build(trees), LiveIndex(trees)
    records = [{("x",): x, ("y",): y} for x in range(50) for y in range(8)]
    wanted = [[number for number, tree in enumerate(trees) if holds(tree, record)] for record in records]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(5):
            for at, record in enumerate(records):
                if sorted(index.match_one(record)) != wanted[at] or sorted(live.match_one(record)) != wanted[at]:
                    wrong.append(at)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_numbers_of_other_classes_are_no_numbers() -> None:
    """Only the language's own kinds are; the evaluator may think otherwise of classes that it does not know."""
    index = ProfileIndex.build(bound("x = 1", "exists x"))
    assert index.match_one({("x",): np.float32(1)}) == [1]


def test_nan_is_missing_as_in_columns() -> None:
    """It is refused at the border; should one come in, all ways give the same."""
    index = ProfileIndex.build(bound("x < 5", "x > 5", "x = 5", "x != 5", "not (x < 5)", "exists x", "not exists x"))
    wanted = index.match(pa.RecordBatch.from_pydict({"x": [nan]})).of(0)
    for record in carriers({"x": nan}):
        assert sorted(index.match_one(record)) == sorted(index.ids_of(record).tolist()) == sorted(wanted)
    assert index.match_one({}) == index.match_one({("x",): nan})


def test_data_that_is_no_plain_dict_is_asked_for_its_values() -> None:
    index = ProfileIndex.build(bound("x = 1", "exists y"))
    for data in (MappingProxyType({"x": 1}), defaultdict(int, x=1)):
        event = Event("1", "/a", "T", data=data)  # type: ignore[arg-type]
        assert index.match_one(event) == index.ids_of(event).tolist() == [0]


def test_live_match_one_while_others_come_and_go() -> None:
    """Profiles that stay are found each time, once."""
    live = LiveIndex(bound(*(f"x = {number % 5}" for number in range(300))))
    stay = [[number for number in range(300) if number % 5 == x] for x in range(5)]
    done = threading.Event()
    wrong: list[object] = []

    def work() -> None:
        while not done.is_set():
            for x in range(5):
                found = live.match_one({("x",): x})
                came = [number for number in found if number >= 300]
                if sorted(set(found) - set(came)) != stay[x] or len(found) != len(set(found)):
                    wrong.append((x, found))

    thread = threading.Thread(target=work)
    thread.start()
    for size in (1, 3, 70, 200, 2):
        numbers = live.add_all(bound("x >= 0") * size)
        assert sorted(set(live.match_one({("x",): 1})) - set(stay[1])) == numbers
        for number in numbers:
            live.remove(number)
        assert sorted(live.match_one({("x",): 1})) == stay[1]
        live.compact()
    done.set()
    thread.join()
    assert not wrong


_INSIDE = (
    {},
    {"x": 1, "device": {"serial": "x1"}},
    {"device": {"place": {"floor": 2}, "serial": None}},
    {"device": {"place": 3}},
    {"device": "x1"},
    {"device": None},
    {"device": [1]},
    {"device": Point(1.0, 2.0)},
)


@pytest.mark.parametrize("subject", [None, "s"])
def test_the_envelope_and_what_stands_inside_values_is_read_in_place(subject: str | None) -> None:
    texts = ("event.type = 'T'", "event.source = '/a'", "device.serial = 'x1'", "exists device.place.floor", "x = 1")
    trees = bound(*texts, "event.subject = 's'", "not exists device.serial", "event.time > 2026-01-01T00:00:00Z")
    index = ProfileIndex.build(trees)
    for values in _INSIDE:
        for time in (None, datetime(2026, 5, 1, tzinfo=UTC)):
            event = Event("1", "/a", "T", time, dict(values), subject)  # type: ignore[arg-type]
            wanted = [number for number, tree in enumerate(trees) if holds(tree, event)]
            assert sorted(index.match_one(event)) == wanted, values


def test_matching_while_an_event_is_read_goes_beside() -> None:
    """A dict may ask a key of a class of its own whether it is equal, and that may match, or let another thread."""
    index = ProfileIndex.build(bound("x = 1", "x = 2", "x > 0"))
    inner: list[list[int]] = []

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            inner.append(sorted(index.match_one({("x",): 2})))
            inner.append(sorted(index.ids_of({("x",): 2}).tolist()))
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    event = Event("1", "/a", "T", data={Name("x"): 1})
    assert sorted(index.match_one(event)) == [0, 2]
    assert sorted(index.ids_of(event).tolist()) == [0, 2]
    assert inner == [[1, 2]] * 4


def test_a_record_that_raises_leaves_the_index_as_it_was() -> None:
    class Broken:
        def get(self, path: Path) -> Any:
            raise RuntimeError("no values")

    index = ProfileIndex.build(bound("x = 1"))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no values"):
            index.match_one(Broken())
        assert index.match_one({("x",): 1}) == [0]


def test_an_index_has_no_other_functions_than_those_for_single_events() -> None:
    with pytest.raises(AttributeError, match="match_two"):
        ProfileIndex.build(bound("x = 1")).match_two  # type: ignore[attr-defined] # noqa: B018
