"""Constraint classes: named tests that are written `attribute in name(…)` and expand to expressions.

A class is added by giving its expansion. Because the expansion is made of ordinary atoms, every runner evaluates it,
and covering,
overlapping and merging follow from the algebra without a rule of their own. `rectangle` is the worked example:

>>> CONSTRAINTS["rectangle"].parameters
('left', 'bottom', 'right', 'top')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from comity.errors import Misuse, Place
from comity.expression.tree import Attribute, Between, Exists, Expression, Not, conjunction

Expansion = Callable[..., Expression]


@dataclass(frozen=True, slots=True)
class ConstraintClass:
    """A named test on one attribute: what it takes and what it stands for.

    `expand(attribute, *arguments)` gives the test; `presence(attribute)` names what must be there for the test to
    apply at all, so
    that `not in` can stay false on events without it.
    """

    name: str
    parameters: tuple[str, ...]
    expand: Expansion
    presence: Callable[[Attribute], tuple[Attribute, ...]]


CONSTRAINTS: dict[str, ConstraintClass] = {}


def register_constraint(constraint: ConstraintClass) -> None:
    """Make a constraint class known to the language, under a name that is still free."""
    if constraint.name in CONSTRAINTS:
        raise Misuse(f"there is a constraint class {constraint.name!r} already", code="duplicate-constraint")
    CONSTRAINTS[constraint.name] = constraint


def expand_constraint(
    attribute: Expression, name: str, arguments: tuple[Expression, ...], *, negated: bool
) -> Expression:
    """What `attribute in name(arguments)` stands for."""
    if name not in CONSTRAINTS:
        known = ", ".join(sorted(CONSTRAINTS))
        raise Misuse(f"there is no constraint class {name!r}", code="unknown-constraint", hint=f"known: {known}")
    constraint = CONSTRAINTS[name]
    if not isinstance(attribute, Attribute):
        raise Misuse(f"`in {name}(…)` tests an attribute", code="constraint-operand")
    if len(arguments) != len(constraint.parameters):
        wanted = ", ".join(constraint.parameters)
        place = Place(path=attribute.name)
        raise Misuse(f"{name} takes {len(constraint.parameters)} arguments: {wanted}", code="arity", place=place)
    test = constraint.expand(attribute, *arguments)
    if not negated:
        return test
    return conjunction([*(Exists(part) for part in constraint.presence(attribute)), Not(test)])


def _coordinates(point: Attribute) -> tuple[Attribute, Attribute]:
    return Attribute((*point.path, "x")), Attribute((*point.path, "y"))


def _rectangle(
    point: Attribute, left: Expression, bottom: Expression, right: Expression, top: Expression
) -> Expression:
    x, y = _coordinates(point)
    return conjunction([Between(x, left, right), Between(y, bottom, top)])


register_constraint(ConstraintClass("rectangle", ("left", "bottom", "right", "top"), _rectangle, _coordinates))
