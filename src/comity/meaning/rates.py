"""Exchange rates between currencies, each valid for a period; what is not given is derived, exactly.

A rate is valid from its beginning up to, and not including, its end. For a moment the rate from one currency to another
is the one that is given for this pair; else one divided by that of the opposite pair; else the product over the one
currency, first by the alphabet, that has a rate with both at this moment. Where there is none, there is no rate.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from comity.document.read import did_you_mean, read_text
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.kinds import to_microseconds
from comity.event.times import format_timestamp, parse_timestamp
from comity.meaning.currencies import currencies, is_currency

COLUMNS = ("from", "to", "rate", "valid_from", "valid_until")
"""The columns of a table of rates, as its first line names them."""

Steps = tuple[tuple[int | None, Fraction | None], ...]
"""From when on (microseconds since 1970, None for ever) which rate is valid; None while there is none."""

_NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of the target one of the source is, in a period that is open where it has no bound."""

    source: str
    target: str
    rate: Fraction
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    place: Place | None = None

    def __str__(self) -> str:
        begin, end = (format_timestamp(one) if one else "…" for one in (self.valid_from, self.valid_until))
        return f"{self.source} to {self.target} from {begin} until {end}"


@dataclass(frozen=True, slots=True)
class _Period:
    begin: int | None
    end: int | None
    rate: Fraction


class Rates:
    """A table of rates.

    >>> rates = Rates.of([("EUR", "USD", "1.25", "2026-01-01", "2026-02-01"), ("GBP", "EUR", "1.2", None, None)])
    >>> moment = parse_timestamp("2026-01-15T12:00:00Z")
    >>> rates.at("USD", "EUR", moment), rates.at("GBP", "USD", moment)
    (Fraction(4, 5), Fraction(3, 2))
    """

    def __init__(self, rates: Iterable[Rate]) -> None:
        """Raises `Faults` with every rate that is not above zero, of no currency, or in the period of another one."""
        self._given: dict[tuple[str, str], tuple[_Period, ...]] = {}
        self._steps: dict[tuple[str, str], Steps] = {}
        by_pair: dict[tuple[str, str], list[Rate]] = {}
        faults: list[ComityError] = []
        for one in rates:
            wrong = list(_wrong(one))
            faults += wrong
            if not wrong:
                by_pair.setdefault((one.source, one.target), []).append(one)
        for pair, own in by_pair.items():
            own.sort(key=lambda one: _least(one.valid_from))
            faults += _overlaps(own)
            self._given[pair] = tuple(_period(one) for one in own)
        if faults:
            raise Faults(faults)

    @classmethod
    def of(cls, rows: Iterable[tuple[object, ...]]) -> Rates:
        """The rates of rows: from, to, rate, and when it is valid from and until, as texts or values."""
        return _read(
            [[(cell, Place(path=f"row {number}")) for cell in row] for number, row in enumerate(rows, start=1)]
        )

    @classmethod
    def read(cls, path: str | Path) -> Rates:
        """The rates in a CSV file whose first line is `from,to,rate,valid_from,valid_until`; see `parse`."""
        return cls.parse(read_text(path), file=str(path))

    @classmethod
    def parse(cls, text: str, file: str | None = None) -> Rates:
        """The rates in the text of a CSV file; raises `Faults` with the line and column of everything that is wrong.

        A time is `2026-01-31`, which is midnight in UTC, or `2026-01-31T12:00:00Z`; an empty one is no bound. The last
        column, or the last two, may be left out.
        """
        first, *rows = (list(_cells(line, file, number)) for number, line in enumerate(text.split("\n"), start=1))
        header = tuple(cell for cell, _ in first)
        if header != COLUMNS[: max(len(header), 3)]:
            hint = f"the first line is `{','.join(COLUMNS)}`"
            raise Misuse("these are no columns of rates", code="bad-rate", place=Place(file, 1, 1), hint=hint)
        return _read([row for row in rows if any(cell for cell, _ in row)])

    def at(self, source: str, target: str, moment: datetime) -> Fraction | None:
        """How many of the target one of the source is at a moment, None if no rate is valid then."""
        steps, wanted = self.steps(source, target), to_microseconds(moment)
        return steps[bisect_right(steps, wanted, lo=1, key=lambda step: step[0] or 0) - 1][1]

    def steps(self, source: str, target: str) -> Steps:
        """The rate over all time, in ascending order; the first step has no beginning.

        >>> rates = Rates.of([("EUR", "USD", "1.25", "1970-01-02", None)])
        >>> rates.steps("USD", "EUR")
        ((None, None), (86400000000, Fraction(4, 5)))
        """
        if source == target:
            return ((None, Fraction(1)),)
        found = self._steps.get((source, target))
        if found is None:
            found = self._steps[source, target] = self._derived(source, target)
        return found

    def _derived(self, source: str, target: str) -> Steps:
        ways: list[_Way] = [lambda moment: self._direct(source, target, moment)]
        pairs = [(source, target), (target, source)]
        for middle in self._between(source, target):
            ways.append(_over(self._direct, source, middle, target))
            pairs += [(source, middle), (middle, source), (middle, target), (target, middle)]
        steps: list[tuple[int | None, Fraction | None]] = []
        for begin in (None, *self._borders(pairs)):
            rate = next((rate for way in ways if (rate := way(begin)) is not None), None)
            if not steps or steps[-1][1] != rate:
                steps.append((begin, rate))
        return tuple(steps)

    def _direct(self, source: str, target: str, moment: int | None) -> Fraction | None:
        """The rate that is given, or the inverse of one."""
        rate = _valid(self._given.get((source, target), ()), moment)
        if rate is not None:
            return rate
        inverse = _valid(self._given.get((target, source), ()), moment)
        return None if inverse is None else 1 / inverse

    def _between(self, source: str, target: str) -> list[str]:
        """The currencies that have rates with both."""
        known = {frozenset(pair) for pair in self._given}
        codes = sorted({code for pair in known for code in pair} - {source, target})
        return [code for code in codes if {frozenset({source, code}), frozenset({code, target})} <= known]

    def _borders(self, pairs: Iterable[tuple[str, str]]) -> list[int]:
        periods = (period for pair in set(pairs) for period in self._given.get(pair, ()))
        return sorted({border for period in periods for border in (period.begin, period.end) if border is not None})


