"""How long an event can still matter to a pattern: what is older is dropped, so state is bounded by time frames."""

from __future__ import annotations

from typing import assert_never

from comity.pattern.tree import Both, Either, Operand, Pattern, Selection, Sequence, Silence, Together

Horizon = int | None
"""Microseconds; None for ever."""


Found = dict[str | Silence, Horizon]


def horizons(pattern: Pattern) -> Found:
    """How long after its time an event of an operand can take part in, or stand against, something that closes.

    For a silence it is how long after it began.

    >>> from comity.pattern.tree import Absent
    >>> horizons(Sequence((Operand("a"), Absent(Operand("n")), Operand("b")), within=5))
    {'b': 0, 'a': 5, 'n': 5}
    """
    found: Found = {}
    _fill(pattern, 0, found)
    return found


def is_bounded(pattern: Pattern) -> bool:
    """Whether time frames bound the state."""
    return None not in horizons(pattern).values()


def _fill(pattern: Pattern, rest: Horizon, found: Found) -> None:
    """`rest`: how long after its end an occurrence of the pattern can matter."""
    match pattern:
        case Operand(name):
            found[name] = rest
        case Either(parts):
            for part in parts:
                _fill(part, rest, found)
        case Both(parts, within):
            for part in parts:
                _fill(part, _sum(within, rest), found)
        case Together(parts, tolerance):
            for part in parts:
                _fill(part, _sum(tolerance, rest), found)
        case Silence(inner, within):
            found[pattern] = _sum(within, rest)
            _fill(inner, found[pattern], found)
        case Selection(Operand() as inner):
            _fill(inner, rest, found)
        case Selection(inner):
            _fill(inner, None, found)  # positions of composite occurrences are counted from the beginning
        case Sequence():
            _fill_sequence(pattern, rest, found)
        case _:
            assert_never(pattern)


def _fill_sequence(pattern: Sequence, rest: Horizon, found: Found) -> None:
    *gaps, trailing = pattern.gaps
    *earlier, last = pattern.present
    framed = _sum(pattern.within, rest)
    inside = None if trailing else framed
    _fill(last, framed if trailing else rest, found)
    for part in earlier:
        _fill(part, inside, found)
    for gap in gaps[1:]:
        for absent in gap:
            _fill(absent, inside, found)
    for absent in trailing:
        _fill(absent, framed, found)
    for absent in gaps[0]:
        # Looking back from the end of what is present, which an absence behind it makes earlier.
        _fill(absent, _sum(pattern.within, framed) if trailing else framed, found)


def _sum(one: Horizon, other: Horizon) -> Horizon:
    return None if one is None or other is None else one + other
