"""A language of filters: what it can say, and how it says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from comity.event.types import EventType
from comity.expression.render import render
from comity.expression.tree import Expression
from comity.language.capability import NOTHING, Capability
from comity.language.split import Split, split


@dataclass(frozen=True, slots=True)
class Language:
    """A capability with the text of what is asked.

    >>> from comity.expression.parse import parse
    >>> NONE.split(parse("x > 5")).reasons[0].code
    'source-has-no-filter'
    """

    capability: Capability
    render: Callable[[Expression], str]
    """The native text of a native part."""

    @property
    def name(self) -> str:
        return self.capability.name

    def split(self, tree: Expression, *, type: EventType | None = None) -> Split:
        """The filter split for this language."""
        return split(tree, self.capability, type=type, text_of=self.render)


NONE = Language(NOTHING, render)
"""No language at all."""
