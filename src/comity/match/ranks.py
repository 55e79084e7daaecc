"""Ranks of values: of a column of an Arrow batch, or of one Python value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from math import floor, inf, isfinite, nextafter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.event.kinds import INT_MAX, INT_MIN, Value, to_microseconds
from comity.event.times import parse_duration, parse_timestamp
from comity.match.channels import RANK_ALWAYS, RANK_FALSE, RANK_NUMBERS, RANK_TRUE, Ints, Layout, View
from comity.match.columns import buffers_of, presence_of, string_column
from comity.match.kernels import ranks as kernels
from comity.match.kernels.arrays import ChannelReading, KnownTexts, NumberScale

_MAX_LOOKUP = 1 << 20
"""Ranks of integers are looked up when the constants span no more than this."""


class _Lookup(NamedTuple):
    """The rank of each integer from the least one on."""

    least: int
    most: int
    table: Ints
    below: int
    above: int


class Ranking:
    """The ranks of one channel.

    >>> from comity.match.channels import Channel
    >>> channel = Channel(("x",), View.VALUE)
    >>> codes = channel.number(5), channel.number(2.5)
    >>> ranking = Ranking(channel.layout())
    >>> [ranking.of_value(value) for value in (None, 2, 2.5, 3, 5, 6)]
    [0, 7, 8, 9, 10, 11]
    """

    def __init__(self, layout: Layout) -> None:
        self.path = layout.path
        self.view = layout.view
        self.size = layout.size
        self._numbers = _compact(layout.numbers)
        self._strings_from = layout.strings_from
        self._others = layout.others_rank
        self._texts = _texts(layout)
        self._scales: dict[type, NumberScale] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name in _KEPT}

    @property
    def nbytes(self) -> int:
        """The size of what ranking columns needs."""
        arrays: list[Any] = [*self._texts, *(self.__dict__.get("_lookup") or ())]
        arrays += [part for scale in self._scales.values() for part in scale]
        arrays.append(self._numbers if isinstance(self._numbers, np.ndarray) else None)
        return sum(part.nbytes for part in arrays if isinstance(part, np.ndarray))

    # One value

    def of_value(self, value: Value | None) -> int:
        """The rank of one value; None is a missing one."""
        if value is None:
            return RANK_ALWAYS if self.view is View.ALWAYS else 0
        return self.reader(value)

    @cached_property
    def reader(self) -> Callable[[Value], int]:
        """What ranks a value that is there."""
        return {View.VALUE: self._of_plain, View.TYPE: self._of_type, View.ALWAYS: lambda value: RANK_ALWAYS}.get(
            self.view, self._of_time
        )

    def _of_plain(self, value: Value) -> int:
        kind = type(value)
        if kind is str:
            return self._of_text(value)
        if kind is bool:
            return RANK_TRUE if value else RANK_FALSE
        if kind is int or kind is float:
            return self._of_number(value)
        return self._others

    def _of_number(self, value: int | float) -> int:
        if value != value:  # NaN is no value, as in columns
            return 0
        rank = self._known_numbers.get(value)
        return RANK_NUMBERS + 2 * bisect_left(self._ordered_numbers, value) if rank is None else rank

    def _of_text(self, value: str) -> int:
        rank = self._known_texts.get(value)
        if rank is not None:
            return rank
        places, texts = self._bounds
        at = bisect_left(texts, value)
        return self._strings_from + 2 * (places[at] if at < len(places) else len(self._known_texts))

    def _of_type(self, value: Value) -> int:
        return self._known_texts.get(value, 0) if type(value) is str else 0

    def _of_time(self, value: Value) -> int:
        is_moment = self.view is View.TIMESTAMP
        if type(value) is str:
            value = parse_timestamp(value) if is_moment else parse_duration(value)
        if type(value) is not (datetime if is_moment else timedelta):
            return 0
        return self._of_number(to_microseconds(value))

    def single_reading(self, place: int, where: int, offset: int) -> tuple[ChannelReading, KnownTexts, NumberScale]:
        """How a kernel ranks one value: its place among all, and where an event has it (`ChannelReading`)."""
        plain, timed = self.view is View.VALUE, self.view in (View.TIMESTAMP, View.DURATION)
        others = (RANK_FALSE, RANK_TRUE, self._others) if plain else (0, 0, 0)
        return (
            ChannelReading(place, where, offset, self.of_value(None), timed, plain, *others),
            self._texts,
            self._scale(float),
        )

    @cached_property
    def _ordered_numbers(self) -> list[Any]:
        return self._numbers.tolist() if isinstance(self._numbers, np.ndarray) else self._numbers

    @cached_property
    def _known_numbers(self) -> dict[Any, int]:
        return {value: RANK_NUMBERS + 1 + 2 * i for i, value in enumerate(self._ordered_numbers)}

    @cached_property
    def _known_texts(self) -> dict[str, int]:
        offsets, data = self._texts.offsets.tolist(), self._texts.data.tobytes()
        texts = (data[a:b].decode() for a, b in pairwise(offsets))
        return {text: self._strings_from + 1 + 2 * i for i, text in enumerate(texts)}

    @cached_property
    def _bounds(self) -> tuple[list[int], list[str]]:
        texts, places = list(self._known_texts), self._texts.bounds.tolist()
        return places, [texts[place] for place in places]

    @property
    def float_scale(self) -> NumberScale:
        """What a kernel ranks floats by."""
        return self._scale(float)

    @property
    def texts(self) -> KnownTexts:
        """What a kernel ranks texts by."""
        return self._texts

    # A column

    def of_column(self, column: pa.Array | None, out: Ints, declared_as_time: bool = False) -> None:
        """Writes the ranks of a column; `declared_as_time`: whole numbers in it are microseconds."""
        if self.view is View.ALWAYS:
            out[:] = RANK_ALWAYS
        elif column is None or len(out) == 0 or column.null_count == len(column):
            out[:] = 0
        elif self.view is View.VALUE:
            self._of_plain_column(column, out)
        elif self.view is View.TYPE:
            self._of_texts_or_none(column, out)
        else:
            self._of_time_column(column, out, declared_as_time)

    def _of_plain_column(self, column: pa.Array, out: Ints) -> None:
        kind = column.type
        if pa.types.is_boolean(kind):
            kernels.rank_bools(buffers_of(column, np.uint8), RANK_FALSE, RANK_TRUE, out)
        elif kind == pa.uint64():  # too large for int64, perhaps, and rare
            out[:] = [self.of_value(value) for value in column.to_pylist()]
        elif pa.types.is_integer(kind):
            self._of_integers(column if kind == pa.int64() else column.cast(pa.int64()), out)
        elif pa.types.is_floating(kind):
            reals = column if kind == pa.float64() else column.cast(pa.float64())
            kernels.rank_numbers(buffers_of(reals, np.float64), self._scale(float), out)
        elif string_column(column) is not None:
            self._of_texts(column, out)
        else:
            kernels.rank_presence(presence_of(column), self._others, out)

    def _of_integers(self, column: pa.Array, out: Ints) -> None:
        found = buffers_of(column, np.int64)
        if self._lookup is not None:
            kernels.rank_small_integers(found, self._lookup, out)
        else:
            kernels.rank_numbers(found, self._scale(int), out)

    def _of_texts_or_none(self, column: pa.Array, out: Ints) -> None:
        if string_column(column) is None:
            out[:] = 0
        else:
            self._of_texts(column, out)

    def _of_texts(self, column: pa.Array, out: Ints) -> None:
        """Texts, or codes of texts: then each text of the dictionary is ranked once."""
        texts = string_column(column)
        assert texts is not None
        if not pa.types.is_dictionary(texts.type):
            self._rank_texts(texts, out)
            return
        table = np.zeros(max(len(texts.dictionary), 1), np.int32)
        self._rank_texts(texts.dictionary, table[: len(texts.dictionary)])
        self._of_codes(texts, table, out)

    def _rank_texts(self, texts: pa.Array, out: Ints) -> None:
        kernels.rank_texts(buffers_of(texts, np.int32), self._texts, out)

    def _of_codes(self, column: pa.DictionaryArray, table: Ints, out: Ints) -> None:
        kernels.rank_codes(buffers_of(column.indices, np.int32), table, out)

    def _of_time_column(self, column: pa.Array, out: Ints, declared_as_time: bool) -> None:
        kind, is_moment = column.type, self.view is View.TIMESTAMP
        if string_column(column) is not None:
            codes = column if pa.types.is_dictionary(kind) else string_column(column).dictionary_encode()  # type: ignore[union-attr]
            texts = codes.dictionary.to_pylist()
            table = np.array([0 if text is None else self._of_time(text) for text in texts] or [0], np.int32)
            self._of_codes(string_column(codes), table, out)
        elif pa.types.is_timestamp(kind) if is_moment else pa.types.is_duration(kind):
            unit = pa.timestamp("us", kind.tz) if is_moment else pa.duration("us")
            self._of_integers((column if kind == unit else column.cast(unit, safe=False)).view(pa.int64()), out)
        elif declared_as_time and pa.types.is_integer(kind):
            self._of_integers(column.cast(pa.int64()), out)
        else:
            out[:] = 0

    def _scale(self, kind: type) -> NumberScale:
        found = self._scales.get(kind)
        if found is None:
            found = self._scales[kind] = _scale(self._ordered_numbers, kind)
        return found

    @cached_property
    def _lookup(self) -> _Lookup | None:
        inside = [c for c in (self._ordered_numbers[:1] + self._ordered_numbers[-1:]) if abs(c) < INT_MAX]
        if len(inside) < 2 or inside[1] - inside[0] > _MAX_LOOKUP:
            return None
        scale = self._scale(int)
        least, most = int(scale.floors[0]), int(scale.floors[-1]) + 1
        values = np.arange(least, most + 1)
        at = np.searchsorted(scale.floors, values, "left")
        known = np.minimum(at, len(scale.floors) - 1)
        equal = (at < len(scale.floors)) & (scale.floors[known] == values) & scale.exact[known]
        table = (scale.base + 2 * at + equal).astype(np.int32)
        return _Lookup(least, most, table, RANK_NUMBERS, RANK_NUMBERS + 2 * len(self._ordered_numbers))


_KEPT = frozenset({"path", "view", "size", "_numbers", "_strings_from", "_others", "_texts", "_scales"})


def _compact(numbers: list[Any]) -> list[Any] | npt.NDArray[Any]:
    """Numbers of one kind as an array."""
    kinds = {type(number) for number in numbers}
    if kinds == {float}:
        return np.array(numbers, np.float64)
    if kinds == {int} and numbers[0] >= INT_MIN and numbers[-1] <= INT_MAX:
        return np.array(numbers, np.int64)
    return numbers


def _scale(numbers: list[Any], kind: type) -> NumberScale:
    below = floor if kind is int else _float_below
    floors = [below(number) for number in numbers]
    if kind is int:
        skipped = sum(number < INT_MIN for number in floors)
        floors, numbers = [min(number, INT_MAX) for number in floors[skipped:]], numbers[skipped:]
        array = np.array(floors, np.int64)
    else:
        skipped, array = 0, np.array(floors, np.float64)
    exact = np.fromiter((a == b for a, b in zip(floors, numbers, strict=True)), np.bool_, len(numbers))
    grid, origin, scale = _grid(array)
    return NumberScale(array, exact, grid, origin, scale, RANK_NUMBERS + 2 * skipped)


def _float_below(number: int | float) -> float:
    """The largest float that is not above the number."""
    nearest = float(number)
    return nearest if nearest <= number else nextafter(nearest, -inf)


def _grid(floors: npt.NDArray[Any]) -> tuple[Ints, float, float]:
    count = len(floors)
    origin = float(floors[0]) if count else 0.0
    width = float(floors[-1]) - origin if count else 0.0
    cells = max(16, 2 * count)
    scale = cells / width if isfinite(width) and width > 1e-280 else 0.0
    grid = np.zeros(cells + 2, np.int32)
    kernels.count_cells(floors, origin, scale, grid)
    return grid, origin, scale


def _shared_length(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _texts(layout: Layout) -> KnownTexts:
    encoded = [text.encode() for text in layout.strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    data = np.frombuffer(b"".join(encoded) + bytes(8), np.uint8)
    slots = 16
    while slots < 2 * len(encoded):
        slots *= 2
    table = np.full(slots, -1, np.int32)
    kernels.fill_table(offsets, data, table)
    bounds = [i for i, text in enumerate(layout.strings) if text in layout.bounds]
    shared = _shared_length(encoded[bounds[0]], encoded[bounds[-1]]) if bounds else 0
    words = [int.from_bytes(encoded[i][shared : shared + 8].ljust(8, b"\0"), "big") for i in bounds]
    unknown = 0 if layout.view is View.TYPE else layout.strings_from
    ordered = np.array(bounds, np.int64), shared, np.array(words, np.uint64)
    return KnownTexts(offsets, data, table, *ordered, layout.strings_from, unknown)
