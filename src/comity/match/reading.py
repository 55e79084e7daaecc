"""Profiles as they are read: a table of predicates that only grows, from which an index over any of them is built.

What a profile says is read once. Ends of intervals stay codes (`channels.py`), which mean the same however many
constants come later, so that an index is built again without looking at an expression, and the expressions need not be
kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from comity.event.types import AttributeType
from comity.expression.tree import And, Expression, IsType
from comity.match.channels import LAST, MISSING, TRUE, Channel, Ints, Path
from comity.match.conjunctions import Conjunction, ConjunctionReader
from comity.match.pace import Rest, no_rest
from comity.match.regions import Region

Flags = npt.NDArray[np.bool_]

_BETWEEN_RESTS = 16
"""Profiles that are read between two looks at the clock."""


class PredicateRows(NamedTuple):
    """Rows of the table: of conjunctions, of their predicates, of the intervals of these.

    A predicate is over one channel: the rank lies in one of its intervals, or, where `outside`, in none.
    """

    profile: Ints
    """The profile of each conjunction, ascending."""
    test_count: Ints
    test: Ints
    """The numbers of each conjunction's tests, one conjunction after the other."""
    conjunction: Ints
    """The conjunction of each predicate, ascending."""
    channel: Ints
    outside: npt.NDArray[np.int8]
    interval_count: Ints
    low: Ints
    high: Ints
    """Of intervals, as codes."""

    def of(self, wanted: Flags) -> PredicateRows:
        """The rows of the profiles whose numbers are wanted."""
        keep = wanted[self.profile]
        if keep.all():
            return self
        kept = keep[self.conjunction]
        number = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        tests, intervals = np.repeat(keep, self.test_count), np.repeat(kept, self.interval_count)
        return PredicateRows(
            profile=self.profile[keep],
            test_count=self.test_count[keep],
            test=self.test[tests],
            conjunction=number[self.conjunction[kept]].astype(np.int32),
            channel=self.channel[kept],
            outside=self.outside[kept],
            interval_count=self.interval_count[kept],
            low=self.low[intervals],
            high=self.high[intervals],
        )

    def with_ends(self) -> tuple[npt.NDArray[Any], ...]:
        """The columns, with running ends instead of counts."""
        ends = self._replace(test_count=np.cumsum(self.test_count), interval_count=np.cumsum(self.interval_count))
        return tuple(ends)


def _ints() -> array[int]:
    return array("i")


@dataclass(slots=True)
class _Columns:
    """The table while it grows; the same columns as those of `Rows`, with running ends instead of counts."""

    profile: array[int] = field(default_factory=_ints)
    test_end: array[int] = field(default_factory=_ints)
    test: array[int] = field(default_factory=_ints)
    conjunction: array[int] = field(default_factory=_ints)
    channel: array[int] = field(default_factory=_ints)
    outside: array[int] = field(default_factory=lambda: array("b"))
    interval_end: array[int] = field(default_factory=_ints)
    low: array[int] = field(default_factory=_ints)
    high: array[int] = field(default_factory=_ints)

    def add(self, number: int, channel: int, outside: int, intervals: Iterable[tuple[int, int]]) -> None:
        """One predicate of a conjunction."""
        self.conjunction.append(number)
        self.channel.append(channel)
        self.outside.append(outside)
        for low, high in intervals:
            self.low.append(low)
            self.high.append(high)
        self.interval_end.append(len(self.low))

    def rows(self, first: int, until: int) -> PredicateRows:
        """The rows of the profiles from one number up to another one, copied."""
        profile, conjunction = _view(self.profile), _view(self.conjunction)
        c, d = np.searchsorted(profile, np.array([first, until], np.int32)).tolist()
        p, q = np.searchsorted(conjunction, np.array([c, d], np.int32)).tolist()
        (t, u), test_count = _span(self.test_end, c, d)
        (i, j), interval_count = _span(self.interval_end, p, q)
        return PredicateRows(
            profile=profile[c:d].copy(),
            test_count=test_count,
            test=_view(self.test)[t:u].copy(),
            conjunction=conjunction[p:q] - np.int32(c),
            channel=_view(self.channel)[p:q].copy(),
            outside=np.frombuffer(self.outside, np.int8)[p:q].copy(),
            interval_count=interval_count,
            low=_view(self.low)[i:j].copy(),
            high=_view(self.high)[i:j].copy(),
        )


