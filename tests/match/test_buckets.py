"""Buckets: what they say for certain is so, and they are uncertain only where they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from comity.match.buckets import AT_HIGH, AT_LOW, MAX_BUCKETS, MAX_CHANNELS, NEVER, Buckets
from comity.match.kernels.arrays import PASSES
from comity.match.selectivity import Sample

_SIZES = st.integers(2, 12) | st.sampled_from([MAX_BUCKETS, MAX_BUCKETS + 1, 400, 3_000])


@st.composite
def samples(draw: st.DrawFn, channels: int = 2) -> Sample:
    """Sizes of channels, and perhaps ranks that occurred, some of them often."""
    sizes = draw(st.lists(_SIZES, min_size=channels, max_size=channels))
    if draw(st.booleans()):
        return Sample(sizes, None)
    count = draw(st.sampled_from([0, 1, 3, 600]))
    random = np.random.default_rng(draw(st.integers(0, 9)))
    ranks = np.array([random.zipf(1.4, count) % size for size in sizes], np.int32).reshape(channels, count)
    return Sample(sizes, ranks)


def answer(atom: int, bucket: int) -> tuple[bool, bool]:
    """Whether an atom passes for a bucket, and whether that is certain, as `buckets` tells it."""
    low, span, flags = atom >> 8 & 255, atom >> 16 & 255, atom >> 24
    distance = (bucket - low) % 256
    uncertain = (distance == 0 and flags & AT_LOW) or (distance == span and flags & AT_HIGH)
    return distance <= span, not uncertain


@given(samples())
def test_every_rank_has_a_bucket_and_missing_values_one_of_their_own(sample: Sample) -> None:
    buckets = Buckets.of(sample)
    for channel, size in enumerate(sample.sizes):
        edges = buckets.edges[channel].tolist()
        assert edges == sorted(set(edges))
        assert (edges[0], edges[1], edges[-1]) == (0, 1, size)
        assert len(edges) - 1 <= MAX_BUCKETS
        own = buckets.table[buckets.start[channel] : buckets.start[channel + 1]].tolist()
        expected = [sum(edge <= rank for edge in edges) - 1 for rank in range(size)]
        assert own == expected


@given(samples(), st.data())
def test_atoms_are_certain_wherever_a_bucket_lies_on_one_side(sample: Sample, data: st.DataObject) -> None:
    buckets = Buckets.of(sample)
    channel = data.draw(st.integers(0, 1))
    size = sample.sizes[channel]
    edges = buckets.edges[channel].tolist()
    ends = st.integers(0, size - 1) | st.sampled_from([edge for edge in edges if edge < size])
    low, high = sorted(data.draw(st.tuples(ends, ends)))
    outside = data.draw(st.booleans()) and (low, high) != (0, size - 1)

    def column(value: Any, kind: Any) -> Any:
        return np.array([value], kind)

    found = buckets.atoms(
        column(channel, np.int32), column(low, np.int64), column(high, np.int64), column(outside, np.bool_)
    )
    atom = int(found[0])
    assert atom & 255 == channel
    for number in range(len(edges) - 1):
        inside = [low <= rank <= high for rank in range(edges[number], edges[number + 1])]
        meant = {one != outside for one in inside}
        # On one side of the interval a bucket needs no second look; with something of both it does.
        assert answer(atom, number) == ((meant.pop(), True) if len(meant) == 1 else (True, False))


@given(st.integers(0, MAX_BUCKETS))
def test_the_atoms_for_all_and_for_none(bucket: int) -> None:
    assert answer(PASSES, bucket) == (True, True)
    always = 4  # the one bucket that channel 0 has, for every event
    assert not answer(NEVER, always)[0]


def test_ranks_that_occur_often_have_a_bucket_of_their_own() -> None:
    ranks = np.array([[700] * 500 + list(range(1, 2_000))], np.int32)
    edges = Buckets.of(Sample([2_000], ranks)).edges[0].tolist()
    assert {700, 701} <= set(edges)


def test_only_so_many_channels_have_buckets() -> None:
    buckets = Buckets.of(Sample([9] * (MAX_CHANNELS + 3), None))
    assert len(buckets.edges) == MAX_CHANNELS
    assert len(buckets.start) == MAX_CHANNELS + 1
