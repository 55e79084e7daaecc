"""What semantic objects mean: whether two are the same, which is more, and what one is in another context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from typing import Any

from comity.errors import Misuse
from comity.meaning import units
from comity.meaning.builtin import builtin
from comity.meaning.context import (
    ACCURACY,
    CURRENCY,
    SCALE,
    UNIT,
    SemanticContext,
    SemanticValue,
    Simple,
    print_simple,
    property_key,
)
from comity.meaning.conversions import Conversion, ConversionManager, LinearConversion, composed, unit_conversion
from comity.meaning.number import exact
from comity.meaning.ontology import Ontology
from comity.meaning.semantic import SemanticObject

_ONE = SemanticValue(Fraction(1))


class Meaning:
    """What objects mean to those who share an ontology, and conversions; `at` is the time that these are looked up for.

    >>> near = SemanticObject.of("Distance", 3850, Unit="mile", Scale=1)
    >>> Meaning().equivalent(near, SemanticObject.of("Distance", 3.85, Unit="mile", Scale=1000))
    True
    """

    def __init__(
        self,
        ontology: Ontology | None = None,
        conversions: ConversionManager | None = None,
        *,
        at: datetime | None = None,
    ) -> None:
        self.ontology = builtin() if ontology is None else ontology
        self.conversions = ConversionManager() if conversions is None else conversions
        self.at = at

    def check(self, given: SemanticObject) -> None:
        """Refuse an object whose concept is unknown, or whose context lacks what the concept needs."""
        concept = self.ontology.concept(given.concept)
        context = self._complete(given).context
        for name in self.ontology.needs(concept.name):
            if name not in context:
                raise Misuse(
                    f"{given.concept} says nothing about {name}, which its values need",
                    code="missing-context",
                    hint=f"add it to the context: {{⟨{name}, …⟩}}",
                )
        if isinstance(given.value, frozenset):
            for one in given.value:
                self.check(one)

    def convert(self, given: SemanticObject, target: SemanticContext) -> SemanticObject:
        """The object in another context: the same meaning, with the properties of `target`.

        Properties that the target does not mention stay. Raises `Misuse` where no conversion is known.

        >>> mile = SemanticObject.of("Distance", 3850, Unit="mile")
        >>> print(Meaning().convert(mile, SemanticContext.of(unit="km")))
        ⟨Distance, 6195.9744, {⟨Unit, "km"⟩}⟩
        """
        if isinstance(given.value, frozenset):
            return self._convert_members(given, target)
        whole = self._complete(given)
        value = whole.value
        assert not isinstance(value, frozenset)
        for step in self._steps(whole.concept, whole.context, target):
            found = step(value)
            if found is None:
                raise Misuse(f"{given} has no value in the context {target}", code="no-conversion")
            value = found
        return SemanticObject(given.concept, value, given.context.with_values(target))

    def compare(self, left: SemanticObject, right: SemanticObject, *, tolerance: Any = None) -> int:
        """-1, 0 or 1: whether the first means less than, the same as, or more than the second.

        Values that say how accurate they are cannot be compared without a tolerance, given in the context of the
        first: the difference up to which two of them are the same.
        """
        self._check_comparable(left, right)
        self._check_accuracy(left, right, tolerance)
        near = self._complete(left)
        far = self.convert(right, self._common(near, self._complete(right)))
        assert not isinstance(near.value, frozenset)
        assert not isinstance(far.value, frozenset)
        return _ordered(near.value, far.value, tolerance)

    def equivalent(self, left: SemanticObject, right: SemanticObject, *, tolerance: Any = None) -> bool:
        """Whether two objects mean the same; no if there is no conversion from one into the other."""
        if isinstance(left.value, frozenset) and isinstance(right.value, frozenset):
            return self._same_concept(left, right) and self._equal_members(left.value, right.value, tolerance)
        try:
            return self.compare(left, right, tolerance=tolerance) == 0
        except Misuse as error:
            if error.code in (
                "incomparable",
                "no-conversion",
                "incompatible-units",
                "incompatible-concepts",
                "no-rates",
            ):
                return False
            raise

    def _complete(self, given: SemanticObject) -> SemanticObject:
        concept = self.ontology.find(given.concept)
        if concept is None:
            return given
        defaults = self.ontology.defaults(concept.name)
        missing = defaults.without(iter(given.context))
        return SemanticObject(given.concept, given.value, given.context.with_values(missing))

    def _steps(
        self, concept: str, given: SemanticContext, target: SemanticContext
    ) -> list[Callable[[Simple], Simple | None]]:
        """From the value in one context to that in another, property by property."""
        steps: list[Callable[[Simple], Simple | None]] = []
        if SCALE in target or _needs_scale(given, target):
            steps.append(lambda value: _scaled(value, _scale(given)))
        for name, wanted in target.properties:
            own = given.get(name)
            if property_key(name) == SCALE or own == wanted:
                continue
            if own is None:
                raise _unknown(concept, name, wanted)
            found = self._conversion(concept, name, own, wanted)
            steps.append(_applied(found, self.at))
        if SCALE in target or _needs_scale(given, target):
            scale = _scale(target) if SCALE in target else _scale(given)
            steps.append(lambda value: _scaled(value, 1 / scale))
        return steps

    def _conversion(self, concept: str, name: str, given: SemanticValue, wanted: SemanticValue) -> Conversion:
        if property_key(name) == UNIT and not (given.context or wanted.context):
            return self._of_units(concept, str(given.value), str(wanted.value))
        found = self._known(concept, name, given.value, wanted.value)
        if found is None and property_key(name) == CURRENCY:
            raise units.no_rates(str(given.value), str(wanted.value))
        if found is None:
            raise Misuse(
                f"no conversion of {concept} from {name} {given} to {wanted} is known"
                + (f" at {self.at.isoformat()}" if self.at else ""),
                code="no-conversion",
                hint="register one for the concept and the property",
            )
        return found

    def _of_units(self, concept: str, given: str, wanted: str) -> Conversion:
        """Units convert by themselves, money in them by rates."""
        exchange = units.exchange(given, wanted)
        if exchange is None:
            return unit_conversion(given, wanted)
        rate = self._known(concept, CURRENCY, exchange.source, exchange.target)
        if rate is None:
            raise units.no_rates(given, wanted)
        return composed([rate, LinearConversion(exchange.factor)])

    def _known(self, concept: str, name: str, given: Simple, wanted: Simple) -> Conversion | None:
        lineage = self.ontology.lineage(concept)
        return self.conversions.find(lineage, name, given, wanted, at=self.at, known=self.ontology.conversions)

    def _common(self, left: SemanticObject, right: SemanticObject) -> SemanticContext:
        """The context in which two objects are compared: that of the first, but for the accuracy."""
        for name in right.context:
            if name not in left.context and property_key(name) not in (SCALE, ACCURACY):
                raise _one_sided(left, right, name)
        for name in left.context:
            if name not in right.context and property_key(name) not in (SCALE, ACCURACY):
                raise _one_sided(right, left, name)
        common = left.context.without([ACCURACY])
        return (
            common if SCALE in common or SCALE not in right.context else common.with_values(SemanticContext.of(Scale=1))
        )

    def _check_comparable(self, left: SemanticObject, right: SemanticObject) -> None:
        if not self._same_concept(left, right):
            raise Misuse(
                f"{left.concept} and {right.concept} are different concepts, and neither is a kind of the other",
                code="incompatible-concepts",
            )
        if isinstance(left.value, frozenset) or isinstance(right.value, frozenset):
            raise Misuse("structured objects have no order", code="incomparable")

    def _same_concept(self, left: SemanticObject, right: SemanticObject) -> bool:
        if left.concept == right.concept:
            return True
        first, second = self.ontology.find(left.concept), self.ontology.find(right.concept)
        if first is None or second is None:
            return False
        return self.ontology.is_a(first.name, second.name) or self.ontology.is_a(second.name, first.name)

    def _check_accuracy(self, left: SemanticObject, right: SemanticObject, tolerance: Any) -> None:
        if tolerance is None and (ACCURACY in left.context or ACCURACY in right.context):
            raise Misuse(
                "values that are accurate to a degree cannot be compared as they stand: "
                "whether 5.00 and 4.99 are the same is for you to say",
                code="tolerance-needed",
                hint="give the difference up to which they are the same: compare(…, tolerance=0.1)",
            )

    def _equal_members(self, left: frozenset[SemanticObject], right: frozenset[SemanticObject], tolerance: Any) -> bool:
        """Whether each member of one set means the same as one of its own of the other."""
        if len(left) != len(right):
            return False
        if not left:
            return True
        first, *rest = left
        return any(
            self.equivalent(first, one, tolerance=tolerance)
            and self._equal_members(frozenset(rest), right - {one}, tolerance)
            for one in right
        )

    def _convert_members(self, given: SemanticObject, target: SemanticContext) -> SemanticObject:
        """A structured object whose members are converted where they have the properties."""
        assert isinstance(given.value, frozenset)
        done = {one: self._part_of(self._complete(one), target) for one in given.value}
        if not any(done.values()):
            raise Misuse(f"no part of {given.concept} has a context with {', '.join(target)}", code="no-conversion")
        members = frozenset(self.convert(one, wanted) if wanted else one for one, wanted in done.items())
        return SemanticObject(given.concept, members, given.context)

    def _part_of(self, given: SemanticObject, target: SemanticContext) -> SemanticContext:
        if isinstance(given.value, frozenset):
            return (
                target if any(self._part_of(self._complete(one), target) for one in given.value) else SemanticContext()
            )
        return target.without(name for name in target if name not in given.context)


def equivalent(
    left: SemanticObject | SemanticValue, right: SemanticObject | SemanticValue, *, tolerance: Any = None
) -> bool:
    """Whether two objects, or values without a concept, mean the same by the built-in ontology.

    >>> equivalent(SemanticObject.of("Temperature", 86, Unit="degF"), SemanticObject.of("Temperature", 30, Unit="Cel"))
    True
    """
    return Meaning().equivalent(_as_object(left), _as_object(right), tolerance=tolerance)


def compare(
    left: SemanticObject | SemanticValue, right: SemanticObject | SemanticValue, *, tolerance: Any = None
) -> int:
    """-1, 0 or 1: less, the same, or more by the built-in ontology; see `Meaning.compare`.

    >>> compare(SemanticValue.of(5.00, Accuracy=0.1), SemanticValue.of(4.99, Accuracy=0.1), tolerance=0.1)
    0
    """
    return Meaning().compare(_as_object(left), _as_object(right), tolerance=tolerance)


def convert(given: SemanticObject, target: SemanticContext) -> SemanticObject:
    """The object in another context, by the built-in ontology; see `Meaning.convert`."""
    return Meaning().convert(given, target)


def _as_object(given: SemanticObject | SemanticValue) -> SemanticObject:
    return given if isinstance(given, SemanticObject) else SemanticObject("Value", given.value, given.context)


def _scale(context: SemanticContext) -> Fraction:
    value = (context.get(SCALE) or _ONE).value
    if isinstance(value, bool) or not isinstance(value, Fraction) or value <= 0:
        raise Misuse(f"a scale is a number above 0, not {print_simple(value)}", code="bad-value")
    return value


def _needs_scale(given: SemanticContext, target: SemanticContext) -> bool:
    """Whether a conversion of units or money must see the number without its scale: an offset is not scaled."""
    return SCALE in given and any(property_key(name) in (UNIT, CURRENCY) for name in target)


def _scaled(value: Simple, factor: Fraction) -> Simple:
    if factor == 1:
        return value
    if isinstance(value, bool) or not isinstance(value, Fraction):
        raise Misuse(f"{print_simple(value)} is no number and has no scale", code="bad-value")
    return value * factor


def _applied(conversion: Conversion, at: datetime | None) -> Callable[[Simple], Simple | None]:
    return lambda value: conversion.apply(value, at=at)


def _ordered(left: Simple, right: Simple, tolerance: Any) -> int:
    if tolerance is not None and _within(left, right, exact(tolerance)):
        return 0
    if type(left) is not type(right):
        raise Misuse(f"{print_simple(left)} and {print_simple(right)} are of different kinds", code="incomparable")
    if isinstance(left, datetime) and isinstance(right, datetime) and (left.tzinfo is None) != (right.tzinfo is None):
        raise Misuse("a time with a zone and one without cannot be compared", code="incomparable")
    return _sign(left, right)


def _within(left: Simple, right: Simple, tolerance: Fraction) -> bool:
    return isinstance(left, Fraction) and isinstance(right, Fraction) and abs(left - right) <= tolerance


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _unknown(concept: str, name: str, wanted: SemanticValue) -> Misuse:
    return Misuse(
        f"the value of {concept} says nothing about its {name}, so it cannot be converted into {wanted}",
        code="no-conversion",
        hint=f"add {name} to its context",
    )


def _one_sided(silent: SemanticObject, other: SemanticObject, name: str) -> Misuse:
    return Misuse(
        f"{silent} says nothing about {name}, and {other} does",
        code="incomparable",
        hint=f"add {name} to the context of the first",
    )