def _grown(column: npt.NDArray[Any]) -> array[int]:
    """A column that can grow."""
    narrow = column.dtype.itemsize == 1
    return array("b" if narrow else "i", column.astype(np.int8 if narrow else np.int32).tobytes())


def _view(values: array[int]) -> Ints:
    """The array's memory; as long as the view is there, the array cannot grow."""
    return np.frombuffer(values, np.int32)


def _span(ends: array[int], first: int, until: int) -> tuple[tuple[int, int], Ints]:
    """Where the parts of these rows begin and end, and how many each has."""
    begin, end = (ends[at - 1] if at else 0 for at in (first, until))
    return (begin, end), np.diff(_view(ends)[first:until], prepend=np.int32(begin))


class ReadProfiles:
    """The channels, constants and tests of profiles, and what each of them asks for."""

    def __init__(self, declared: Mapping[Path, AttributeType] | None = None) -> None:
        self._reader = ConjunctionReader(declared)
        self._columns = _Columns()
        self._tests: dict[Expression, int] = {}

    @property
    def channels(self) -> list[Channel]:
        """What the channels of rows are numbered by."""
        return self._reader.regions.channels

    @property
    def tests(self) -> list[Expression]:
        """What the tests of rows are numbered by."""
        return list(self._tests)

    def __len__(self) -> int:
        """The number of conjunctions."""
        return len(self._columns.profile)

    @property
    def nbytes(self) -> int:
        """The size of the table, without its constants and tests."""
        columns = (getattr(self._columns, column.name) for column in fields(self._columns))
        return sum(len(column) * column.itemsize for column in columns)

    def read(self, profiles: Sequence[Expression], first: int = 0, rest: Rest = no_rest) -> None:
        """Adds profiles, numbered from `first` on, which is above the numbers of those that are there."""
        for names in sorted(_families(profiles), key=len, reverse=True):
            self._reader.regions.type_names(names)
        for number, tree in enumerate(profiles, first):
            for conjunction in self._reader.read(tree):
                self._take(number, conjunction)
            if number % _BETWEEN_RESTS == 0:
                rest()

    def rows(self, first: int, until: int) -> PredicateRows:
        """What the profiles of a range of numbers ask for."""
        return self._columns.rows(first, until)

    def forget(self, wanted: Flags) -> None:
        """Keeps the profiles whose numbers are wanted, with their constants and tests, and no others."""
        columns = self._columns
        if not len(columns.profile):
            return
        rows = columns.rows(0, columns.profile[-1] + 1).of(wanted)
        of_interval = np.repeat(rows.channel, rows.interval_count)
        low, high = rows.low.copy(), rows.high.copy()
        for number, channel in enumerate(self.channels):
            here = np.flatnonzero(of_interval == number)
            self.channels[number], (low[here], high[here]) = channel.thinned(low[here], high[here])
        tests, test = np.unique(rows.test, return_inverse=True)
        kept = self.tests
        self._tests = {kept[old]: new for new, old in enumerate(tests.tolist())}
        self._columns = _Columns(
            *map(_grown, rows._replace(test=test.astype(np.int32), low=low, high=high).with_ends())
        )

    def _take(self, profile: int, conjunction: Conjunction) -> None:
        columns, tests = self._columns, self._tests
        number = len(columns.profile)
        columns.profile.append(profile)
        for test in conjunction.tests:
            columns.test.append(tests.setdefault(test, len(tests)))
        columns.test_end.append(len(columns.test))
        for channel, intervals in conjunction.regions or (_ALWAYS_REGION,):
            if len(intervals) == 1:
                columns.add(number, channel, 0, intervals)
            elif len(intervals) == 2 and not _are_points(intervals):  # most often `!=`: an interval with a hole
                (low, below), (above, high) = intervals
                if low != MISSING or high != LAST:
                    columns.add(number, channel, 0, ((low, high),))
                columns.add(number, channel, 1, ((below + 1, above - 1),))
            else:
                columns.add(number, channel, 0, intervals)


_ALWAYS_REGION: Region = (0, ((TRUE, TRUE),))


def _are_points(intervals: tuple[tuple[int, int], ...]) -> bool:
    return all(low == high for low, high in intervals)


def _families(profiles: Sequence[Expression]) -> set[tuple[str, ...]]:
    """The types that profiles are about, as far as they say so up front."""
    families: set[tuple[str, ...]] = set()
    for tree in profiles:
        for item in tree.items if type(tree) is And else (tree,):
            if type(item) is IsType:
                families.add(item.names)
    return families
