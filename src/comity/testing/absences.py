"""Hypothesis strategies for what is easy to get wrong in patterns: silences, anchored absences, keys and ties.

Every pattern has a silence (`not N within T` by itself, or as a part) or an absence that is anchored at what is before
or behind it. Events are few, of few types, and close together, so that they fall on the edges of frames, on the ends of
silences and on each other.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from comity.event.event import Event
from comity.pattern.bound import BoundPattern
from comity.pattern.tree import Absent, Both, Either, Operand, Pattern, Selection, Sequence, Silence, Together, operands
from comity.testing.patterns import SECOND, composites, named, traces

TYPES = ("N", "A", "B")


def lengths() -> SearchStrategy[int]:
    """Short frames, so that a trace has several silences one after the other."""
    return st.sampled_from((1, 1, 2, 3)).map(lambda seconds: seconds * SECOND)


def _frames() -> SearchStrategy[int | None]:
    return st.none() | st.sampled_from((1, 2, 3, 5)).map(lambda seconds: seconds * SECOND)


@st.composite
def absences(draw: DrawFn) -> Pattern:
    """Patterns with a silence or an anchored absence; operands are named a, b, c, … in some order."""
    pattern = _embedded(draw, _absence(draw))
    order = draw(st.permutations(range(len(operands(pattern)))))
    return named(pattern, [chr(ord("a") + at) for at in order])


def _operand(draw: DrawFn) -> Operand:
    return Operand("", draw(st.sampled_from(TYPES)))


def _absence(draw: DrawFn) -> Pattern:
    """A silence, of an event or of more; or an absence behind, before or between what occurs."""
    match draw(st.integers(0, 7)):
        case 0 | 1 | 2:
            return Silence(_operand(draw), draw(lengths()))
        case 3:
            return Silence(_small(draw), draw(lengths()))
        case 4:
            return Sequence((_step(draw), Absent(_small(draw))), draw(lengths()))
        case 5:
            return Sequence((Absent(_small(draw)), _step(draw)), draw(_frames()))
        case 6:
            return Sequence((_step(draw), Absent(_small(draw)), _step(draw)), draw(_frames()))
    return Sequence((Absent(_operand(draw)), _step(draw), Absent(_operand(draw))), draw(lengths()))


def _step(draw: DrawFn) -> Pattern:
    """What an absence is anchored at: mostly an event, now and then a silence."""
    return Silence(_operand(draw), draw(lengths())) if draw(st.integers(0, 4)) == 4 else _operand(draw)


def _small(draw: DrawFn) -> Pattern:
    """What must not occur: mostly an event."""
    match draw(st.integers(0, 7)):
        case 5:
            return Either((_operand(draw), _operand(draw)))
        case 6:
            return Sequence((_operand(draw), _operand(draw)), draw(_frames()))
        case 7:
            return Silence(_operand(draw), draw(lengths()))
    return _operand(draw)


def _embedded(draw: DrawFn, absence: Pattern) -> Pattern:
    """The absence by itself, or as a part of something."""
    other = _absence(draw) if draw(st.integers(0, 4)) == 4 else _operand(draw)
    parts = (absence, other) if draw(st.booleans()) else (other, absence)
    match draw(st.integers(0, 8)):
        case 0:
            return absence
        case 1 | 2 | 3:
            return Sequence(parts, draw(_frames()))
        case 4:
            return Both(parts, draw(_frames()))
        case 5:
            return Together(parts, draw(st.sampled_from((0, 0, 1, 2))) * SECOND)
        case 6:
            return Either(parts)
        case 7:
            return Sequence((_operand(draw), absence, _operand(draw)), draw(_frames()))
    first, last = draw(st.sampled_from(((1, 1), (2, 2), (1, 2), (None, None))))
    return Sequence((Selection(absence, first, last), _operand(draw)), draw(_frames()))


def bound_absences() -> SearchStrategy[BoundPattern]:
    """Profiles of such patterns, with conditions, keys and parameters of all sorts."""
    return composites(absences()).map(lambda one: one.bind("p"))


def crowded_traces(*, max_size: int = 9, seconds: int = 6) -> SearchStrategy[list[Event]]:
    """A few events of the types of these patterns on a few seconds: many of one time, or at the end of a frame."""
    return traces(max_size=max_size, seconds=seconds, types=TYPES)
