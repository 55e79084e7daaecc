"""The predicates of all profiles as one table of ranks: what the posting lists are built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from comity.event.types import AttributeType
from comity.expression.tree import Expression
from comity.match.channels import Channel, Ints, Layout, Path
from comity.match.pace import Rest, no_rest
from comity.match.reading import PredicateRows, ReadProfiles


@dataclass(frozen=True, slots=True)
class Predicates:
    """Columns, one row for each predicate. A conjunction (`profile_of`) holds when its predicates and its tests hold.

    A predicate is over one channel: the rank lies in one of its intervals, or, where `outside`, in none. Those of
    predicate i are from `starts[i]` to `starts[i + 1]`: disjoint, ascending and not empty.
    """

    layouts: list[Layout]
    profile_of: Ints
    test_starts: Ints
    """The tests of conjunction i are `test[test_starts[i]:test_starts[i + 1]]`, by their place in `tests`."""
    test: Ints
    tests: list[Expression]
    conjunction: Ints
    channel: Ints
    outside: np.ndarray
    starts: Ints
    low: Ints
    high: Ints

    @property
    def count(self) -> int:
        return len(self.channel)


def read_predicates(profiles: Sequence[Expression], declared: Mapping[Path, AttributeType] | None = None) -> Predicates:
    """The table of these profiles; `declared` tells the kinds of attributes that have one."""
    reading = ReadProfiles(declared)
    reading.read(profiles)
    return settled(reading.rows(0, len(profiles)), reading.channels, reading.tests)


def settled(
    rows: PredicateRows, channels: Sequence[Channel], tests: Sequence[Expression], rest: Rest = no_rest
) -> Predicates:
    """The table of rows, with the constants and tests that they use and no others."""
    used, channel = _by_use(rows.channel)
    of_interval = np.repeat(channel, rows.interval_count)
    low, high = rows.low.copy(), rows.high.copy()
    layouts: list[Layout] = []
    for number, at in enumerate(used):
        here = np.flatnonzero(of_interval == number)
        layout, (low[here], high[here]) = channels[at].resolve(low[here], high[here])
        layouts.append(layout)
        rest()
    own_tests, test = np.unique(rows.test, return_inverse=True)
    table = Predicates(
        layouts,
        rows.profile,
        _starts(rows.test_count),
        test.astype(np.int32),
        [tests[i] for i in own_tests.tolist()],
        rows.conjunction,
        channel,
        rows.outside.astype(bool),
        _starts(rows.interval_count),
        low,
        high,
    )
    return _without_the_impossible(_merged(table))


def kept(table: Predicates, conjunctions: np.ndarray) -> Predicates:
    """The table without the predicates of conjunctions that are not marked; these keep their numbers."""
    keep = conjunctions[table.conjunction]
    return table if keep.all() else _selected(table, keep, table.low, table.high)


def _by_use(channel: Ints) -> tuple[list[int], Ints]:
    """The channels in the order of their use, that of all events first, and the same ones by their place there.

    Only so many of them fit the fast part of the index.
    """
    use = np.bincount(channel, minlength=1)
    order = [0, *(at for at in (1 + np.argsort(-use[1:], kind="stable")).tolist() if use[at])]
    number = np.zeros(len(use), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return order, number[channel]


def _merged(table: Predicates) -> Predicates:
    """One interval for all single intervals of a conjunction on a channel: `x > 3 and x < 9` is a range."""
    counts = np.diff(table.starts)
    single = np.flatnonzero((counts == 1) & ~table.outside)
    key = table.conjunction[single].astype(np.int64) * len(table.layouts) + table.channel[single]
    order = np.argsort(key, kind="stable")
    single, key = single[order], key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, np.int64)
    if len(first) == len(key):
        return table
    low, high = table.low.copy(), table.high.copy()
    at = table.starts[single]
    low[at[first]] = np.maximum.reduceat(table.low[at], first)
    high[at[first]] = np.minimum.reduceat(table.high[at], first)
    keep = np.ones(table.count, bool)
    keep[single] = False
    keep[single[first]] = True
    return _selected(table, keep, low, high)


def _without_the_impossible(table: Predicates) -> Predicates:
    """Without conjunctions that ask for an empty interval."""
    empty = (np.diff(table.starts) == 1) & (table.low[table.starts[:-1]] > table.high[table.starts[:-1]])
    dead = np.zeros(len(table.profile_of), bool)
    dead[table.conjunction[empty & ~table.outside]] = True
    keep = ~dead[table.conjunction]
    return table if keep.all() else _selected(table, keep, table.low, table.high)


def _selected(table: Predicates, keep: np.ndarray, low: Ints, high: Ints) -> Predicates:
    counts = np.diff(table.starts)
    of_interval = np.repeat(keep, counts)
    return Predicates(
        table.layouts,
        table.profile_of,
        table.test_starts,
        table.test,
        table.tests,
        table.conjunction[keep],
        table.channel[keep],
        table.outside[keep],
        _starts(counts[keep]),
        low[of_interval],
        high[of_interval],
    )


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
