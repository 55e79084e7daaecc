"""Where conjunctions stand: an event finds each of those that its rank is for, once, and looks at few others."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from comity.match.access import LEVELS, MAX_POSTED, Posted, _fitting_levels, post
from comity.match.channels import Layout, View
from comity.match.predicates import Predicates

Interval = tuple[int, int]


def table_of(predicates: list[tuple[int, bool, list[Interval]]], sizes: list[int]) -> Predicates:
    """A table with one predicate for each conjunction: channel, whether outside, intervals."""
    counts = [len(intervals) for _, _, intervals in predicates]
    ends = [end for _, _, intervals in predicates for end in intervals]
    count = len(predicates)
    return Predicates(
        [Layout((str(i),), View.VALUE, [], [], set(), 9) for i in range(len(sizes))],
        np.arange(count, dtype=np.int32),
        np.zeros(count + 1, np.int32),
        np.zeros(0, np.int32),
        [],
        np.arange(count, dtype=np.int32),
        np.array([channel for channel, _, _ in predicates], np.int32),
        np.array([outside for _, outside, _ in predicates], bool),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        np.array([low for low, _ in ends], np.int32),
        np.array([high for _, high in ends], np.int32),
    )


@st.composite
def predicates(draw: st.DrawFn, size: int) -> tuple[bool, list[Interval]]:
    """Disjoint intervals in ascending order, as the table has them: points, one interval, or what lies outside."""
    kind = draw(st.sampled_from(["interval", "points", "many", "outside"]))
    if kind == "many":
        step = draw(st.sampled_from([2, 3]))
        return False, [(at, at) for at in range(0, min(size, step * (MAX_POSTED + 5)), step)]
    if kind == "points":
        points = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=4))
        return False, [(point, point) for point in sorted(points)]
    low, high = sorted(draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))))
    return kind == "outside", [(low, high)]


def looked_into(posted: Posted, channel: int, rank: int) -> list[int]:
    """The entries that an event with this rank looks at: the list of its constant, and a cell at each level."""
    levels = range(posted.level_start[channel], posted.level_start[channel + 1])
    lists = [posted.level_list[level] + (rank >> int(posted.level_shift[level])) for level in levels]
    if rank % 2 == 0 and posted.equal_start[channel] >= 0:
        lists.append(posted.equal_start[channel] + rank // 2)
    assert all(0 <= at < posted.lists for at in lists)
    return [entry for at in lists for entry in np.flatnonzero(posted.key == at).tolist()]


@given(st.data())
def test_an_event_finds_each_conjunction_once(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.sampled_from([3, 8, 9, 200, 333]), min_size=1, max_size=2))
    drawn = [
        (channel, *data.draw(predicates(sizes[channel])))
        for channel in data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=12))
    ]
    table = table_of(drawn, sizes)
    posted = post(table, np.arange(len(drawn)), sizes)
    assert set(posted.place.tolist()) == set(range(len(drawn)))
    for channel, size in enumerate(sizes):
        for rank in data.draw(st.lists(st.integers(0, size - 1), max_size=12)):
            entries = looked_into(posted, channel, rank)
            certain = [entry for entry in entries if not posted.keeps_predicate[entry]]
            passed = Counter(
                int(posted.place[entry])
                for entry in certain
                if not posted.keeps_interval[entry] or posted.low[entry] <= rank <= posted.high[entry]
            )
            later = {int(posted.place[entry]) for entry in entries if posted.keeps_predicate[entry]}
            for number, (own, outside, intervals) in enumerate(drawn):
                holds = own == channel and any(low <= rank <= high for low, high in intervals) != outside
                if number in later or outside or len(intervals) > MAX_POSTED:
                    assert passed[number] == 0
                    assert number in later or not holds
                else:
                    assert passed[number] == holds


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)).map(sorted), min_size=1))
def test_an_interval_stands_at_the_finest_level_with_at_most_two_cells(intervals: list[list[int]]) -> None:
    low, high = (np.array(ends, np.int64) for ends in zip(*intervals, strict=True))
    expected = [next(level for level in range(LEVELS) if (b >> level) - (a >> level) <= 1) for a, b in zip(low, high)]
    assert _fitting_levels(low, high).tolist() == expected


def test_cells_are_as_fine_as_there_are_records_to_fill_them() -> None:
    """A thousand short intervals are spread over many cells, and three of them over one or two."""
    size = 4_096
    for count, least, most in ((1_000, 64, 300), (3, 1, 4)):
        starts = np.linspace(0, size - 3, count).astype(int).tolist()
        drawn = [(0, False, [(at, at + 1)]) for at in starts]
        posted = post(table_of(drawn, [size]), np.arange(count), [size])
        assert least <= len(set(posted.key.tolist())) <= most
        assert len(posted.key) <= 2 * count


def test_what_is_equal_to_a_constant_needs_no_second_look() -> None:
    drawn = [(0, False, [(8, 8), (10, 10)]), (0, False, [(7, 7)]), (0, False, [(8, 9)])]
    posted = post(table_of(drawn, [20]), np.arange(3), [20])
    keeps = {(int(place), bool(keeps)) for place, keeps in zip(posted.place, posted.keeps_interval)}
    assert keeps == {(0, False), (1, True), (2, True)}
    assert not posted.keeps_predicate.any()
