"""Concepts: what a value is about, in the words of a shared vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from comity.meaning import units
from comity.meaning.context import SemanticContext

_NO_LABELS: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True)
class Concept:
    """A concept of an ontology.

    `labels` are its words by language, the preferred one first. `needs` are the properties that a context of its
    values must have; `defaults` is the context that holds where a value says nothing else. `unit` is the unit of
    reference of a quantity: its values convert into every unit of the same dimension. `parts` are the concepts that a
    structured value is made of.

    >>> Concept("Distance", broader=("Length",), unit="km").dimension
    '[length]'
    """

    name: str
    broader: tuple[str, ...] = ()
    description: str = ""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_LABELS)
    related: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    defaults: SemanticContext = field(default_factory=SemanticContext)
    unit: str | None = None
    quantity_kind: str | None = None
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Put what has no order into one order, so that concepts that say the same are equal."""
        for name in ("broader", "related", "needs", "parts"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        ordered = {one: _preferred_first(self.labels[one]) for one in sorted(self.labels) if self.labels[one]}
        object.__setattr__(self, "labels", MappingProxyType(ordered))

    @cached_property
    def dimension(self) -> str | None:
        """What its numbers measure, None if it is no quantity."""
        return None if self.unit is None else units.dimension(self.unit)

    def label(self, language: str = "en") -> str:
        """The preferred word in a language, the name if it has none there."""
        words = self.labels.get(language, ())
        return words[0] if words else self.name

    @property
    def words(self) -> tuple[str, ...]:
        """Its name and all its labels."""
        return (self.name, *(word for language in self.labels.values() for word in language))


def _preferred_first(words: tuple[str, ...]) -> tuple[str, ...]:
    return (words[0], *sorted(set(words[1:]) - {words[0]}))
