"""A bound value: what is known of an expression's value before any event is seen, and what to say if that is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from comity.errors import Misuse, Place
from comity.event.kinds import ANY_KIND, Kind
from comity.expression.render import render
from comity.expression.tree import MISSING, Call, Conditional, Expression, Literal, Quantity, attributes


@dataclass(frozen=True, slots=True)
class Bound:
    """A value expression with the kinds that its value can have, the unit of a number and the codes of a text."""

    node: Expression
    kinds: frozenset[Kind]
    unit: str | None = None
    codes: str | None = None

    @property
    def is_quantity(self) -> bool:
        return isinstance(self.node, Quantity)

    @property
    def is_constant(self) -> bool:
        return _is_constant(self.node)

    def described(self) -> str:
        """Its kinds, in words."""
        return "any" if self.kinds == ANY_KIND else "/".join(sorted(self.kinds))

    def place(self) -> Place | None:
        """Where it stands, by the first attribute in it."""
        names = sorted(".".join(path) for path in attributes(self.node))
        return Place(path=names[0]) if names else None

    def wrong_kind(self, message: str, hint: str | None = None) -> Misuse:
        return Misuse(message, code="wrong-kind", place=self.place(), hint=hint)

    def unit_missing(self, message: str) -> Misuse:
        hint = "attach a unit with quantity(x, 'km'), or take the number with value(x, 'km')"
        return Misuse(f"`{render(self.node)}` {message}", code="incompatible-units", place=self.place(), hint=hint)


def _is_constant(node: Expression) -> bool:
    """Whether it is a number that is written down, or a choice among such: it stands in the unit of what it meets."""
    kind = type(node)
    if kind is Literal or kind is Quantity:
        return True
    if isinstance(node, Conditional):
        return _is_constant(node.then) and _is_constant(node.otherwise)
    return kind is Call and node == MISSING
