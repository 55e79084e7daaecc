"""What can end what: the operands and absences that can be the last of a pattern, so that only then it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from comity.pattern.tree import (
    Operand,
    Pattern,
    Selection,
    Sequence,
    Silence,
    bound_parts,
    walk,
)

Cause = str | Sequence | Silence
"""An operand by its name, or an absence whose time has come."""


@dataclass(frozen=True, slots=True)
class Timers:
    """The absences in a pattern, and by what each of them is set off."""

    closing: frozenset[Cause]
    """What the whole pattern can close by."""
    set_off: dict[Cause, tuple[Sequence | Silence, ...]] = field(hash=False)
    """By what happens: the absences that begin to wait then."""
    silences: tuple[Silence, ...]

    @classmethod
    def of(cls, pattern: Pattern) -> Timers:
        """The timers of a pattern.

        >>> from comity.pattern.tree import Absent
        >>> absence = Sequence((Operand("a"), Absent(Operand("n"))), within=5)
        >>> Timers.of(absence).set_off == {"a": (absence,)}
        True
        """
        set_off: dict[Cause, list[Sequence | Silence]] = {}
        for absence in absences(pattern):
            watched = absence.pattern if isinstance(absence, Silence) else absence.present[-1]
            for cause in causes(watched):
                set_off.setdefault(cause, []).append(absence)
        silences = tuple(part for part in walk(pattern) if isinstance(part, Silence))
        return cls(frozenset(causes(pattern)), {cause: tuple(own) for cause, own in set_off.items()}, silences)


def absences(pattern: Pattern) -> Iterator[Sequence | Silence]:
    """The parts that end by the passing of time."""
    for part in walk(pattern):
        if isinstance(part, Silence) or (isinstance(part, Sequence) and part.gaps[-1]):
            yield part


def causes(pattern: Pattern) -> Iterator[Cause]:
    """What an occurrence of the pattern can end with."""
    match pattern:
        case Operand(name):
            yield name
        case Silence():
            yield pattern
        case Sequence():
            if pattern.gaps[-1]:
                yield pattern
            else:
                yield from causes(pattern.present[-1])
        case Selection(inner):
            yield from causes(inner)
        case _:
            for part in bound_parts(pattern):
                yield from causes(part)
