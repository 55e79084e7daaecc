"""Channels: what the index knows of an attribute. A channel turns values into ranks, small integers in the order of the
constants.

The ranks of a channel are laid out in segments, each with a gap below, between and above its constants:

    0 missing | bools | numbers | strings | anything else

so that every comparison with a constant is an interval of ranks. Constants have even ranks, gaps odd ones. While
profiles are read their constants are not sorted yet; an end of an interval is then a *code*, `identity * 16 + 8 +
shift`, that `Channel.resolve` turns into ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Path = tuple[str, ...]
Ints = npt.NDArray[np.int32]
Interval = tuple[int, int]
"""Both ends included: of codes while profiles are read, of ranks afterwards."""


class View(IntEnum):
    """How a channel reads the values of its attribute."""

    VALUE = 0
    """As they are."""
    TIMESTAMP = 1
    """As microseconds since 1970; a text is read as a timestamp."""
    DURATION = 2
    """As microseconds; a text is read as a duration."""
    TYPE = 3
    """As names of types, in an order that keeps subtypes together."""
    ALWAYS = 4
    """Not at all: every event has the same rank."""


SCALE, MIDDLE = 16, 8


def _marker(identity: int) -> int:
    return identity * SCALE + MIDDLE


_MARKERS = 11
MISSING, FIRST, LAST, FALSE, TRUE = (_marker(i) for i in range(5))
NUMBERS_FROM, NUMBERS_TO, STRINGS_FROM, STRINGS_TO, OTHERS_FROM, OTHERS_TO = (_marker(i) for i in range(5, _MARKERS))

NUMBERS: Interval = (NUMBERS_FROM, NUMBERS_TO)
STRINGS: Interval = (STRINGS_FROM, STRINGS_TO)
BOOLS: Interval = (FALSE, TRUE)
PRESENT: Interval = (FIRST, LAST)
ANYTHING: Interval = (MISSING, LAST)

RANK_MISSING, RANK_FALSE, RANK_TRUE, RANK_NUMBERS = 0, 2, 4, 7
RANK_ALWAYS = RANK_TRUE
"""The rank that every event has in the channel ALWAYS."""


@dataclass(slots=True)
class Channel:
    """An attribute seen in one way, and the constants that profiles compare it with."""

    path: Path
    view: View
    numbers: dict[Any, int] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    bounds: set[str] = field(default_factory=set)
    """The strings that are ends of intervals; the others are only compared for equality."""
    constants: list[Any] = field(default_factory=list)
    """By identity: the first one has the identity after those of the markers."""

    def number(self, value: int | float) -> int:
        """The code of a number, the same for equal numbers."""
        return self._code(self.numbers, value)

    def string(self, value: str) -> int:
        """The code of a string that is only compared for equality."""
        return self._code(self.strings, value)

    def bound(self, value: str) -> int:
        """The code of a string that values are ordered by."""
        self.bounds.add(value)
        return self._code(self.strings, value)

    def _code(self, known: dict[Any, int], value: Any) -> int:
        code = known.get(value)
        if code is None:
            code = known[value] = _marker(_MARKERS + len(self.constants))
            self.constants.append(value)
        return code

    def layout(self) -> Layout:
        """All constants in order, and where their segments begin."""
        return self._layout(self.constants)

    def _layout(self, constants: list[Any]) -> Layout:
        strings = [constant for constant in constants if type(constant) is str]
        numbers = sorted(constants if not strings else [value for value in constants if type(value) is not str])
        if self.view is not View.TYPE:
            strings.sort()
        return Layout(self.path, self.view, numbers, strings, self.bounds, RANK_NUMBERS + 2 * len(numbers) + 2)

    def resolve(self, *codes: Ints) -> tuple[Layout, list[Ints]]:
        """The layout of just the constants that these codes use, and the ranks that the codes stand for in it."""
        used = np.zeros(_MARKERS + len(self.constants), bool)
        for ends in codes:
            used[ends // SCALE] = True
        identities = np.flatnonzero(used[_MARKERS:])
        every = self.view is View.TYPE or len(identities) == len(self.constants)  # a run of types names its ends only
        layout = self._layout(self.constants if every else [self.constants[i] for i in identities.tolist()])
        ranks = self._ranks_of_identities(layout)
        return layout, [(ranks[ends // SCALE] + ends % SCALE - MIDDLE).astype(np.int32) for ends in codes]

    def thinned(self, *codes: Ints) -> tuple[Channel, list[Ints]]:
        """A channel with just the constants that these codes use, and the codes that they are there."""
        channel = Channel(self.path, self.view)
        used = np.zeros(_MARKERS + len(self.constants), bool)
        used[:_MARKERS] = True
        for ends in codes:
            used[ends // SCALE] = True
        if self.view is View.TYPE:
            used[:] = True
        for at in np.flatnonzero(used[_MARKERS:]).tolist():
            constant = self.constants[at]
            if type(constant) is not str:
                channel.number(constant)
            elif constant in self.bounds:
                channel.bound(constant)
            else:
                channel.string(constant)
        identity = np.cumsum(used, dtype=np.int32) - np.int32(1)
        return channel, [identity[ends // SCALE] * np.int32(SCALE) + ends % np.int32(SCALE) for ends in codes]

    def _ranks_of_identities(self, layout: Layout) -> Ints:
        """The rank of each marker and of each constant in the layout, by its identity."""
        found = np.zeros(_MARKERS + len(self.constants), np.int32)
        others = layout.others_rank
        found[:_MARKERS] = [
            *(RANK_MISSING, 1, others, RANK_FALSE, RANK_TRUE),
            *(RANK_NUMBERS, layout.strings_from - 2, layout.strings_from, others - 2, others, others),
        ]
        for known, ordered, start in (
            (self.numbers, layout.numbers, RANK_NUMBERS),
            (self.strings, layout.strings, layout.strings_from),
        ):
            codes = np.fromiter(map(known.__getitem__, ordered), np.int64, len(ordered))
            found[codes // SCALE] = start + 1 + 2 * np.arange(len(ordered), dtype=np.int32)
        return found


@dataclass(frozen=True, slots=True)
class Layout:
    """A channel whose constants are settled."""

    path: Path
    view: View
    numbers: list[Any]
    strings: list[str]
    bounds: set[str]
    strings_from: int

    @property
    def others_rank(self) -> int:
        """The rank of a value that is no bool, number or string."""
        return self.strings_from + 2 * len(self.strings) + 2

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.others_rank + 1
