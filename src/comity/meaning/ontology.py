"""Ontologies: the concepts that parties share, found by any of their words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from comity.document import did_you_mean
from comity.errors import ComityError, Faults, Misuse, Place
from comity.meaning.concept import Concept
from comity.meaning.context import SemanticContext, property_key
from comity.meaning.conversions import Registered

_LEAST_SIMILARITY = 0.6


class Ontology:
    """Concepts by name, and the conversions that belong to them.

    >>> known = Ontology([Concept("Length"), Concept("Distance", broader=("Length",), labels={"de": ("Abstand",)})])
    >>> known.find("abstand").name, known.is_a("Distance", "Length"), known.lineage("Distance")
    ('Distance', True, ('Distance', 'Length'))
    """

    def __init__(
        self,
        concepts: Iterable[Concept] = (),
        conversions: Iterable[Registered] = (),
        *,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        """Raises `Faults` with every broader or related concept that is unknown, and every cycle."""
        self.concepts: dict[str, Concept] = {}
        self.conversions = tuple(conversions)
        self._places = dict(places or {})
        faults: list[ComityError] = []
        for one in concepts:
            if one.name in self.concepts:
                faults.append(self._fault(f"there are two concepts {one.name}", one.name, "duplicate-concept"))
            self.concepts[one.name] = one
        faults += [*self._unknown_names(), *self._cycles()]
        if faults:
            raise Faults(faults)

    def find(self, word: str) -> Concept | None:
        """The concept with a name or label; its case, spaces and underscores do not matter."""
        if word in self.concepts:
            return self.concepts[word]
        name = self._by_word.get(_plain(word))
        return None if name is None else self.concepts[name]

    def concept(self, word: str) -> Concept:
        """The same, but refused if there is none."""
        found = self.find(word)
        if found is None:
            near = [one.name for one, _ in self.similar(word, limit=1)]
            hint = f"did you mean `{near[0]}`?" if near else did_you_mean(word, self.concepts)
            raise Misuse(f"there is no concept {word!r}", code="unknown-concept", hint=hint)
        return found

    def similar(self, word: str, *, limit: int = 5) -> list[tuple[Concept, float]]:
        """Concepts whose words are like a word, the most similar first, each with a number up to 1.

        >>> known = Ontology([Concept("Temperature"), Concept("Pressure")])
        >>> [(one.name, score) for one, score in known.similar("temprature")]
        [('Temperature', 0.95)]
        """
        wanted = _plain(word)[:100]
        scores: dict[str, float] = {}
        for text, name in self._by_word.items():
            score = difflib.SequenceMatcher(None, wanted, text).ratio()
            scores[name] = max(score, scores.get(name, 0))
        best = sorted((-score, name) for name, score in scores.items() if score >= _LEAST_SIMILARITY)
        return [(self.concepts[name], round(-score, 2)) for score, name in best[:limit]]

    def lineage(self, word: str) -> tuple[str, ...]:
        """The name of the concept and of all broader ones, the nearest first; of an unknown one only what was given."""
        found = self.find(word)
        if found is None:
            return (word,)
        names = dict.fromkeys([found.name])
        level = [found.name]
        while level:
            level = [above for name in level for above in self.concepts[name].broader if above not in names]
            names |= dict.fromkeys(level)
        return tuple(names)

    def is_a(self, narrow: str, broad: str) -> bool:
        """Whether a concept is the other one or a kind of it."""
        return self.concept(broad).name in self.lineage(self.concept(narrow).name)

    def narrower(self, word: str) -> tuple[Concept, ...]:
        """The concepts directly below one."""
        name = self.concept(word).name
        return tuple(one for one in self.concepts.values() if name in one.broader)

    def needs(self, word: str) -> tuple[str, ...]:
        """The properties that a context of its values must have; inherited."""
        found = {property_key(one): one for name in self.lineage(word) for one in self.concepts[name].needs}
        return tuple(found.values())

    def defaults(self, word: str) -> SemanticContext:
        """What holds where a value says nothing else; inherited, the nearest counts."""
        context = SemanticContext()
        for name in reversed(self.lineage(word)):
            context = context.with_values(self.concepts[name].defaults)
        return context

    def unit(self, word: str) -> str | None:
        """The unit of reference of a quantity; inherited, None if it is none."""
        return next((unit for name in self.lineage(word) if (unit := self.concepts[name].unit)), None)

    def extended(
        self,
        concepts: Iterable[Concept],
        conversions: Iterable[Registered] = (),
        places: Mapping[str, Place] | None = None,
    ) -> Ontology:
        """This ontology with more concepts, which may name those that it has."""
        own = dict(self.concepts)
        where = {**self._places, **(places or {})}
        for one in concepts:
            own[one.name] = _united(own[one.name], one, where.get(one.name)) if one.name in own else one
        united = [*self.conversions, *(one for one in conversions if one not in self.conversions)]
        return Ontology(own.values(), united, places=where)

    def __len__(self) -> int:
        return len(self.concepts)

    def __iter__(self) -> Iterator[Concept]:
        return iter(self.concepts.values())

    @cached_property
    def _by_word(self) -> dict[str, str]:
        """Names by their words; a name comes before a label, an earlier concept before a later one."""
        found: dict[str, str] = {}
        for one in self.concepts.values():
            for word in one.words:
                found.setdefault(_plain(word), one.name)
        return found | {_plain(name): name for name in reversed(self.concepts)}

    def _unknown_names(self) -> Iterator[Misuse]:
        for one in self.concepts.values():
            for field in ("broader", "related", "parts"):
                for name in getattr(one, field):
                    if name not in self.concepts:
                        message = f"{one.name} has {field} {name}, which is no concept here"
                        yield self._fault(message, one.name, "unknown-concept", did_you_mean(name, self.concepts))

    def _cycles(self) -> Iterator[Misuse]:
        for name in self.concepts:
            above = [one for one in self.concepts[name].broader if one in self.concepts]
            if any(name in self._above(one) for one in above):
                yield self._fault(f"{name} is a kind of itself", name, "cyclic-concept")

    def _above(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in found and one in self.concepts:
                found.add(one)
                waiting += self.concepts[one].broader
        return found

    def _fault(self, message: str, name: str, code: str, hint: str | None = None) -> Misuse:
        return Misuse(message, code=code, place=self._places.get(name), hint=hint)


def _united(first: Concept, second: Concept, place: Place | None) -> Concept:
    for field in ("description", "unit", "quantity_kind", "defaults"):
        own, other = getattr(first, field), getattr(second, field)
        if own and other and own != other:
            message = f"{first.name} has two values of {field.replace('_', ' ')}: {own} and {other}"
            raise Misuse(message, code="conflicting-concept", place=place)
    languages = dict.fromkeys((*first.labels, *second.labels))
    return replace(
        first,
        broader=_union(first.broader, second.broader),
        related=_union(first.related, second.related),
        needs=_union(first.needs, second.needs),
        parts=_union(first.parts, second.parts),
        labels={one: _union(first.labels.get(one, ()), second.labels.get(one, ())) for one in languages},
        description=first.description or second.description,
        unit=first.unit or second.unit,
        quantity_kind=first.quantity_kind or second.quantity_kind,
        defaults=first.defaults or second.defaults,
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _plain(word: str) -> str:
    """A word as it is compared: `roomTemperature`, `room_temperature` and `Room temperature` are one."""
    return re.sub(r"[\s_\-.]", "", word).casefold()
