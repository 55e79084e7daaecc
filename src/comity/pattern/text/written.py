"""Composite profiles as a text holds them: each with its name, and with the places of its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.errors import ComityError, Misuse, Place
from comity.pattern.composite import Composite

_NAME = re.compile(r"\w[\w.\-]*")


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


@dataclass(frozen=True, slots=True)
class Written:
    """A composite profile in a text."""

    name: str
    composite: Composite
    spot: Spot = field(compare=False)
    parts: Mapping[str, Spot] = field(default_factory=dict, compare=False, hash=False)
    """Where `on`, `where` and the others begin."""

    def locate(self, error: ComityError, part: str) -> ComityError:
        """An error that was found in one part, with its place in the file."""
        return self.parts.get(part, self.spot).located(error)


def check_name(name: str) -> None:
    """Refuse what cannot name a profile."""
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, underscores, dots and dashes"
        raise Misuse(f"{name[:60]!r} cannot name a profile", code="bad-name", hint=hint)
