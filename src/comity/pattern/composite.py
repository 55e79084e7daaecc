"""A composite profile as it is written: a pattern, a condition, parameters; what its names mean is not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.expression.parse import Parsed, parse_text
from comity.expression.scope import Scope, Table
from comity.pattern.bound import BoundPattern, bind_pattern
from comity.pattern.parameters import Parameters
from comity.pattern.scope import OpenNames, scope_of
from comity.pattern.tree import Pattern


@dataclass(frozen=True, slots=True)
class Composite:
    """What stands behind `on`, `where`, `duplicates`, `consume`, `limit`, `ties by`."""

    pattern: Pattern
    where: Parsed = field(default_factory=lambda: parse_text("true"))
    parameters: Parameters = field(default_factory=Parameters)

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
