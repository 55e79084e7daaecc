"""The records that can exist: which values each attribute may hold. Relations between filters are relations over a
space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from comity.event.kinds import Kind
from comity.event.types import ENVELOPE, MODES, EventType
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.filter.open_kinds import open_classes
from comity.filter.sets.strings import StringSet
from comity.filter.sets.values import CLASSES, ValueSet

Path = tuple[str, ...]
TYPE_PATH: Path = ("event", "type")


@dataclass(frozen=True, slots=True)
class Space:
    """The events of one concrete type, or, without a type, any record at all."""

    type: EventType | None = None
    classes: Mapping[Path, frozenset[str]] | None = field(default=None, compare=False)
    """Of open attributes: the classes of values that their constraints give them; None when nothing may be assumed."""
    _universes: dict[Path, ValueSet] = field(default_factory=dict, compare=False, repr=False)

    def universe(self, path: Path) -> ValueSet:
        """Every value that the attribute can have, and whether it can be missing."""
        known = self._universes.get(path)
        if known is None:
            known = self._universes[path] = self._universe(path)
        return known

    def kind(self, path: Path) -> Kind | None:
        """The declared kind of an attribute, None when it is open or when no event of the space has it."""
        if path[0] == "event":
            return ENVELOPE[path[1]].kind
        if self.type is None:
            return _TIME_KINDS.get((self.classes or {}).get(path, frozenset()))
        declared = self.type.attribute_at(path)
        return declared.kind if declared else None

    def requires(self, path: Path) -> bool:
        """Whether the last step of the path is there whenever the step before it is."""
        if self.type is None:
            return False
        parent = self.type.attribute_at(path[:-1])
        own = self.type.attribute_at(path)
        return bool(parent and own and own.optional == parent.optional and self._step_is_mandatory(path))

    def _step_is_mandatory(self, path: Path) -> bool:
        parent = self.type.attribute_at(path[:-1]) if self.type else None
        if parent is None or parent.kind is Kind.POINT:
            return True
        return not parent.attributes[path[-1]].optional

    def _universe(self, path: Path) -> ValueSet:
        if path == TYPE_PATH and self.type is not None:
            return ValueSet(strings=StringSet.of([self.type.qualified_name]))
        if path[0] == "event":
            return _envelope_universe(path[1])
        if self.type is None:
            return self._open_universe(path)
        found = self.type.attribute_at(path)
        if found is None:  # an attribute of another subtype: no event of this type has it
            return ValueSet(missing=True)
        return ValueSet.universe(found.kind, found.optional)

    def _open_universe(self, path: Path) -> ValueSet:
        universe = ValueSet.open_universe()
        if self.classes is None:
            return universe
        possible = ValueSet.only_missing()
        for name in self.classes.get(path, _PLAIN_CLASSES):
            possible = possible.union(CLASSES[name])
        return universe.intersect(possible)


_PLAIN_CLASSES = frozenset({"numbers", "strings", "bools", "other"})
"""What JSON has: a text is a time only where a constraint says so."""


def _envelope_universe(name: str) -> ValueSet:
    declared = ENVELOPE[name]
    if name == "mode":
        return ValueSet(missing=True, strings=StringSet.of(MODES))
    if declared.kind is Kind.STRING and not declared.optional:  # an id, a source or a type is never empty
        return ValueSet(strings=StringSet.of([""]).complement())
    return ValueSet.universe(declared.kind, declared.optional)


_TIME_KINDS = {frozenset({"timestamps"}): Kind.TIMESTAMP, frozenset({"durations"}): Kind.DURATION}


def spaces(scope: Scope, trees: Iterable[Expression]) -> Iterator[Space]:
    """The spaces that these filters of the scope range over: one for each concrete type."""
    if scope.type is None:
        yield Space(classes=open_classes(trees))
    elif scope.taxonomy is None:
        yield Space(scope.type)
    else:
        for below in scope.taxonomy.subtypes(scope.type.qualified_name):
            if not below.abstract:
                yield Space(below)
