"""A profile: what somebody wants to hear of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from comity.errors import ComityError, Misuse, Place
from comity.expression.bind import bind_filter
from comity.expression.parse import Parsed, parse_text
from comity.expression.scope import Scope
from comity.expression.tree import Expression

Locate = Callable[[ComityError, str], ComityError]
"""Gives an error that was found in one part of a profile (`where`, `on`) its place in the file."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named filter, parsed but not bound: what its names mean is up to the types of the run.

    >>> Profile.of("hot", "heat > 40").where.text
    'heat > 40'
    """

    name: str
    where: Parsed
    on: str | None = None
    """The type whose events it is about, with its subtypes; None for events of every type."""
    domain: str | None = None
    """The domain that subscribes."""
    place: Place | None = field(default=None, compare=False)
    """Where it stands in its file."""
    locate: Locate | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, name: str, where: str, *, on: str | None = None, domain: str | None = None) -> Profile:
        """A profile from a text at hand."""
        return cls(name, parse_text(where), on, domain)

    def bind(self, scope: Scope) -> Expression:
        """The filter over the names of the scope; errors point into the file."""
        try:
            return bind_filter(self.where.tree, scope)
        except Misuse as error:
            raise self.located(self.where.locate(error), "where") from None

    def located(self, error: ComityError, part: str) -> ComityError:
        """The error with its place in the profile's file, as far as that is known."""
        return self.locate(error, part) if self.locate else error
