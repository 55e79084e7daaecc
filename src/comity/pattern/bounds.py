"""Whether the state of a pattern is bounded, as a stream needs it to be, and what to write instead if it is not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from comity.errors import Misuse
from comity.pattern.bound import BoundPattern
from comity.pattern.horizon import horizons, is_bounded
from comity.pattern.text.render import render_pattern
from comity.pattern.tree import (
    Absent,
    Both,
    Either,
    Operand,
    Pattern,
    Selection,
    Sequence,
    Silence,
    Together,
    operands,
    unlimited_operands,
    walk,
)

_HOUR = 3_600_000_000


def unbounded(patterns: Iterable[BoundPattern]) -> list[BoundPattern]:
    """The patterns whose state grows without bound: neither time frames nor a limit bound it."""
    return [one for one in patterns if _endless(one.pattern, one.parameters.limit is not None)]


def check_bounded(patterns: Iterable[BoundPattern]) -> None:
    """Refuse patterns whose state would grow as long as a stream runs."""
    for one in unbounded(patterns):
        endless = _endless(one.pattern, one.parameters.limit is not None)
        message = (
            f"the state of profile {one.name!r} grows without bound: events of {_listed(endless)} are kept for ever"
        )
        raise Misuse(message, code="unbounded-pattern", hint=_advice(one.pattern))


def _endless(pattern: Pattern, is_limited: bool) -> list[str]:
    """The operands whose events are kept for ever. A limit does not apply to those in a `not` by itself."""
    found, unlimited = horizons(pattern), unlimited_operands(pattern)
    return [
        operand.name
        for operand in operands(pattern)
        if found[operand.name] is None and not (is_limited and operand.name not in unlimited)
    ]


def _advice(pattern: Pattern) -> str:
    """What bounds the state: a time frame, a limit, both of them, or nothing."""
    framed = framed_everywhere(pattern)
    no_limit = _without_limit(pattern)
    frame = f"`on {render_pattern(framed)}`"
    if is_bounded(framed):
        if no_limit:
            return f"{no_limit}: only time frames bound it, for example {frame}"
        return f"give the pattern a time frame, for example {frame}, or the profile a limit (`limit 1000`)"
    counted = next(part for part in walk(pattern) if _counts_groups(part))
    reason = f"positions in `{render_pattern(counted)}` are counted from the beginning"
    if not no_limit:
        return f"{reason}, so a time frame does not help: give the profile a limit (`limit 1000`)"
    if not _endless(framed, is_limited=True):
        return f"{reason}, and {no_limit}: give the profile a limit (`limit 1000`) and time frames, for example {frame}"
    return f"{reason}, and {no_limit}: leave the position out, or detect it over stored events"


def _without_limit(pattern: Pattern) -> str:
    """Why a limit does not help; empty if it does."""
    endless = set(_endless(pattern, is_limited=True))
    silences = (part for part in walk(pattern) if isinstance(part, Silence))
    silence = next((one for one in silences if endless & {operand.name for operand in operands(one)}), None)
    return f"no `limit` applies to `{render_pattern(silence)}`, which stands by itself" if silence else ""


def _counts_groups(part: Pattern) -> bool:
    return isinstance(part, Selection) and not isinstance(part.pattern, Operand)


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def framed_everywhere(pattern: Pattern) -> Pattern:
    """The pattern with a time frame wherever one is missing that bounds the state: an hour, or longer than those in it.

    >>> from comity.pattern.text.parse import parse_pattern
    >>> render_pattern(framed_everywhere(parse_pattern("A a ; B b ; not N n within 5 s")))
    '(A a ; B b within 1 h) ; not N n within 5 s'
    """
    match pattern:
        case Operand():
            return pattern
        case Silence(inner) | Selection(inner):
            return replace(pattern, pattern=framed_everywhere(inner))
        case Either(parts) | Together(parts):
            return replace(pattern, parts=tuple(map(framed_everywhere, parts)))
        case Both(parts, within):
            return Both(tuple(map(framed_everywhere, parts)), within or _longer(pattern))
        case Sequence(steps):
            framed = replace(pattern, steps=tuple(map(_framed_step, steps)))
            return _with_inner_frame(framed) if pattern.gaps[-1] else replace(framed, within=_frame_of(framed))


def _framed_step(step: Pattern | Absent) -> Pattern | Absent:
    return Absent(framed_everywhere(step.pattern)) if isinstance(step, Absent) else framed_everywhere(step)


def _with_inner_frame(pattern: Sequence) -> Sequence:
    """A sequence that ends with a `not`, whose frame is the length of that: what is before it gets its own."""
    at = [number for number, step in enumerate(pattern.steps) if not isinstance(step, Absent)]
    first, last = at[0], at[-1]
    if first == last:
        return pattern
    inner = Sequence(pattern.steps[first : last + 1])
    return replace(
        pattern,
        steps=(*pattern.steps[:first], replace(inner, within=_longer(inner)), *pattern.steps[last + 1 :]),
    )


def _frame_of(pattern: Sequence) -> int:
    return _longer(pattern) if pattern.within is None else pattern.within


def _longer(pattern: Pattern) -> int:
    """A frame in which everything fits that the pattern is made of."""
    inner = [part.within or 0 for part in walk(pattern) if isinstance(part, Sequence | Both | Silence)]
    return max(_HOUR, 2 * max(inner, default=0))
