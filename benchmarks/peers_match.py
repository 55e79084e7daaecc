"""What the index is compared with: one filter after the other, and two counting matchers.

Counting looks up, for each attribute of an event, the constraints that its value satisfies, and counts them by
profile; a profile matches when the count is that of its constraints. *dicts* does it in Python with dictionaries and
binary search, *numba* is the same compiled, over the ranks that the index uses, with arrays for lists, and equality,
one-sided, two-sided and unequal constraints kept apart.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from comity.compiled import kernel
from comity.expression.compile import compile_filter
from comity.expression.tree import And, Between, Compare, Exists, Expression, In, Literal, TextTest
from comity.match.predicates import Predicates

Row = dict[tuple[str, ...], Any]


class Naive:
    """Every filter, compiled to closures."""

    def __init__(self, profiles: Sequence[Expression]) -> None:
        self._tests = [compile_filter(tree) for tree in profiles]

    def match(self, row: Row) -> list[int]:
        return [number for number, test in enumerate(self._tests) if test(row)]


class _OneAttribute:
    """The constraints on one attribute."""

    def __init__(self) -> None:
        self.equal: dict[Any, list[int]] = defaultdict(list)
        self.unequal: dict[Any, list[int]] = defaultdict(list)
        self.all_unequal: list[int] = []
        self.present: list[int] = []
        self.prefixes: dict[str, list[int]] = defaultdict(list)
        self.lengths: list[int] = []
        self.ordered: dict[str, list[tuple[Any, Any]]] = {symbol: [] for symbol in ("<", "<=", ">", ">=", "between")}
        self.bounds: dict[str, list[Any]] = {}

    def add(self, profile: int, node: Expression) -> None:
        match node:
            case Compare("=", _, Literal(value)):
                self.equal[value].append(profile)
            case Compare("!=", _, Literal(value)):
                self.unequal[value].append(profile)
                self.all_unequal.append(profile)
            case Compare(symbol, _, Literal(value)):
                self.ordered[symbol].append((value, profile))
            case Between(_, Literal(low), Literal(high)):
                self.ordered["between"].append((low, (high, profile)))
            case In(_, items):
                for value in {item.value for item in items if isinstance(item, Literal)}:
                    self.equal[value].append(profile)
            case TextTest("starts with", _, text):
                self.prefixes[text].append(profile)
            case Exists():
                self.present.append(profile)

    def close(self) -> None:
        self.lengths = sorted({len(prefix) for prefix in self.prefixes})
        for constraints in self.ordered.values():
            constraints.sort()
        self.bounds = {symbol: [bound for bound, _ in found] for symbol, found in self.ordered.items()}

    def count(self, value: Any, counts: dict[int, int]) -> None:
        for profile in self.equal.get(value, ()):
            counts[profile] += 1
        for profile in self.present:
            counts[profile] += 1
        for profile in self.all_unequal:
            counts[profile] += 1
        for profile in self.unequal.get(value, ()):
            counts[profile] -= 1
        for length in self.lengths:
            for profile in self.prefixes.get(value[:length], ()) if len(value) >= length else ():
                counts[profile] += 1
        bounds, ordered = self.bounds, self.ordered
        for symbol, chosen in (
            ("<", slice(bisect_right(bounds["<"], value), None)),
            ("<=", slice(bisect_left(bounds["<="], value), None)),
            (">", slice(0, bisect_left(bounds[">"], value))),
            (">=", slice(0, bisect_right(bounds[">="], value))),
        ):
            for _, profile in ordered[symbol][chosen]:
                counts[profile] += 1
        for _, (high, profile) in ordered["between"][: bisect_right(bounds["between"], value)]:
            if high >= value:
                counts[profile] += 1


class CountingDicts:
    """The counting matcher in Python."""

    def __init__(self, profiles: Sequence[Expression]) -> None:
        self._wanted = [len(tree.items) for tree in profiles if isinstance(tree, And)]
        self._attributes: dict[tuple[str, ...], _OneAttribute] = defaultdict(_OneAttribute)
        for number, tree in enumerate(profiles):
            assert isinstance(tree, And)
            for node in tree.items:
                attribute = node.attribute if isinstance(node, Exists) else getattr(node, "operand", None) or node.left  # type: ignore[union-attr]
                self._attributes[attribute.path].add(number, node)
        for one in self._attributes.values():
            one.close()

    def match(self, row: Row) -> list[int]:
        counts: dict[int, int] = defaultdict(int)
        for path, value in row.items():
            if value is not None and path in self._attributes:
                self._attributes[path].count(value, counts)
        wanted = self._wanted
        return [profile for profile, count in counts.items() if count == wanted[profile]]


class CountingNumba:
    """The counting matcher, compiled, over the ranks of the index."""

    def __init__(self, table: Predicates, profiles: int) -> None:
        channels = len(table.layouts)
        counts = np.diff(table.starts)
        first = table.starts[:-1]
        low, high = table.low[first], table.high[first]
        owner = table.profile_of[table.conjunction]
        outside, single = table.outside, (counts == 1) & ~table.outside
        equal = single & (low == high) & (low % 2 == 0)
        top = np.array([layout.size - 1 for layout in table.layouts])[table.channel]
        segment_low, segment_high, is_segment = _segments(table, outside, single, low, high, top)
        plain = single & ~equal & ~is_segment
        upper, lower = plain & (low <= 1), plain & (low > 1) & (high == top)
        both = plain & ~upper & ~lower
        self.wanted = np.bincount(owner[~is_segment], minlength=profiles).astype(np.uint8)
        sizes = np.array([layout.size // 2 + 1 for layout in table.layouts])
        self.equal_base = (np.cumsum(sizes) - sizes).astype(np.int64)
        several = np.flatnonzero(counts > 1)
        members = np.concatenate(
            [np.arange(table.starts[i], table.starts[i + 1]) for i in several] or [np.zeros(0, int)]
        )
        of_member = np.repeat(several, counts[several])
        keys = np.concatenate([np.flatnonzero(equal), of_member])
        ranks = np.concatenate([low[equal], table.low[members]])
        lists = self.equal_base[table.channel[keys]] + (ranks >> 1)
        order = np.argsort(lists, kind="stable")
        self.equal_owner = owner[keys][order].astype(np.int32)
        self.equal_start = np.concatenate([[0], np.cumsum(np.bincount(lists, minlength=int(sizes.sum())))])

        def sorted_by(chosen: Any, key: Any) -> tuple[Any, Any, Any]:
            at = np.flatnonzero(chosen)
            at = at[np.lexsort((key[at], table.channel[at]))]
            starts = np.concatenate([[0], np.cumsum(np.bincount(table.channel[at], minlength=channels))])
            return at, starts, owner[at].astype(np.int32)

        at, self.upper_start, self.upper_owner = sorted_by(upper, high)
        self.upper_high = high[at]
        at, self.lower_start, self.lower_owner = sorted_by(lower, low)
        self.lower_low = low[at]
        at, self.both_start, self.both_owner = sorted_by(both, low)
        self.both_low, self.both_high = low[at], high[at]
        at, self.unequal_start, self.unequal_owner = sorted_by(outside, low)
        self.unequal_low, self.unequal_from, self.unequal_to = low[at], segment_low[at], segment_high[at]
        self._counts = np.zeros(profiles, np.uint8)
        self._out = np.zeros(1 << 22, np.int32)

    def match(self, ranks: Any) -> tuple[Any, Any]:
        """Offsets and profiles for ranks by channel, then event."""
        events = np.ascontiguousarray(ranks.T)
        offsets = np.zeros(len(events) + 1, np.int64)
        while True:
            found = count_events(
                events,
                (self.wanted, self.equal_start, self.equal_base, self.equal_owner),
                (self.upper_start, self.upper_high, self.upper_owner),
                (self.lower_start, self.lower_low, self.lower_owner),
                (self.both_start, self.both_low, self.both_high, self.both_owner),
                (self.unequal_start, self.unequal_low, self.unequal_from, self.unequal_to, self.unequal_owner),
                self._counts,
                offsets,
                self._out,
            )
            if found >= 0:
                return offsets, self._out[:found]
            self._out = np.zeros(2 * len(self._out), np.int32)


def _segments(table: Predicates, outside: Any, single: Any, low: Any, high: Any, top: Any) -> tuple[Any, Any, Any]:
    """`!=` is an interval and a hole in the table: here they are one constraint again."""
    key = table.conjunction.astype(np.int64) * len(table.layouts) + table.channel
    holes, others = np.flatnonzero(outside), np.flatnonzero(single)
    others = others[np.argsort(key[others])]
    at = np.searchsorted(key[others], key[holes])
    at = np.minimum(at, max(len(others) - 1, 0))
    paired = key[others][at] == key[holes] if len(others) else np.zeros(len(holes), bool)
    segment_low, segment_high = np.zeros(table.count, np.int32), top.astype(np.int32)
    segment_low[holes[paired]], segment_high[holes[paired]] = low[others[at[paired]]], high[others[at[paired]]]
    is_segment = np.zeros(table.count, bool)
    is_segment[others[at[paired]]] = True
    return segment_low, segment_high, is_segment


@kernel
def count_events(
    events: Any, equal: Any, upper: Any, lower: Any, both: Any, unequal: Any, counts: Any, offsets: Any, out: Any
) -> Any:
    wanted, equal_start, equal_base, equal_owner = equal
    upper_start, upper_high, upper_owner = upper
    lower_start, lower_low, lower_owner = lower
    both_start, both_low, both_high, both_owner = both
    unequal_start, unequal_low, unequal_from, unequal_to, unequal_owner = unequal
    position = 0
    for event in range(events.shape[0]):
        offsets[event] = position
        if position + len(wanted) > len(out):
            return -1
        for i in range(len(wanted)):
            counts[i] = wanted[i]
        for channel in range(events.shape[1]):
            rank = events[event, channel]
            if rank == 0:
                continue
            if rank & 1 == 0:
                at = equal_base[channel] + (rank >> 1)
                for i in range(equal_start[at], equal_start[at + 1]):
                    profile = equal_owner[i]
                    counts[profile] -= 1
                    if counts[profile] == 0:
                        out[position] = profile
                        position += 1
            first = lower_bound(upper_high, upper_start[channel], upper_start[channel + 1], rank)
            for i in range(first, upper_start[channel + 1]):
                profile = upper_owner[i]
                counts[profile] -= 1
                if counts[profile] == 0:
                    out[position] = profile
                    position += 1
            last = lower_bound(lower_low, lower_start[channel], lower_start[channel + 1], rank + 1)
            for i in range(lower_start[channel], last):
                profile = lower_owner[i]
                counts[profile] -= 1
                if counts[profile] == 0:
                    out[position] = profile
                    position += 1
            last = lower_bound(both_low, both_start[channel], both_start[channel + 1], rank + 1)
            for i in range(both_start[channel], last):
                if both_high[i] >= rank:
                    profile = both_owner[i]
                    counts[profile] -= 1
                    if counts[profile] == 0:
                        out[position] = profile
                        position += 1
            for i in range(unequal_start[channel], unequal_start[channel + 1]):
                if unequal_low[i] != rank and unequal_from[i] <= rank and rank <= unequal_to[i]:
                    profile = unequal_owner[i]
                    counts[profile] -= 1
                    if counts[profile] == 0:
                        out[position] = profile
                        position += 1
    offsets[events.shape[0]] = position
    return position


@kernel
def lower_bound(values: Any, low: int, high: int, wanted: int) -> Any:
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
