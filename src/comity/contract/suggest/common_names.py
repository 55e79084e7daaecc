"""The names of a contract's attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from comity.contract.suggest.attributes import Candidate
from comity.contract.suggest.names import Vocabulary, words


@dataclass(slots=True)
class CommonNames:
    """Gives each attribute a name of its own."""

    taken: set[str] = field(default_factory=set)

    def choose(self, left: Candidate, right: Candidate, vocabulary: Vocabulary | None = None) -> str:
        """The name for two attributes: the concept of both, or the name with fewer words, or the left one.

        >>> from comity.event.types import AttributeType
        >>> from comity.event.kinds import Kind
        >>> text = AttributeType(Kind.STRING)
        >>> CommonNames().choose(Candidate(("roomName",), text), Candidate(("place", "room"), text))
        'room'
        """
        if left.path[-1] == right.path[-1]:
            return self.take(left)
        concept = left.type.concept or right.type.concept or _common_concept(left, right, vocabulary)
        if concept:
            return self._own(_snake(concept), left)
        shorter = min((left, right), key=lambda one: len(words(one.path[-1])))
        return self.take(shorter)

    def take(self, one: Candidate) -> str:
        """The attribute's own name, with those of the structs around it if it is taken."""
        return self._own(one.path[-1], one)

    def _own(self, name: str, one: Candidate) -> str:
        if name in self.taken or name == "event":
            name = "_".join(one.path)
        number = 2
        while name in self.taken:
            name, number = f"{one.path[-1]}_{number}", number + 1
        self.taken.add(name)
        return name


def _common_concept(left: Candidate, right: Candidate, vocabulary: Vocabulary | None) -> str | None:
    """The concept for which both names are words, unless one of the names is like the other anyway."""
    if vocabulary is None or {*words(left.path[-1])} & {*words(right.path[-1])}:
        return None
    one, other = (vocabulary.find(side.path[-1]) for side in (left, right))
    return one.name if one is not None and other is not None and one.name == other.name else None


def _snake(name: str) -> str:
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).lower().strip("_") or "value"
