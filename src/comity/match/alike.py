"""Which conjunctions ask the same: such stand in the index once, however many profiles have them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from comity.match.access import Flags, expand
from comity.match.buckets import Longs
from comity.match.predicates import Predicates

_Digests = npt.NDArray[np.uint64]
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xFF51AFD7ED558CCD, 0xD6E8FEB86659FD93], np.uint64)


def first_alike(table: Predicates) -> Longs:
    """For each conjunction the first one that has the same predicates and the same tests.

    Digests only propose it: whoever chooses the constants of profiles could choose some whose digests are equal.
    """
    digests = _digests(table)
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(order) else order
    first = np.empty(len(order), np.int64)
    first[order] = np.repeat(order[begins], np.diff(np.append(begins, len(order))))
    proposed = np.flatnonzero(first != np.arange(len(first)))
    wrong = proposed[~_are_same(table, proposed, first[proposed])]
    first[wrong] = wrong
    return first


def _digests(table: Predicates) -> _Digests:
    """A number for each conjunction, the same for those that ask the same in another order."""
    found = np.zeros(len(table.profile_of), np.uint64)
    if table.count:
        low, high = table.low.astype(np.uint64), table.high.astype(np.uint64)
        intervals = _mixed(low * _FACTORS[0] + high * _FACTORS[1])
        sets = np.add.reduceat(intervals, table.starts[:-1])
        named = table.channel.astype(np.uint64) * np.uint64(2) + table.outside
        np.add.at(found, table.conjunction, _mixed(sets + named * _FACTORS[2]))
    owner = np.repeat(np.arange(len(found)), np.diff(table.test_starts))
    np.add.at(found, owner, _mixed((table.test.astype(np.uint64) + np.uint64(1)) * _FACTORS[3]))
    return found


def _mixed(numbers: _Digests) -> _Digests:
    """Numbers whose sums differ, most likely, when they do."""
    numbers = (numbers ^ (numbers >> np.uint64(32))) * _FACTORS[2]
    return numbers ^ (numbers >> np.uint64(29))


def _are_same(table: Predicates, one: Longs, other: Longs) -> Flags:
    """Whether two conjunctions are the same, for pairs of them; of two in different orders it may say no."""
    used = np.zeros(len(table.profile_of), bool)
    used[one] = used[other] = True
    rows = np.flatnonzero(used[table.conjunction])
    first = table.starts[rows]
    sizes = np.diff(table.starts)[rows]
    order = np.lexsort((table.low[first], table.outside[rows], table.channel[rows], table.conjunction[rows]))
    rows, sizes = rows[order], sizes[order]
    counts = np.bincount(table.conjunction[rows], minlength=len(used))
    starts = np.cumsum(counts) - counts
    tests = np.diff(table.test_starts)
    same: Flags = (counts[one] == counts[other]) & (tests[one] == tests[other])

    pairs = np.flatnonzero(same)
    pair, a, b = _aligned(pairs, starts[one[pairs]], starts[other[pairs]], counts[one[pairs]])
    differs = (table.channel[rows[a]] != table.channel[rows[b]]) | (table.outside[rows[a]] != table.outside[rows[b]])
    same[pair[differs | (sizes[a] != sizes[b])]] = False

    kept = np.flatnonzero(same[pair])
    pair, a, b = _aligned(pair[kept], table.starts[rows[a[kept]]], table.starts[rows[b[kept]]], sizes[a[kept]])
    same[pair[(table.low[a] != table.low[b]) | (table.high[a] != table.high[b])]] = False

    pairs = np.flatnonzero(same & (tests[one] > 0))
    pair, a, b = _aligned(pairs, table.test_starts[one[pairs]], table.test_starts[other[pairs]], tests[one[pairs]])
    same[pair[table.test[a] != table.test[b]]] = False
    return same


def _aligned(
    pairs: Longs, one: npt.NDArray[np.integer], other: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]
) -> tuple[Longs, Longs, Longs]:
    """The elements of pairs of runs: which pair, and the places in both."""
    return np.repeat(pairs, counts), expand(one, counts), expand(other, counts)