_Way = Callable[[int | None], Fraction | None]
_Direct = Callable[[str, str, int | None], Fraction | None]


def _over(direct: _Direct, source: str, middle: str, target: str) -> _Way:
    def rate(moment: int | None) -> Fraction | None:
        first, second = direct(source, middle, moment), direct(middle, target, moment)
        return None if first is None or second is None else first * second

    return rate


def _valid(periods: tuple[_Period, ...], moment: int | None) -> Fraction | None:
    """The rate of the period in which a moment lies; None is before all borders."""
    wanted = _BEFORE_ALL if moment is None else moment
    place = bisect_right(periods, wanted, key=lambda period: _begin(period.begin)) - 1
    if place < 0:
        return None
    end = periods[place].end
    return periods[place].rate if end is None or wanted < end else None


_BEFORE_ALL = -(2**63)


def _begin(border: int | None) -> int:
    return _BEFORE_ALL if border is None else border


def _least(moment: datetime | None) -> int:
    return _begin(None if moment is None else to_microseconds(moment))


def _period(one: Rate) -> _Period:
    begin, end = (None if moment is None else to_microseconds(moment) for moment in (one.valid_from, one.valid_until))
    return _Period(begin, end, one.rate)


def _wrong(one: Rate) -> Iterable[Misuse]:
    for code in (one.source, one.target):
        if not is_currency(code):
            hint = did_you_mean(code.upper(), currencies()) or "codes are those of ISO 4217: USD, EUR, JPY"
            yield Misuse(f"there is no currency {code!r}", code="unknown-currency", place=one.place, hint=hint)
    if one.source == one.target:
        yield Misuse(f"a rate from {one.source} to itself", code="bad-rate", place=one.place)
    if one.rate <= 0:
        yield Misuse(f"a rate is above zero, not {one.rate}", code="bad-rate", place=one.place)
    if one.valid_from and one.valid_until and one.valid_from >= one.valid_until:
        yield Misuse(
            "a rate must begin before it ends", code="bad-rate", place=one.place, hint="the end is not included"
        )


def _overlaps(ordered: list[Rate]) -> Iterable[Misuse]:
    """Of rates of one pair, by their beginning, each that begins before an earlier one has ended."""
    for before, one in pairwise(ordered):
        if before.valid_until is None or _least(one.valid_from) < to_microseconds(before.valid_until):
            message = f"the rate {one} begins while another one is valid: {before}"
            yield Misuse(message, code="overlapping-rates", place=one.place, hint="let the earlier one end first")


_Cell = tuple[object, Place]


def _cells(line: str, file: str | None, number: int) -> Iterable[_Cell]:
    """The cells of a line without the spaces and quotes around them, each with its place."""
    column = 1
    for part in line.split(","):
        inner = part.strip(' "')
        yield inner, Place(file, number, column + (part.index(inner) if inner else 0))
        column += len(part) + 1


def _read(rows: list[list[_Cell]]) -> Rates:
    faults: list[ComityError] = []
    rates: list[Rate] = []
    for cells in rows:
        try:
            rates.append(_rate(cells))
        except Misuse as error:
            faults.append(error)
    try:
        made = Rates(rates)
    except Faults as error:
        faults += error.errors
    if faults:
        raise Faults(
            sorted(faults, key=lambda one: (one.place.line or 0, one.place.column or 0) if one.place else (0, 0))
        )
    return made


def _rate(cells: list[_Cell]) -> Rate:
    place = cells[0][1] if cells else None
    if not 3 <= len(cells) <= len(COLUMNS):
        raise Misuse(f"a rate is {', '.join(COLUMNS)}", code="bad-rate", place=place)
    (source, _), (target, _), number, *period = cells
    begin, end = (*(_moment(*one) for one in period), None, None)[:2]
    return Rate(str(source), str(target), _exact(*number), begin, end, place)


def _exact(number: object, place: Place) -> Fraction:
    text = str(number)
    if isinstance(number, bool) or not (isinstance(number, Fraction) or _NUMBER.fullmatch(text)):
        hint = "write how many of the second currency one of the first is, for example 1.0842"
        raise Misuse(f"{text[:40]!r} is no rate", code="bad-rate", place=place, hint=hint)
    return Fraction(text)


def _moment(value: object, place: Place) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        found = value if value.tzinfo else None
    else:
        text = str(value)
        found = parse_timestamp(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
    if found is None:
        hint = "write 2026-01-31 or 2026-01-31T12:00:00Z"
        raise Misuse(f"{str(value)[:40]!r} is no time", code="bad-rate", place=place, hint=hint)
    return found
