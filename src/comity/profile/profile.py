"""A profile: what somebody wants to hear of. It is about single events, or, with a pattern, about several."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from comity.errors import ComityError, Misuse, Place
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_filter
from comity.expression.parse import Parsed, parse_text
from comity.expression.scope import Scope, Table
from comity.expression.tree import Expression
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite
from comity.pattern.scope import OpenNames
from comity.profile.terms import NO_TERMS, Terms

Locate = Callable[[ComityError, str], ComityError]
"""Gives an error that was found in one part of a profile (`where`, `on`, `duplicates`, …) its place in the file."""


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
    composite: Composite | None = None
    """The pattern, its condition and parameters, if it is about several events; then there is no `on`."""
    terms: Terms = NO_TERMS
    description: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, name: str, where: str, *, on: str | None = None, domain: str | None = None) -> Profile:
        """A profile from a text at hand."""
        return cls(name, parse_text(where), on, domain)

    def bind(self, scope: Scope) -> Expression:
        """The filter over the names of the scope; errors point into the file. A composite profile has none."""
        if self.composite is not None:
            raise self.located(composite_profile(self.name), "on")
        try:
            return bind_filter(self.where.tree, scope)
        except Misuse as error:
            raise self.located(self.where.locate(error), "where") from None

    def bind_composite(
        self,
        taxonomy: Taxonomy | None = None,
        names: OpenNames | None = None,
        tables: Mapping[str, Table] | None = None,
    ) -> BoundPattern:
        """The pattern of a composite profile over the types; errors point into the file."""
        assert self.composite is not None, "a profile without a pattern has a filter"
        try:
            return self.composite.bind(self.name, taxonomy, names, tables)
        except Misuse as error:
            raise self.located(error, part_of(error, self.composite)) from None

    def located(self, error: ComityError, part: str) -> ComityError:
        """The error with its place in the profile's file, as far as that is known."""
        return self.locate(error, part) if self.locate else error


_NAME = re.compile(r"\w[\w.\-]*")


def check_name(name: str) -> None:
    """Refuse what cannot name a profile."""
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, underscores, dots and dashes"
        raise Misuse(f"{name[:60]!r} cannot name a profile", code="bad-name", hint=hint)


def composite_profile(name: str) -> Misuse:
    """The error of what is about single events when it meets a composite profile."""
    message = f"{name!r} is a composite profile, which is about several events"
    return Misuse(message, code="composite-profile", hint="use `comity detect`")


def part_of(error: Misuse, composite: Composite) -> str:
    """The part of a composite profile in which an error of binding was found."""
    ties = composite.parameters.ties
    if error.place is not None and error.place.line is not None:
        return "where"
    if error.place is not None and ties and error.place.path == ".".join(ties):
        return "ties"
    return "on"
