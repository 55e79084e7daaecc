"""What can be said of a mapping: whether it is total, lossless, order preserving, and what is lost.

A claim is proved from the structure of the expressions, a denial by an event or a pair of events. What is neither is
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from comity.contract.collide import Pair, Trials
from comity.contract.invert import Inversion, Obstacle, invert, invert_alone
from comity.contract.invert.defined import has_value, is_ordinary, settled
from comity.contract.mapping import Mapping, Path
from comity.contract.order import Order, order_in
from comity.event.event import Event
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.tree import TRUE, Expression, Extension, Not, attributes, walk


class Total(StrEnum):
    """For which events of the source type there is a value."""

    ALWAYS = "always"
    IN_RANGE = "in range"
    """For all but those at the ends of a kind: numbers that run out of 64 bits, times out of the calendar."""
    NO = "no"
    UNKNOWN = "unknown"


class Fidelity(StrEnum):
    """Whether what went in can be computed from what came out."""

    EXACT = "exact"
    ROUNDING = "up to rounding"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AttributeProperties:
    """What can be said of one attribute of the target."""

    path: Path
    made_from: Expression
    total: Total
    when: Expression
    """Over the source: when it has a value."""
    without_value: Event | None
    """An event for which it has none."""
    order: AbstractMapping[Path, Order]
    """By path in the source, how its value goes with that attribute; none for those with no known order."""
    injective: Fidelity | None
    """Whether its value, where it has one, tells all attributes that it is made from; None for a constant."""
    injective_within: Expression
    """Over the source: for which events that is claimed."""
    collision: Pair | None
    """Two events that give it the same value."""
    declared: tuple[str, ...] = ()
    """Extension functions in it: what is said of these is what their authors say."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What does not come back of an attribute of the source."""

    path: Path
    code: str
    text: str
    example: Pair | None
    """Two accepted events that differ in it and become the same; None when none was found."""


@dataclass(frozen=True, slots=True)
class MappingProperties:
    """What can be said of a mapping, for events of the source type itself, not of types below it."""

    mapping: Mapping
    attributes: tuple[AttributeProperties, ...]
    total: Total
    accepted: Expression
    """Over the source: which events are not rejected."""
    rejected: Event | None
    """An event that is rejected."""
    lossless: Fidelity
    """Of accepted events within `within`."""
    within: Expression
    relative: Fraction
    absolute: Fraction
    """Up to rounding: a number x comes back as one that differs by at most `relative * |x| + absolute`."""
    lost: tuple[Loss, ...]
    inversion: Inversion

    @property
    def inverse(self) -> Mapping | None:
        """The mapping that leads back."""
        return self.inversion.mapping

    @property
    def is_faithful(self) -> bool:
        """Whether no everyday event is rejected and nothing of it is lost, so that the inverse is an observer."""
        return self.total in (Total.ALWAYS, Total.IN_RANGE) and self.inverse is not None


def properties(mapping: Mapping) -> MappingProperties:
    """What can be said of a mapping.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> house = EventType("House", "city", own={"name": AttributeType(Kind.STRING), "floor": AttributeType(Kind.INT)})
    >>> found = properties(Mapping(house, house, ((("name",), parse("upper(name)")), (("floor",), parse("floor")))))
    >>> found.total.value, found.lossless.value, [(loss.path, loss.code) for loss in found.lost]
    ('always', 'no', [(('name',), 'function')])
    """
    trials, inversion = Trials(mapping), invert(mapping)
    accepted = settled(Not(mapping.incomplete()), mapping.source)
    lost = tuple(_loss(path, some, trials) for path, some in inversion.obstacles.items())
    recovered = inversion.recovered.values()
    return MappingProperties(
        mapping,
        tuple(_attribute(mapping, path, made_from, trials) for path, made_from in mapping.expressions),
        _total(accepted, mapping.source, trials.rejected()),
        accepted,
        trials.rejected(),
        _lossless(inversion, lost),
        inversion.within,
        max((one.relative for one in recovered), default=Fraction(0)),
        max((one.absolute for one in recovered), default=Fraction(0)),
        lost,
        inversion,
    )


def _total(when: Expression, source: EventType, without: Event | None) -> Total:
    if when == TRUE:
        return Total.ALWAYS
    if is_ordinary(when, source):
        return Total.IN_RANGE
    return Total.UNKNOWN if without is None else Total.NO


def _attribute(mapping: Mapping, path: Path, made_from: Expression, trials: Trials) -> AttributeProperties:
    source = mapping.source
    when, without = has_value(made_from, source), trials.without(made_from)
    read = sorted(one for one in attributes(made_from) if one[0] != ENVELOPE_NAME)
    orders = {one: found for one in read if (found := order_in(made_from, one, source)) is not None}
    injective, within = _injective(mapping, path, read) if read else (None, TRUE)
    collision = trials.with_one_value(made_from) if injective is Fidelity.UNKNOWN else None
    declared = dict.fromkeys(node.name for node in walk(made_from) if isinstance(node, Extension))
    return AttributeProperties(
        path,
        made_from,
        _total(when, source, without),
        when,
        without,
        orders,
        Fidelity.NO if collision else injective,
        within,
        collision,
        tuple(declared),
    )


def _injective(mapping: Mapping, path: Path, read: list[Path]) -> tuple[Fidelity, Expression]:
    alone = invert_alone(mapping, path)
    told = [alone.recovered.get(one) or alone.recovered.get(one[:-1]) for one in read]
    if any(one is None for one in told):
        return Fidelity.UNKNOWN, TRUE
    is_exact = all(one.is_exact for one in told if one)
    return Fidelity.EXACT if is_exact else Fidelity.ROUNDING, alone.within


def _loss(path: Path, obstacles: tuple[Obstacle, ...], trials: Trials) -> Loss:
    first = obstacles[0]
    return Loss(path, first.code, first.text, trials.not_told_apart(path))


def _lossless(inversion: Inversion, lost: tuple[Loss, ...]) -> Fidelity:
    if inversion.mapping is not None:
        return Fidelity.EXACT if inversion.is_exact else Fidelity.ROUNDING
    return Fidelity.NO if any(loss.example for loss in lost) else Fidelity.UNKNOWN
