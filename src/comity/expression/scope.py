"""What the names in an expression can refer to: attributes, types, tables."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from comity.errors import Misuse, Place
from comity.event.kinds import Kind, Value
from comity.event.taxonomy import Taxonomy
from comity.event.types import ENVELOPE, ENVELOPE_NAME, AttributeType, EventType
from comity.expression.extensions import ExtensionFunction
from comity.expression.tree import Attribute
from comity.meaning.rates import Rates

Table = Mapping[Value, Value]
Shape = tuple[tuple[str, ...], str, type]
"""The attribute and the operator of a comparison, and the class of the constant, whose value makes no difference."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of one event type (and of its subtypes), or, without a type, any name at all.

    Without a type an attribute is *open*: it takes the kinds and the unit that its constraints give it. `open_units`
    remembers which unit
    an open attribute was given, so all expressions bound in one scope agree on it; `convert_open_units` says whether a
    second
    unit of the same dimension is converted into the first (relations between filters) or refused (matching, where a
    bare number in
    an event must have one meaning). `open_texts` remembers whether an open attribute's texts are read as texts or as
    times.
    """

    type: EventType | None = None
    taxonomy: Taxonomy | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
    open_units: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    convert_open_units: bool = False
    open_texts: dict[tuple[str, ...], Kind] = field(default_factory=dict)
    functions: Mapping[str, ExtensionFunction] = field(default_factory=dict, kw_only=True)
    """Extension functions by name."""
    rates: Rates | None = field(default=None, kw_only=True)
    """Exchange rates, for money in different currencies."""
    codes: Mapping[tuple[str, str], Table] = field(default_factory=dict, kw_only=True)
    """From a system of codes to another: the code in the second for each in the first."""
    kept: set[Shape] = field(default_factory=set, init=False, repr=False, compare=False)
    """The comparisons with constants that binding was found to leave as they are."""

    def attribute(self, path: tuple[str, ...]) -> AttributeType | None:
        """The declaration of an attribute, None when it is open; an unknown name is refused."""
        if path[0] == "event":
            return self._envelope(path)
        if self.type is None:
            return None
        found = self.type.attribute_at(path) or self._of_a_subtype(path)
        if found is None:
            raise self._unknown(path)
        return found

    def type_names(self, name: str) -> tuple[str, ...]:
        """The qualified names of a type and everything below it."""
        if self.taxonomy is None:
            return (name,)
        return tuple(below.qualified_name for below in self.taxonomy.subtypes(name))

    def table(self, name: str) -> Table:
        if name not in self.tables:
            raise Misuse(f"there is no table {name!r}", code="unknown-table", hint=_suggestion(name, list(self.tables)))
        return self.tables[name]

    def moment(self, paths: Collection[tuple[str, ...]]) -> Attribute:
        """The time of the event that the attributes at these paths are of: rates are those of this time."""
        return Attribute((ENVELOPE_NAME, "time"))

    def code_rows(self, source: str, target: str) -> tuple[tuple[Value, Value], ...] | None:
        """The table from one system of codes to another, or the inverse of one whose values differ; None if none is."""
        direct, inverse = self.codes.get((source, target)), self.codes.get((target, source))
        if direct is not None:
            return tuple(direct.items())
        if inverse is None or len(set(inverse.values())) < len(inverse):
            return None
        return tuple((value, key) for key, value in inverse.items())

    def _envelope(self, path: tuple[str, ...]) -> AttributeType:
        found = ENVELOPE.get(path[1]) if len(path) == 2 else None
        if found is None:
            names = ", ".join(f"event.{name}" for name in ENVELOPE)
            place = Place(path=".".join(path))
            raise Misuse(
                f"{'.'.join(path)} is not in the envelope",
                code="unknown-attribute",
                place=place,
                hint=f"known: {names}",
            )
        return found

    def _of_a_subtype(self, path: tuple[str, ...]) -> AttributeType | None:
        """An attribute that only subtypes have: optional, and the same in all of them."""
        if self.taxonomy is None or self.type is None:
            return None
        below = self.taxonomy.subtypes(self.type.qualified_name)
        found = [attribute.as_optional() for one in below if (attribute := one.attribute_at(path))]
        return found[0] if found and all(other == found[0] for other in found) else None

    def _unknown(self, path: tuple[str, ...]) -> Misuse:
        assert self.type is not None
        name = ".".join(path)
        return Misuse(
            f"{self.type.name} has no attribute {name!r}",
            code="unknown-attribute",
            place=Place(path=name),
            hint=_suggestion(name, _paths(self.type.attributes)),
        )


def _paths(attributes: Mapping[str, AttributeType]) -> list[str]:
    inner = ((name, _paths(attribute.attributes)) for name, attribute in attributes.items())
    return [path for name, below in inner for path in (name, *(f"{name}.{part}" for part in below))]


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known)) or 'none'}"
