"""The record of a function: all that is known of it, in one place.

A function needs a name, the kinds that it takes and gives, its meaning in Python, and a line for the reference. All
else says more of it, so that filters over it can be turned, mappings led back, stylesheets printed and Spark asked
directly; what a record does not say is taken for not known, and the function is evaluated then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from comity.event.kinds import Kind, Value, kind_of

Kinds = frozenset[Kind]

TEXT: Kinds = frozenset({Kind.STRING})
TIME: Kinds = frozenset({Kind.TIMESTAMP})
INT: Kinds = frozenset({Kind.INT})


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is known of the arguments of a call before any event is seen."""

    kinds: tuple[Kinds, ...]
    """The kinds that each can have."""
    constants: tuple[Value | None, ...]
    """The values of those that are constants."""

    def constant(self, at: int) -> Value | None:
        """The constant at a place; None where there is none."""
        return self.constants[at] if at < len(self.constants) else None


@dataclass(frozen=True, slots=True)
class XPathCall:
    """A call that becomes XPath: the arguments as XPath, and how a text is written in it."""

    texts: tuple[str, ...]
    arguments: Arguments
    quote: Callable[[str], str]


class NoCounterpartError(Exception):
    """XPath has nothing that gives the same; the text says why."""


Fact = Callable[[Arguments], bool]
"""Whether something holds for calls with such arguments, all of which are of the kinds that the function takes."""


def always(arguments: Arguments) -> bool:
    return True


def never(arguments: Arguments) -> bool:
    return False


def of_kinds(kinds: Kinds) -> Fact:
    """It holds when the first argument is of these kinds."""
    return lambda arguments: arguments.kinds[0] <= kinds


def gives(kind: Kind) -> Callable[..., Kind]:
    """Results of one kind, whatever the arguments are."""
    return lambda *_: kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of the expression language."""

    name: str
    summary: str
    """For the reference: what it gives."""
    takes: tuple[Kinds, ...]
    """The kinds of each argument."""
    gives: Callable[..., Kind]
    """The kind of the result, by the kinds of the arguments."""
    apply: Callable[..., Any]
    """The result for present values of the right kinds; None when there is none."""
    optional: int = 0
    """How many of the last arguments may be left out."""
    keeps_unit: bool = False
    """Whether the result stands in the unit of the first argument."""
    check: Callable[[tuple[Value | None, ...]], None] | None = None
    """Refuses constants that never have a meaning; None stands where an argument is no constant."""

    total: Fact = never
    """Whether present arguments always give a result."""
    rising: Fact = never
    """Whether a larger first argument gives a larger or an equal result, where both have one."""
    distinct: Fact = never
    """Whether different first arguments give different results."""
    no_larger: Fact = never
    """Whether no number that it gives is further from zero than the first argument, itself a number."""
    gaps_at_ends: bool = False
    """Whether it lacks a result only where one would be out of range, at the ends of what rises."""
    undo: Callable[[Fraction], Fraction] | None = None
    """About which first argument gives a result, both counted as numbers; it shortens the search for the exact one."""
    sources: Callable[[Arguments, Value], list[Value] | None] | None = None
    """The first arguments that give a value, all of them; None when they are not finite, or not known."""

    back: Mapping[Kind, str | None] | None = None
    """By the kind of the only argument: the function that gives it back, None when the result is the argument."""
    loses: str = ""
    """What cannot be told from the result, as the end of a sentence."""

    xpath: str | Callable[[XPathCall], str] | None = None
    """The call in XPath 3.1, by `str.format` of its arguments; the empty sequence is a missing value."""
    spark: Callable[..., Any] | None = None
    """The call as a Spark column, null where there is no result: called with the module `pyspark.sql.functions`, the
    `Arguments`, each of one kind, and their columns. None, also as a result, leaves the call to Python workers.
    """
    spark_growth: int = 2
    """About how often an argument stands in the Spark column, so that nested calls do not grow beyond all bounds."""

    def accepts(self, count: int) -> bool:
        return len(self.takes) - self.optional <= count <= len(self.takes)

    def fits(self, arguments: Arguments) -> bool:
        """Whether all arguments are surely of the kinds that it takes."""
        return all(kinds <= taken for kinds, taken in zip(arguments.kinds, self.takes, strict=False))

    def call(self, arguments: tuple[Value, ...]) -> Value | None:
        """The result, or None when an argument is missing or of the wrong kind, or there is no result."""
        for value, kinds in zip(arguments, self.takes, strict=False):
            if kind_of(value) not in kinds:
                return None
        return self.apply(*arguments)
