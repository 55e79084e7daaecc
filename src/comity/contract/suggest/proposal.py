"""What is proposed: a contract type, how each side gives its attributes, and what is left to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comity.contract.suggest.attributes import Candidate, Path
from comity.contract.suggest.evidence import SURE
from comity.event.kinds import Value
from comity.event.types import AttributeType, EventType


@dataclass(frozen=True, slots=True)
class Decision:
    """Something that a person has to decide."""

    about: str
    """The attributes in question."""
    code: str
    question: str


@dataclass(frozen=True, slots=True)
class Side:
    """How one of the two types gives an attribute of the contract type."""

    names: tuple[str, ...]
    """The attributes that it is made from."""
    expression: str | None
    """None where a person has to write it."""


@dataclass(frozen=True, slots=True)
class ProposedAttribute:
    """An attribute of the contract type."""

    path: Path
    type: AttributeType
    left: Side
    right: Side
    confidence: int
    reasons: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def sure(self) -> bool:
        return self.confidence >= SURE and None not in (self.left.expression, self.right.expression)


@dataclass(frozen=True, slots=True)
class Unmatched:
    """An attribute that only one of the types has."""

    type: EventType
    attribute: Candidate
    nearest: str | None
    """The attribute of the other type that is most like it, if any is."""
    confidence: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A contract between two types, as far as it can be told from what is known of them."""

    contract: str
    type_name: str
    left: EventType
    right: EventType
    attributes: tuple[ProposedAttribute, ...]
    tables: Mapping[str, Mapping[Value, Value]]
    unmatched: tuple[Unmatched, ...]
    decisions: tuple[Decision, ...]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "contract": self.contract,
            "type": self.type_name,
            "left": self.left.qualified_name,
            "right": self.right.qualified_name,
            "attributes": [_attribute(one) for one in self.attributes],
            "tables": {name: [[key, value] for key, value in rows.items()] for name, rows in self.tables.items()},
            "unmatched": [
                {"type": one.type.qualified_name, "attribute": one.attribute.name, "is": str(one.attribute.type)}
                | ({"nearest": one.nearest, "confidence": one.confidence} if one.nearest else {})
                for one in self.unmatched
            ],
            "decisions": [{"about": one.about, "code": one.code, "question": one.question} for one in self.decisions],
        }


def _attribute(one: ProposedAttribute) -> dict[str, Any]:
    return {
        "name": one.name,
        "is": str(one.type),
        "confidence": one.confidence,
        "sure": one.sure,
        "reasons": list(one.reasons),
        "left": {"from": list(one.left.names), "expression": one.left.expression},
        "right": {"from": list(one.right.names), "expression": one.right.expression},
    }
