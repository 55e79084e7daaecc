"""From a bound tree back to one that shows its units, for people to read.

Binding takes the units off, because attributes without a type have one unit wherever they occur. A printed filter needs
them again: `temperature > 30` alone does not say of what.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from comity.event.kinds import Value
from comity.expression.tree import Attribute, Between, Compare, Expression, In, Literal, Quantity, rebuild
from comity.meaning.scales import split_scale

Units = Mapping[tuple[str, ...], str | None]
"""The unit of each attribute, as `Scope.open_units` has it."""


def with_units(node: Expression, units: Units) -> Expression:
    """The tree with a unit at every number that is compared with an attribute that has one.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> render(with_units(parse("heat > 30 and room = 'attic'"), {("heat",): "degC"}))
    "heat > 30 degC and room = 'attic'"
    """
    if isinstance(node, Compare):
        return _measured(node, units, node.left, node.right)
    if isinstance(node, Between | In):
        return _measured(node, units, node.operand)
    return rebuild(node, lambda part: with_units(part, units))


def _measured(node: Expression, units: Units, *operands: Expression) -> Expression:
    found = [units.get(one.path) for one in operands if isinstance(one, Attribute)]
    unit = next((one for one in found if one), None)
    return rebuild(node, lambda part: _quantity(part, unit)) if unit else node


def _quantity(part: Expression, unit: str) -> Expression:
    if not isinstance(part, Literal) or not _is_number(part.value):
        return part
    scale, base = split_scale(unit)
    # The language has no scales: 3 of `1000 mile` are written `3000 mile`.
    exact = Fraction(str(part.value)) * scale
    whole = exact.denominator == 1 and isinstance(part.value, int)
    return Quantity(exact.numerator if whole else float(exact), base)


def _is_number(value: Value) -> bool:
    return type(value) in (int, float)
