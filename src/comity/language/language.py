"""A language: what it can say, how it says it, and how profiles are read from it and written in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from comity.errors import ComityError
from comity.event.types import EventType
from comity.expression.render import render
from comity.expression.tree import Expression
from comity.language.capability import NOTHING, LanguageCapability
from comity.language.reasons import Reason
from comity.language.split import Split, split
from comity.profile.profile import Profile

Types = Mapping[str, EventType]
"""The event types that can be subscribed to, by the name that a profile has in `on`."""
Reading = tuple[list[Profile], list[ComityError]]
"""The good profiles of a text, and what is wrong with the others, each with its place."""


@dataclass(frozen=True, slots=True)
class PrintedProfiles:
    """The text of profiles, and what it does not say. It is exact when nothing is left."""

    text: str
    left: tuple[Reason, ...] = ()


def _never(text: str) -> bool:
    return False


Read = Callable[[str, str, Types | None], Reading]
"""From a text, the name of its file, and the types if they are known."""
Write = Callable[[Iterable[Profile], Types], PrintedProfiles]


@dataclass(frozen=True, slots=True)
class Language:
    """A capability with the text of what is asked; and, where people write profiles in it, the reader and the writer.

    >>> from comity.expression.parse import parse
    >>> NONE.split(parse("x > 5")).reasons[0].code
    'source-has-no-filter'
    """

    capability: LanguageCapability
    render: Callable[[Expression], str] = render
    """The native text of a native part."""
    read: Read | None = None
    write: Write | None = None
    suffixes: tuple[str, ...] = ()
    """How files of profiles in it end."""
    recognises: Callable[[str], bool] = _never
    """Whether a text in a file of another name is in it."""

    @classmethod
    def of_profiles(cls, name: str, *, read: Read, write: Write | None = None, **form: Any) -> Language:
        """A language in which people write profiles, and that no source is asked in."""
        return cls(replace(NOTHING, name=name), read=read, write=write, **form)

    @property
    def name(self) -> str:
        return self.capability.name

    def split(self, tree: Expression, *, type: EventType | None = None) -> Split:
        """The filter split for this language."""
        return split(tree, self.capability, type=type, text_of=self.render)


NONE = Language(NOTHING, render)
"""No language at all."""
