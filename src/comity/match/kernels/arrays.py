"""The records of arrays that kernels read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
PADDING = 64
"""Records after the last one, so that vectors may read past it."""


PASSES = 255 << 16
"""An atom that always passes: any bucket of channel 0. As its first atom, a record has nothing more to verify."""


class Postings(NamedTuple):
    """The arrays that kernels read."""

    bucket: npt.NDArray[np.uint8]
    bucket_start: Longs
    equal_start: Longs
    """List of rank 0, by channel; below zero where a channel has no lists for equality."""
    level_start: Longs
    level_shift: Longs
    level_list: Longs
    takes_missing: npt.NDArray[np.uint8]
    """Whether an event without the attribute has to look into the channel's lists at all."""
    column_start: Longs
    column_channel: Longs
    """The channels that the records under a channel verify in buckets."""
    list_start: Words
    atoms0: Words
    atoms1: Words
    atoms2: Words
    atoms3: Words
    low: Ints
    """Exact bounds, four to a record: it passes when rank - low, as 32 bits without sign, is at most span."""
    span: Words
    rest_start: Words
    rest_channel: Ints
    rest_low: Ints
    rest_span: Words
    set_low: Ints
    set_high: Ints
    target: Ints

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self)

    @property
    def record_count(self) -> int:
        return len(self.target) - PADDING


PLAIN, ONCE, TESTED = range(3)
"""What is to be done with a target below zero: report its members, look which of them are there and not reported
already, or evaluate its tests first."""


class Conditions(NamedTuple):
    """What stands behind the targets below zero: target t is entry -1 - t."""

    kind: Ints
    member_start: Ints
    """The members of entry e are from `member_start[e]` to `member_start[e + 1]`: at least one."""
    profile: Ints
    """By member; below zero for one that was removed, in place, after its entry was marked with `ONCE`."""
    slot: Ints
    """By member, a number for each profile with several conjunctions, -1 for the others."""
    test_start: Ints
    test: Ints
    slots: int

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self[:-1])


class NumberScale(NamedTuple):
    """The constants as numbers of one kind, and a grid that brackets the search in them."""

    floors: npt.NDArray[Any]
    exact: npt.NDArray[np.bool_]
    grid: Ints
    origin: float
    scale: float
    base: int
    """The rank of the gap below them."""


class KnownTexts(NamedTuple):
    """The constants as bytes, with a hash table over them."""

    offsets: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]
    table: Ints
    bounds: npt.NDArray[np.int64]
    """Those that texts are ordered by."""
    shared: int
    """Bytes that all bounds begin with."""
    words: npt.NDArray[np.uint64]
    """Of each bound, the eight bytes after those, as a number in the same order."""
    base: int
    unknown: int
    """The rank of a text that none of them equals, when none is compared by order."""


IN_DATA, IN_ENVELOPE, INSIDE, NOWHERE = range(4)
"""Where an event has an attribute: in its data, beside it, in a value of its data, or never."""


class ChannelReading(NamedTuple):
    """How one event's value is ranked in a channel, besides numbers and texts."""

    place: int
    """Where the value stands in the list of values, and its path in that of paths; below zero if no value is read."""
    where: int
    offset: int
    """Bytes from an event's address on, for what it has beside its data."""
    fixed: int
    """The rank where no value is read."""
    in_python: int
    """Whether a value that is there has to be ranked in Python."""
    takes_numbers: int
    if_false: int
    if_true: int
    others: int


class Scratch(NamedTuple):
    """What matching one event writes into."""

    own: Ints
    """By channel, the rank of the event."""
    buckets: Words
    begins: Words
    ends: Words
    out: Ints
    """The targets."""
    found: Ints
    """The profiles."""
    needed: Longs
    """One number: how much `out` or `found` would have to hold."""
    seen: Longs
    """By slot, the number of the last event that reported the profile."""
    events: Longs
    """One number: that of the events so far."""
    left: Longs
    """One number: that of the targets of the last event, or what Python has to do first."""
    busy: Longs
    """One number: 1 while all this is in use."""


class SingleWay(NamedTuple):
    """What a function for single events is bound to."""

    call: int
    """The address of all that is packed."""
    makes_array: int
    """Whether it gives an array instead of a list."""
    go_on: int
    """The function that does the rest in Python."""
    beside: int
    """The function that takes an event while another one is in work."""


class PythonObjects(NamedTuple):
    """The addresses of what values are compared with, and of what reads and makes objects."""

    none: int
    true: int
    boolean: int
    whole: int
    real: int
    text: int
    mapping: int
    event: int
    data: int
    """Where an event has its data: bytes from its address on."""
    names: int
    """The list of the first names of all paths."""
    paths: int
    """The list of all paths."""
    make_array: int
    """NumPy's function, its class of arrays, and the number of int32."""
    array: int
    int32: int
    ints: Longs
    """Those of the first ints."""
