"""The pattern tree: operands joined by operators, each with its time frame. Times are in microseconds.

Nodes are frozen, hashable and compare by structure. A `not` (`Absent`) stands only as a step of a sequence, or alone
with a time frame (`Silence`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operand:
    """A name for events of a type; without a type, for events of every type."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Either:
    """`A | B`: each occurrence of a part."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Both:
    """`A & B within T`: an occurrence of each part, in any order."""

    parts: tuple[Pattern, ...]
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """`A : B tolerance E`: an occurrence of each part at the same time."""

    parts: tuple[Pattern, ...]
    tolerance: int = 0


@dataclass(frozen=True, slots=True)
class Absent:
    """`not N` as a step of a sequence."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Sequence:
    """`A ; not N ; B within T`: one step after the other. At least one step is not a `not`."""

    steps: tuple[Pattern | Absent, ...]
    within: int | None = None

    @property
    def present(self) -> tuple[Pattern, ...]:
        """The steps that have to occur."""
        return tuple(step for step in self.steps if not isinstance(step, Absent))

    @property
    def gaps(self) -> tuple[tuple[Pattern, ...], ...]:
        """What must not occur: before the first present step, between each and the next, and after the last."""
        found: list[list[Pattern]] = [[]]
        for step in self.steps:
            if isinstance(step, Absent):
                found[-1].append(step.pattern)
            else:
                found.append([])
        return tuple(tuple(gap) for gap in found)


@dataclass(frozen=True, slots=True)
class Silence:
    """`not N within T` by itself."""

    pattern: Pattern
    within: int


@dataclass(frozen=True, slots=True)
class Selection:
    """`A[i]`, `A[i..k]`; `first A` is `A[1]`. Positions count from 1; `last A` has none."""

    pattern: Pattern
    first: int | None = 1
    last: int | None = 1

    @property
    def is_last(self) -> bool:
        return self.first is None


Pattern = Operand | Either | Both | Together | Sequence | Silence | Selection


def parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """The direct parts, those in a `not` too.

    >>> [part.name for part in parts(Sequence((Operand("a"), Absent(Operand("n")), Operand("b"))))]
    ['a', 'n', 'b']
    """
    match pattern:
        case Operand():
            return ()
        case Either(own) | Both(own) | Together(own):
            return own
        case Sequence(steps):
            return tuple(step.pattern if isinstance(step, Absent) else step for step in steps)
        case Silence(inner) | Selection(inner):
            return (inner,)


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything in it, parents first."""
    yield pattern
    for part in parts(pattern):
        yield from walk(part)


def operands(pattern: Pattern) -> tuple[Operand, ...]:
    """Every operand, those in a `not` too, in the order of writing."""
    return tuple(part for part in walk(pattern) if isinstance(part, Operand))


def bound_parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """The direct parts that an occurrence is made of: those not in a `not`."""
    if isinstance(pattern, Sequence):
        return pattern.present
    return () if isinstance(pattern, Silence) else parts(pattern)


def bound_operands(pattern: Pattern) -> tuple[Operand, ...]:
    """The operands that occurrences bind."""
    if isinstance(pattern, Operand):
        return (pattern,)
    return tuple(operand for part in bound_parts(pattern) for operand in bound_operands(part))


def choice_order(pattern: Pattern) -> tuple[str, ...]:
    """The names of the operands in the order in which they choose: it does not depend on how `&`, `:`, `|` are written.

    >>> choice_order(Both((Operand("b"), Operand("a"))))
    ('a', 'b')
    """
    if isinstance(pattern, Operand):
        return (pattern.name,)
    orders = [order for part in bound_parts(pattern) if (order := choice_order(part))]
    if not isinstance(pattern, Sequence):
        orders.sort(key=min)
    return tuple(name for order in orders for name in order)


def unlimited_operands(pattern: Pattern) -> frozenset[str]:
    """The operands in a `not` that stands by itself, to which a limit does not apply: a silence that ended stays so."""
    silences = (part for part in walk(pattern) if isinstance(part, Silence))
    return frozenset(operand.name for silence in silences for operand in operands(silence))
