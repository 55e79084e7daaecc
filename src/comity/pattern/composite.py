"""A composite profile as it is written: a pattern, a condition, parameters; what its names mean is not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.expression.parse import Parsed, parse_text
from comity.expression.scope import Scope, Table
from comity.expression.tree import Attribute, attributes, substitute
from comity.pattern.bound import BoundPattern, bind_pattern
from comity.pattern.parameters import Parameters
from comity.pattern.scope import OpenNames, replace_path, scope_of, with_operands
from comity.pattern.tree import Operand, Pattern


@dataclass(frozen=True, slots=True)
class Composite:
    """What stands behind `on`, `where`, `duplicates`, `consume`, `limit`, `ties by`."""

    pattern: Pattern
    where: Parsed = field(default_factory=lambda: parse_text("true"))
    parameters: Parameters = field(default_factory=Parameters)
    text: str = field(default="", compare=False)
    """The pattern as it was written, if it was written in our own notation."""

    @property
    def operand_alone(self) -> Operand | None:
        """The operand, if there is nothing but it: then every event that fulfils the condition is an occurrence."""
        is_plain = self.parameters == replace(Parameters(), version=self.parameters.version)
        return self.pattern if isinstance(self.pattern, Operand) and is_plain else None

    def bind(
        self,
        name: str,
        taxonomy: Taxonomy | None = None,
        names: OpenNames | None = None,
        tables: Mapping[str, Table] | None = None,
        operand_scopes: Mapping[str, Scope] | None = None,
    ) -> BoundPattern:
        """The pattern over the types, or over those that operands are given; errors point into the condition."""
        try:
            scope = scope_of(self.pattern, taxonomy, names, tables, operand_scopes)
            return bind_pattern(name, self.pattern, self.where.tree, self.parameters, scope=scope)
        except Misuse as error:
            raise self.where.locate(error) from None


@dataclass(frozen=True, slots=True)
class OfOperand(Parsed):
    """A condition on one operand as a filter on its events: attributes are not led by the operand, but in the text."""

    operand: str

    @classmethod
    def of(cls, where: Parsed, operand: Operand) -> OfOperand:
        """The condition as a filter.

        >>> OfOperand.of(parse_text("h.value > 30"), Operand("h", "Heat")).tree.left
        Attribute(path=('value',))
        """
        led = with_operands(where.tree, operand)
        return cls(substitute(led, {path: Attribute(path[1:]) for path in attributes(led)}), where.text, operand.name)

    def locate(self, error: Misuse) -> Misuse:
        path = error.place.path if error.place else None
        led = Parsed.locate(self, replace_path(error, f"{self.operand}.{path}")) if path else error
        return led if led.place and led.place.line else Parsed.locate(self, error)
