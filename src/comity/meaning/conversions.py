"""Conversions between the contexts of a concept, what is true of them, and who knows those that change over time.

Each says of itself whether it is total (defined for every value), lossless (its inverse gives the value back), and
whether it keeps the order of values or turns it round. Where a conversion is not total, the other two are about the
values that it is defined for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol, runtime_checkable

from comity.errors import Misuse
from comity.meaning import units
from comity.meaning.context import Simple, print_simple, property_key

Order = Literal["rising", "falling"]
_MAX_STEPS = 4
"""Conversions in a row that are tried from one property value to another."""


@runtime_checkable
class Conversion(Protocol):
    """From a value in one context to the value in another."""

    @property
    def total(self) -> bool: ...
    @property
    def lossless(self) -> bool: ...
    @property
    def order(self) -> Order | None: ...

    def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
        """The converted value, None if there is none."""

    def inverse(self) -> Conversion | None:
        """The way back, None if it does not exist."""


class RatesAt(Protocol):
    """Whoever knows what one of a thing was worth in another at a time."""

    def at(self, source: str, target: str, moment: datetime) -> Fraction | None: ...


@dataclass(frozen=True)
class LinearConversion:
    """`value * factor + offset`, for numbers.

    >>> LinearConversion(Fraction(9, 5), Fraction(32)).apply(Fraction(30))
    Fraction(86, 1)
    """

    factor: Fraction
    offset: Fraction = Fraction(0)

    total = True
    lossless = True

    def __post_init__(self) -> None:
        if self.factor == 0:
            raise Misuse("a conversion with factor 0 forgets every value", code="bad-conversion")

    @property
    def order(self) -> Order | None:
        return "rising" if self.factor > 0 else "falling"

    def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
        return _number(value) * self.factor + self.offset

    def inverse(self) -> Conversion:
        return LinearConversion(1 / self.factor, -self.offset / self.factor)


def unit_conversion(source: str, target: str) -> LinearConversion:
    """From one unit into another of the same dimension.

    >>> unit_conversion("mile", "km").apply(Fraction(1))
    Fraction(25146, 15625)
    """
    found = units.conversion(source, target)
    return LinearConversion(found.factor, found.offset)


@dataclass(frozen=True)
class CodeTable:
    """From code to code by rows; a code without a row becomes the default, nothing if there is none.

    >>> table = CodeTable({"DE": "DEU", "FR": "FRA"})
    >>> table.apply("DE"), table.apply("XX"), table.total, table.lossless, table.order
    ('DEU', None, False, True, 'rising')
    """

    rows: Mapping[Simple, Simple]
    default: Simple | None = None

    @property
    def total(self) -> bool:
        return self.default is not None

    @cached_property
    def lossless(self) -> bool:
        """A default stands for many codes, so that only a table without one can be turned round."""
        return self.default is None and len(set(self.rows.values())) == len(self.rows)

    @cached_property
    def order(self) -> Order | None:
        """How the codes of the rows are ordered; a default breaks any order."""
        if self.default is not None or not _alike(self.rows):
            return None
        codes: list[Any] = sorted(self.rows.items())
        pairs = [(first, second) for (_, first), (_, second) in pairwise(codes)]
        if all(first < second for first, second in pairs):
            return "rising"
        return "falling" if all(first > second for first, second in pairs) else None

    def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
        return self.rows.get(value, self.default)

    def inverse(self) -> Conversion | None:
        return CodeTable({target: source for source, target in self.rows.items()}) if self.lossless else None


@dataclass(frozen=True)
class RateConversion:
    """By the rate that is valid at the time of the value; nothing where no rate is."""

    rates: RatesAt
    source: str
    target: str

    total = False
    lossless = True
    order: Order = "rising"

    def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
        if at is None:
            raise _moment_needed(self.source, self.target)
        rate = self.rates.at(self.source, self.target, at)
        return None if rate is None else _number(value) * rate

    def inverse(self) -> Conversion:
        return _ByRateBack(self)


@dataclass(frozen=True)
class _ByRateBack:
    """The inverse of a rate: divided by it, whatever rate the other way round may be quoted."""

    forth: RateConversion

    total = False
    lossless = True
    order: Order = "rising"

    def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
        one = self.forth.apply(Fraction(1), at=at)
        return None if one is None else _number(value) / _number(one)

    def inverse(self) -> Conversion:
        return self.forth


@dataclass(frozen=True)
class Composition:
    """One conversion after the other."""

    steps: tuple[Conversion, ...]

    @property
    def total(self) -> bool:
        return all(step.total for step in self.steps)

    @property
    def lossless(self) -> bool:
        return all(step.lossless for step in self.steps)

    @property
    def order(self) -> Order | None:
        orders = [step.order for step in self.steps]
        if None in orders:
            return None
        return "falling" if orders.count("falling") % 2 else "rising"

    def apply(self, value: Simple, *, at: datetime | None = None) -> Simple | None:
        found: Simple | None = value
        for step in self.steps:
            if found is None:
                return None
            found = step.apply(found, at=at)
        return found

    def inverse(self) -> Conversion | None:
        back = [step.inverse() for step in reversed(self.steps)]
        return None if None in back else Composition(tuple(step for step in back if step is not None))


def composed(steps: Sequence[Conversion]) -> Conversion:
    """Several conversions as one; linear ones become one linear one.

    >>> composed([unit_conversion("m", "cm"), unit_conversion("cm", "inch")]) == unit_conversion("m", "inch")
    True
    """
    if len(steps) == 1:
        return steps[0]
    if all(isinstance(step, LinearConversion) for step in steps):
        at_zero, at_one = (Composition(tuple(steps)).apply(Fraction(n)) for n in (0, 1))
        return LinearConversion(_number(at_one) - _number(at_zero), _number(at_zero))
    return Composition(tuple(steps))


@dataclass(frozen=True)
class Registered:
    """A conversion of a property of a concept, and when it is valid: from `since` on, before `until`."""

    concept: str
    property: str
    source: Simple
    target: Simple
    conversion: Conversion
    since: datetime | None = None
    until: datetime | None = None

    def is_valid(self, at: datetime | None) -> bool:
        if at is None:
            return self.since is None and self.until is None
        return (self.since is None or _aware(self.since) <= _aware(at)) and (
            self.until is None or _aware(at) < _aware(self.until)
        )

    def overlaps(self, other: Registered) -> bool:
        first = self.until is None or other.since is None or _aware(other.since) < _aware(self.until)
        return first and (other.until is None or self.since is None or _aware(self.since) < _aware(other.until))

    def key(self) -> tuple[str, str, Simple, Simple]:
        """What it converts; several of one key are valid at different times."""
        return self.concept, property_key(self.property), self.source, self.target


class ConversionManager:
    """The conversions that are not part of a concept: those that somebody registers, and those that change.

    >>> manager = ConversionManager()
    >>> table = CodeTable({"DE": "DEU"})
    >>> manager.register(Registered("Country", "codes", "iso_alpha2", "iso_alpha3", table))
    >>> manager.find(["Country"], "codes", "iso_alpha3", "iso_alpha2").apply("DEU")
    'DE'
    """

    def __init__(self, registered: Iterable[Registered] = ()) -> None:
        self._registered: list[Registered] = []
        self._rates: dict[tuple[str, str], RatesAt] = {}
        for one in registered:
            self.register(one)

    def register(self, given: Registered) -> None:
        """Add a conversion; two for the same values and the same time are refused."""
        for one in self._registered:
            if one.key() == given.key() and one.overlaps(given):
                shown = f"{given.property} {print_simple(given.source)} to {print_simple(given.target)}"
                raise Misuse(
                    f"two conversions of {given.concept} from {shown} are valid at the same time",
                    code="overlapping-validity",
                    hint="end the first before the second begins: `until` itself is no longer valid",
                )
        self._registered.append(given)

    def use_rates(self, concept: str, property: str, rates: RatesAt) -> None:
        """Let a property of a concept be converted by rates that are looked up at the time of a value."""
        self._rates[concept, property_key(property)] = rates

    def find(
        self,
        concepts: Iterable[str],
        property: str,
        source: Simple,
        target: Simple,
        *,
        at: datetime | None = None,
        known: Iterable[Registered] = (),
    ) -> Conversion | None:
        """The conversion from one value of a property to another, None if there is none.

        `concepts` are the concept and its broader ones, the nearest first; of several conversions the nearest counts,
        and of one concept the one with the fewest steps. `known` are conversions that hold beside the registered ones.
        """
        key = property_key(property)
        for concept in concepts:
            edges = [
                one
                for one in (*self._registered, *known)
                if one.concept == concept and property_key(one.property) == key
            ]
            found = _path(_valid(edges, at), source, target) or self._by_rates(concept, key, source, target)
            if found is not None:
                return found
            if at is None and _path([(one.source, one.target, one.conversion) for one in edges], source, target):
                raise _moment_needed(print_simple(source), print_simple(target))
        return None

    def _by_rates(self, concept: str, key: str, source: Simple, target: Simple) -> Conversion | None:
        rates = self._rates.get((concept, key))
        return None if rates is None else RateConversion(rates, str(source), str(target))


_Edge = tuple[Simple, Simple, Conversion]


def _valid(registered: Iterable[Registered], at: datetime | None) -> list[_Edge]:
    """What is valid at a time, and the way back of each that has one; a registered way comes before a derived one."""
    valid = [one for one in registered if one.is_valid(at)]
    edges: list[_Edge] = [(one.source, one.target, one.conversion) for one in valid]
    backward = ((one.target, one.source, one.conversion.inverse()) for one in valid)
    return edges + [(source, target, back) for source, target, back in backward if back is not None]


def _path(edges: Sequence[_Edge], source: Simple, target: Simple) -> Conversion | None:
    """The shortest chain of conversions."""
    waiting: deque[tuple[Simple, tuple[Conversion, ...]]] = deque([(source, ())])
    seen = {source}
    while waiting:
        here, steps = waiting.popleft()
        for start, end, conversion in edges:
            if start != here or end in seen:
                continue
            if end == target:
                return composed([*steps, conversion])
            if len(steps) + 1 < _MAX_STEPS:
                seen.add(end)
                waiting.append((end, (*steps, conversion)))
    return None


def _alike(rows: Mapping[Simple, Simple]) -> bool:
    """Whether the codes, and what they become, can each be ordered."""
    return len({type(one) for one in rows}) == 1 and len({type(one) for one in rows.values()}) == 1


def _number(value: Simple | None) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Fraction):
        shown = "nothing" if value is None else print_simple(value)
        raise Misuse(f"{shown} is no number and cannot be converted", code="bad-value")
    return value


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _moment_needed(source: str, target: str) -> Misuse:
    return Misuse(
        f"the conversion from {source} to {target} changes over time",
        code="moment-needed",
        hint="say for which time it is to be looked up",
    )
