"""What solving a mapping finds: how an attribute of the source comes back from the target, or why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from comity.contract.mapping import Mapping, Path
from comity.contract.shape import conditions
from comity.event.kinds import Kind
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.tree import TRUE, Exists, Expression, attributes, is_impure, walk


@dataclass(frozen=True, slots=True)
class Recovered:
    """How an attribute of the source is computed from the target."""

    path: Path
    expression: Expression
    """Over the target type."""
    relative: Fraction = Fraction(0)
    absolute: Fraction = Fraction(0)
    """It differs from the value x by at most `relative * |x| + absolute`; times count in microseconds."""
    within: Expression = TRUE
    """Over the source type: for which events this holds."""
    declared: tuple[str, ...] = ()
    """The extension functions whose declaration it rests on."""

    @property
    def is_exact(self) -> bool:
        return not self.relative and not self.absolute


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why attributes of the source do not come back on one way."""

    paths: frozenset[Path]
    code: str
    text: str


Finding = Recovered | Obstacle
Peel = Callable[[Expression, Expression, "InversionFacts"], Iterator[Finding]]
"""From an expression over the source and its value over the target to what that tells of the attributes in it."""


@dataclass(frozen=True, slots=True)
class InversionFacts:
    """The two types, and what is known of the source already."""

    source: EventType
    target: EventType
    recovered: dict[Path, Recovered] = field(default_factory=dict)
    certain: frozenset[Path] = frozenset()
    """Attributes that every accepted event has, though they are optional."""

    def has(self, node: Expression) -> bool:
        """Whether the target tells the exact value of an expression over the source."""
        parts = list(walk(node))
        if any(is_impure(part) for part in parts):
            return False
        asked = (part.attribute.path for part in parts if isinstance(part, Exists))
        return all(map(self._has_attribute, attributes(node))) and not any(map(self._is_struct, asked))

    def over_target(self, node: Expression) -> Expression:
        """An expression over the source that the target tells, as one over the target."""
        known = ((path, one.expression) for path, one in self.recovered.items() if one.is_exact)
        return Mapping(self.target, self.source, tuple(known)).translate(node)

    def is_with(self, path: Path, others: frozenset[Path]) -> bool:
        """Whether all of the others are there whenever the attribute is."""
        own = conditions(self.source, path) | self.certain
        return all(conditions(self.source, other) <= own for other in others)

    def _has_attribute(self, path: Path) -> bool:
        found = self.recovered.get(path)
        return path[0] == ENVELOPE_NAME or (found is not None and found.is_exact and not self._is_struct(path))

    def _is_struct(self, path: Path) -> bool:
        declared = self.source.attribute_at(path)
        return declared is not None and declared.kind is Kind.STRUCT


def unknown(node: Expression, text: str) -> Obstacle:
    """The obstacle that nothing is known to lead back."""
    return Obstacle(attributes(node), "not-inverted", text)


def if_together(found: Finding, others: frozenset[Path], known: InversionFacts) -> Finding:
    """The finding, unless the attribute can be there while one of the others, which its value needs too, is not."""
    if isinstance(found, Obstacle) or known.is_with(found.path, others):
        return found
    absent = (path for path in others if not known.is_with(found.path, frozenset({path})))
    names = ", ".join(sorted(".".join(path) for path in absent))
    return Obstacle(frozenset({found.path}), "not-together", f"it is lost when {names} is missing")
