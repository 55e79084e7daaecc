"""`deliver in {unit: degC}`: what a subscriber receives, in the units, currency and codes that it names.

A context names attributes by their path, by their concept, or all of them by what they are in:

- `{temperature: degF, place.height: ft}` converts these attributes;
- `{Temperature: degF}` converts every attribute of the concept;
- `{unit: degC}` converts every attribute in a unit of the same dimension, `{currency: EUR}` all money,
  `{unit: mile, scale: 1000}` into thousands of miles, `{scale: 1}` takes away every scale, and `{codes: alpha3}`
  converts every text in codes for which there is a table.

A path goes before a concept, and a concept before the rest. An int stays one if a unit and scale give a whole number
for each (km into m), and becomes a float otherwise. What is inside of lists stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import replace
from fractions import Fraction

from comity.contract.mapping import Mapping, Path
from comity.contract.shape import leaves as leaves_of
from comity.errors import Misuse, Place
from comity.event.context import Context
from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_for
from comity.expression.scope import Scope
from comity.expression.tree import Arithmetic, Attribute, Expression, Literal
from comity.meaning import units
from comity.meaning.currencies import is_currency
from comity.meaning.scales import split_scale, with_scale

_GENERAL = ("unit", "currency", "scale", "codes")

Wanted = dict[Path, str]
"""The unit, or the codes, of each attribute that is to change."""


def deliver_in(scope: Scope, context: AbstractMapping[str, object]) -> Mapping | None:
    """The mapping from the scope's type to the same type in another context; None if nothing changes.

    The scope also gives exchange rates and tables of codes. What the context names must be in the type and convertible.

    >>> heat = EventType("Heat", "house", own={"value": AttributeType(Kind.FLOAT, unit="degF")})
    >>> deliver_in(Scope(heat), {"unit": "degC"}).target.attributes["value"].unit
    'degC'
    """
    type = scope.type
    assert type is not None, "an open scope has no attributes to convert"
    wanted = _wanted(type, context)
    changed = {path: one for path, one in wanted.items() if one != _own(_declared(type, path))}
    if not changed:
        return None
    attributes, expressions = _attributes(type.attributes, (), changed, scope)
    target = EventType(type.name, type.namespace, type.parent, attributes, type.abstract, type.description)
    return Mapping(type, target, tuple(expressions))


def _declared(type: EventType, path: Path) -> AttributeType:
    found = type.attribute_at(path)
    assert found is not None
    return found


def _own(declared: AttributeType) -> str | None:
    return declared.codes if declared.kind is Kind.STRING else declared.unit


# What the context names


def _wanted(type: EventType, context: AbstractMapping[str, object]) -> Wanted:
    """What a path names goes before what a concept names, and both before general words."""
    leaves = leaves_of(type)
    wanted = _by_general_words(leaves, context)
    named = {name: _text(name, value) for name, value in context.items() if name not in _GENERAL}
    by_path = {name: path for path in leaves if (name := ".".join(path)) in named}
    for name, one in named.items():
        of_concept = [path for path, declared in leaves.items() if declared.concept == name]
        if name not in by_path and not of_concept:
            raise _unknown(type, name, leaves)
        wanted |= {path: _checked(path, leaves[path], one) for path in of_concept}
    return wanted | {path: _checked(path, leaves[path], named[name]) for name, path in by_path.items()}


def _by_general_words(leaves: dict[Path, AttributeType], context: AbstractMapping[str, object]) -> Wanted:
    scale = _scale(context.get("scale", 1))
    wanted: Wanted = {}
    for word in ("unit", "currency"):
        if word in context:
            wanted |= _measured(leaves, with_scale(scale, _text(word, context[word])), word)
    if "scale" in context and not wanted:
        wanted = _scaled(leaves, scale)
    if "codes" in context:
        wanted |= _coded(leaves, _text("codes", context["codes"]))
    return wanted


def _measured(leaves: dict[Path, AttributeType], unit: str, word: str) -> Wanted:
    """Every attribute with a unit of the same dimension."""
    if word == "currency" and not is_currency(split_scale(unit)[1]):
        hint = "codes are those of ISO 4217: USD, EUR, JPY"
        raise Misuse(f"there is no currency {unit!r}", code="unknown-currency", place=Place(path=word), hint=hint)
    dimension = units.dimension(unit)
    found = {path: unit for path, one in leaves.items() if one.unit and units.dimension(one.unit) == dimension}
    return found or _nothing(f"no attribute is in a unit that converts into {unit}", word)


def _scaled(leaves: dict[Path, AttributeType], scale: Fraction) -> Wanted:
    """Every attribute that has a scale; nothing is wrong if a scale of 1 is wanted and there already."""
    split = {path: split_scale(one.unit) for path, one in leaves.items() if one.unit}
    found = {path: with_scale(scale, base) for path, (own, base) in split.items() if own != 1}
    return found if found or scale == 1 else _nothing("no attribute has a scale", "scale")


def _coded(leaves: dict[Path, AttributeType], codes: str) -> Wanted:
    found = {path: codes for path, one in leaves.items() if one.codes}
    return found or _nothing("no attribute is in codes", "codes")


def _nothing(message: str, word: str) -> Wanted:
    hint = "name an attribute or a concept instead, or leave it out"
    raise Misuse(message, code="unknown-context", place=Place(path=word), hint=hint)


def _scale(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        message = f"a scale is a number above zero, not {value!r}"[:100]
        raise Misuse(message, code="bad-scale", place=Place(path="scale"))
    return Fraction(str(value))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        hint = f"write a unit or codes: `{name}: degC`"
        raise Misuse(f"expected text, not {value!r}"[:100], code="bad-value", place=Place(path=name), hint=hint)
    return value


def _checked(path: Path, declared: AttributeType, wanted: str) -> str:
    """Refuse what has nothing to convert from; whether it converts into what is wanted is seen when it is bound."""
    if _own(declared) is None:
        what = "codes" if declared.kind is Kind.STRING else "unit"
        message = f"{'.'.join(path)} has no {what} to convert from"
        raise Misuse(message, code="incompatible-units", place=Place(path=".".join(path)))
    return wanted


def _unknown(type: EventType, name: str, leaves: dict[Path, AttributeType]) -> Misuse:
    known = [".".join(path) for path, one in leaves.items() if _own(one)]
    concepts = sorted({one.concept for one in leaves.values() if one.concept and _own(one)})
    hint = f"known: {', '.join((*_GENERAL, *known, *concepts))}"
    message = f"{type.name} has no attribute and no concept {name!r}"
    return Misuse(message, code="unknown-context", place=Place(path=name), hint=hint)


# The target and its expressions

Expressions = list[tuple[Path, Expression]]


def _attributes(
    attributes: AbstractMapping[str, AttributeType], prefix: Path, changed: Wanted, scope: Scope
) -> tuple[dict[str, AttributeType], Expressions]:
    made: dict[str, AttributeType] = {}
    expressions: Expressions = []
    for name, declared in attributes.items():
        made[name], own = _attribute(declared, (*prefix, name), changed, scope)
        expressions += own
    return made, expressions


def _attribute(declared: AttributeType, path: Path, changed: Wanted, scope: Scope) -> tuple[AttributeType, Expressions]:
    if declared.kind is Kind.STRUCT and any(one[: len(path)] == path for one in changed):
        inner, expressions = _attributes(declared.attributes, path, changed, scope)
        # A struct is made of its parts, so without any of them there is none.
        optional = declared.optional or all(one.optional for one in inner.values())
        return replace(declared, attributes=inner, optional=optional), expressions
    if path not in changed:
        return declared, [(path, Attribute(path))]
    if declared.kind is Kind.STRING:
        target = replace(declared, context=Context({**declared.context, "codes": changed[path]}))
        return target, [(path, bind_for(Attribute(path), scope, target))]
    return _in_unit(declared, path, changed[path], scope)


def _in_unit(declared: AttributeType, path: Path, unit: str, scope: Scope) -> tuple[AttributeType, Expressions]:
    target = replace(declared, unit=unit)
    try:
        factor = _whole_factor(declared, unit)
        if factor is None:
            target = replace(target, kind=Kind.FLOAT)
            return target, [(path, bind_for(Attribute(path), scope, target))]
    except Misuse as error:
        raise Misuse(error.message, code=error.code, place=Place(path=".".join(path)), hint=error.hint) from None
    times = Attribute(path) if factor == 1 else Arithmetic("*", Attribute(path), Literal(factor))
    return target, [(path, times)]


def _whole_factor(declared: AttributeType, unit: str) -> int | None:
    """What an int is multiplied by to stay one; None if it cannot, or is none."""
    if declared.kind is not Kind.INT or declared.unit is None or units.exchange(declared.unit, unit) is not None:
        return None
    change = units.conversion(declared.unit, unit)
    return change.factor.numerator if change.factor.denominator == 1 and not change.offset else None
