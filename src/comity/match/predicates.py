"""The predicates of all profiles as one table of ranks: what the posting lists are built from."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from comity.event.types import AttributeType
from comity.expression.tree import And, Expression, IsType
from comity.match.channels import LAST, MISSING, TRUE, Ints, Layout, Path, ranks_of
from comity.match.conjunctions import Conjunction, ConjunctionReader
from comity.match.regions import Region


@dataclass(frozen=True, slots=True)
class Predicates:
    """Columns, one row for each predicate. A conjunction (`profile_of`) holds when its predicates and its tests hold.

    A predicate is over one channel: the rank lies in one of its intervals, or, where `outside`, in none. Those of
    predicate i are from `starts[i]` to `starts[i + 1]`: disjoint, ascending and not empty.
    """

    layouts: list[Layout]
    profile_of: Ints
    tests_of: list[tuple[int, ...]]
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


@dataclass(slots=True)
class _Rows:
    """The table while it grows, ends of intervals as codes."""

    profile_of: array[int] = field(default_factory=lambda: array("i"))
    tests_of: list[tuple[int, ...]] = field(default_factory=list)
    tests: dict[Expression, int] = field(default_factory=dict)
    conjunction: array[int] = field(default_factory=lambda: array("i"))
    channel: array[int] = field(default_factory=lambda: array("i"))
    outside: array[int] = field(default_factory=lambda: array("b"))
    counts: array[int] = field(default_factory=lambda: array("i"))
    low: array[int] = field(default_factory=lambda: array("i"))
    high: array[int] = field(default_factory=lambda: array("i"))

    def take(self, profile: int, conjunction: Conjunction) -> None:
        number = len(self.profile_of)
        self.profile_of.append(profile)
        tests = self.tests
        self.tests_of.append(tuple(tests.setdefault(test, len(tests)) for test in conjunction.tests))
        for region in conjunction.regions or (_ALWAYS_REGION,):
            self._take_region(number, region)

    def _take_region(self, number: int, region: Region) -> None:
        channel, intervals = region
        if len(intervals) == 2 and not _are_points(intervals):  # most often `!=`: an interval with a hole
            (low, below), (above, high) = intervals
            if low != MISSING or high != LAST:
                self._add(number, channel, 0, ((low, high),))
            self._add(number, channel, 1, ((below + 1, above - 1),))
        else:
            self._add(number, channel, 0, intervals)

    def _add(self, number: int, channel: int, outside: int, intervals: tuple[tuple[int, int], ...]) -> None:
        self.conjunction.append(number)
        self.channel.append(channel)
        self.outside.append(outside)
        self.counts.append(len(intervals))
        for low, high in intervals:
            self.low.append(low)
            self.high.append(high)


_ALWAYS_REGION: Region = (0, ((TRUE, TRUE),))


def _are_points(intervals: tuple[tuple[int, int], ...]) -> bool:
    return all(low == high for low, high in intervals)


def read_predicates(profiles: Sequence[Expression], declared: Mapping[Path, AttributeType] | None = None) -> Predicates:
    """The table of these profiles; `declared` tells the kinds of attributes that have one."""
    reader, rows = ConjunctionReader(declared), _Rows()
    for names in sorted(_families(profiles), key=len, reverse=True):
        reader.regions.type_names(names)
    for number, tree in enumerate(profiles):
        for conjunction in reader.read(tree):
            rows.take(number, conjunction)
    return _settled(reader, rows)


def _families(profiles: Sequence[Expression]) -> set[tuple[str, ...]]:
    """The types that profiles are about, as far as they say so up front."""
    found: set[tuple[str, ...]] = set()
    for tree in profiles:
        for item in tree.items if type(tree) is And else (tree,):
            if type(item) is IsType:
                found.add(item.names)
    return found


def _settled(reader: ConjunctionReader, rows: _Rows) -> Predicates:
    channels = reader.regions.channels
    layouts = [channel.layout() for channel in channels]
    tables = [channel.ranks_of_identities(layout) for channel, layout in zip(channels, layouts, strict=True)]
    counts, channel = _ints(rows.counts), _ints(rows.channel)
    channel, layouts, tables = _by_use(channel, layouts, tables)
    of_interval = np.repeat(channel, counts)
    low, high = ranks_of(_ints(rows.low), of_interval, tables), ranks_of(_ints(rows.high), of_interval, tables)
    table = Predicates(
        layouts,
        _ints(rows.profile_of),
        rows.tests_of,
        list(rows.tests),
        _ints(rows.conjunction),
        channel,
        np.frombuffer(rows.outside, np.int8).astype(bool),
        _starts(counts),
        low,
        high,
    )
    return _without_the_impossible(_merged(table))


def _by_use(channel: Ints, layouts: list[Layout], tables: list[Ints]) -> tuple[Ints, list[Layout], list[Ints]]:
    """Channels in the order of their use, that of all events first: only so many fit the fast part of the index."""
    use = np.bincount(channel, minlength=len(layouts))
    order = [0, *(1 + np.argsort(-use[1:], kind="stable")).tolist()]
    number = np.argsort(order).astype(np.int32)
    return number[channel], [layouts[i] for i in order], [tables[i] for i in order]


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
        table.tests_of,
        table.tests,
        table.conjunction[keep],
        table.channel[keep],
        table.outside[keep],
        _starts(counts[keep]),
        low[of_interval],
        high[of_interval],
    )


def _ints(values: array[int]) -> Ints:
    return np.array(values, np.int32)


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
