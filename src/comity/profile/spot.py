"""Places in texts that hold profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from comity.errors import ComityError, Misuse, Place
from comity.pattern.composite import Composite
from comity.profile.profile import Profile


@dataclass(frozen=True, slots=True)
class Spot:
    """Where in a file something begins: line and column, from 1."""

    file: str | None
    line: int
    column: int

    @classmethod
    def at(cls, text: str, index: int, file: str | None = None) -> Spot:
        """The spot of a character of the text."""
        return cls(file, text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))

    @property
    def place(self) -> Place:
        return Place(self.file, self.line, self.column)

    def located(self, error: ComityError) -> ComityError:
        """An error that was found in the text that begins here."""
        return error.located(self.file, self.line, self.column)

    def fault(self, message: str, hint: str | None = None, code: str = "syntax") -> Misuse:
        return Misuse(message, code=code, place=self.place, hint=hint)

    def profile(self, name: str, composite: Composite, parts: Mapping[str, Spot]) -> Profile:
        """The composite profile that begins here; `parts` are where `on`, `where` and the others begin."""
        return Profile(
            name,
            composite.where,
            place=self.place,
            locate=lambda error, part: parts.get(part, self).located(error),
            composite=composite,
        )
