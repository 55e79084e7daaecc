"""What follows from a pattern before any event comes: its traces, where conditions are tested, what is kept and for how
long, and how it is detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from comity.expression.render import render, render_path
from comity.pattern.bound import BoundPattern, Join
from comity.pattern.correlation import Path, ties
from comity.pattern.flat.kernels.layout import MOST_OPERANDS, MOST_STEPS
from comity.pattern.horizon import horizons
from comity.pattern.text.durations import render_duration
from comity.pattern.text.render import render_pattern
from comity.pattern.tree import (
    Both,
    Operand,
    Pattern,
    Sequence,
    Silence,
    bound_operands,
    parts,
    unlimited_operands,
    walk,
)

WHOLE = "the whole pattern"

GENERAL_REASONS = {
    "never": "its condition is false whatever happens",
    "conditions-between-operands": "conditions between operands are tested for single events",
    "other-operators": "only `;`, `&` and `not` have compiled code",
    "nested": "a part is itself a pattern",
    "too-many-operands": f"compiled code has up to {MOST_STEPS} steps and {MOST_OPERANDS} operands",
}
"""Why a pattern is left to the general detector."""


def why_general(bound: BoundPattern) -> tuple[str, ...]:
    """Out of `GENERAL_REASONS`, what keeps a pattern from compiled code; nothing does if it is empty.

    >>> from comity.pattern.bound import bind_pattern
    >>> why_general(bind_pattern("p", Sequence((Operand("a"), Both((Operand("b"), Operand("c")))))))
    ('nested',)
    """
    return tuple(_general(bound))


def _general(bound: BoundPattern) -> Iterator[str]:
    pattern = bound.pattern
    if bound.never:
        yield "never"
    if joins_of(bound):
        yield "conditions-between-operands"
    if not all(isinstance(part, Operand | Sequence | Both) for part in walk(pattern)):
        yield "other-operators"
    elif any(not isinstance(part, Operand) for part in parts(pattern)):
        yield "nested"
    elif len(bound_operands(pattern)) > MOST_STEPS or len(bound.operand_names) > MOST_OPERANDS:
        yield "too-many-operands"


def joins_of(bound: BoundPattern) -> list[Join]:
    """All conditions between operands but those of the key."""
    return [one for own in (*bound.joins.values(), *bound.against.values()) for one in own]


def why_one_trace(bound: BoundPattern) -> str | None:
    """Why all events are in one trace; None when a key splits them.

    >>> from comity.expression.parse import parse
    >>> from comity.pattern.bound import bind_pattern
    >>> pattern = Sequence((Operand("a"), Operand("b"), Operand("c")))
    >>> why_one_trace(bind_pattern("p", pattern, parse("a.room = b.room")))
    'no equality ties c to a.room = b.room'
    """
    if bound.key is not None:
        return None
    silence = next((part for part in walk(bound.pattern) if isinstance(part, Silence)), None)
    if silence is not None:
        return f"`{render_pattern(silence)}` by itself is about events that never come, and so have no key"
    names = bound.operand_names
    if len(names) == 1:
        return f"there is one operand, {names[0]}"
    found = ties(join.condition for join in joins_of(bound))
    if not found:
        return f"no equality ties {_listed(names)} to each other"
    tied = {name for name, _ in found[0]}
    rest = [name for name in names if name not in tied]
    return f"no equality ties {_listed(rest)} to {equal_text(found[0])}"


def equal_text(attributes: Iterable[tuple[str, Path]]) -> str:
    """Attributes of operands that are equal.

    >>> equal_text([("a", ("room",)), ("b", ("place", "room"))])
    'a.room = b.place.room'
    """
    return " = ".join(render_path((name, *path)) for name, path in attributes)


def key_texts(bound: BoundPattern) -> tuple[str, ...]:
    """The parts of the correlation key, each as the attributes that are equal in a trace."""
    if bound.key is None:
        return ()
    return tuple(equal_text((name, path) for name, paths in part for path in paths) for part in bound.key.parts)


@dataclass(frozen=True, slots=True)
class Kept:
    """How long events of an operand, or a silence, are kept in a trace."""

    name: str
    is_silence: bool
    length_us: int | None
    """None for ever."""
    limit: int | None
    is_limitable: bool = True
    """Whether a limit would apply: it does not where a `not` stands by itself."""

    @property
    def is_bounded(self) -> bool:
        return self.length_us is not None or self.limit is not None

    def text(self) -> str:
        """For people.

        >>> Kept("h", False, 300_000_000, 5).text(), Kept("h", False, None, None).text()
        ('kept for 5 min, the last 5 of them', 'unbounded: needs `limit`')
        """
        if not self.is_bounded:
            return f"unbounded: needs {'`limit`' if self.is_limitable else 'a time frame, for no `limit` applies'}"
        if self.length_us is None:
            return f"the last {self.limit:,} are kept"
        if self.length_us == 0:
            return "not kept: it can only close the pattern"
        limit = "" if self.limit is None else f", the last {self.limit:,} of them"
        return f"kept for {render_duration(self.length_us)}{limit}"


def kept(bound: BoundPattern) -> tuple[Kept, ...]:
    """What is kept for a pattern, operands first, in the order of writing."""
    found, limit = horizons(bound.pattern), bound.parameters.limit
    unlimited = unlimited_operands(bound.pattern)
    own = tuple(
        Kept(name, False, found[name], None if name in unlimited else limit, name not in unlimited)
        for name in bound.operand_names
    )
    silences = tuple(
        Kept(render_pattern(part), True, length, None, False)
        for part, length in found.items()
        if isinstance(part, Silence)
    )
    return own + silences


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition between operands, and where it is tested."""

    condition: str
    part: str
    """The part of the pattern whose occurrences are tested, or `WHOLE`."""
    how: str
    """`key`, `occurrence`, or `not` where it says what counts against one."""

    def where(self) -> str:
        """For people."""
        if self.how == "key":
            return "holds by itself in a trace, by its key"
        if self.how == "not":
            return f"says which {self.part} counts against the `not`"
        return f"tested for each occurrence of {self.part}"


def conditions(bound: BoundPattern) -> tuple[Condition, ...]:
    """The conditions between operands, those that the key replaces first."""
    key = sorted(bound.key.items, key=render) if bound.key else []
    found = [Condition(render(item), WHOLE, "key") for item in key]
    for how, own in (("occurrence", bound.joins), ("not", bound.against)):
        found += [
            Condition(render(join.condition), _part_text(part, bound.pattern), how)
            for part, joins in own.items()
            for join in joins
        ]
    return tuple(found)


def _part_text(part: Pattern, whole: Pattern) -> str:
    return WHOLE if part == whole else render_pattern(part)


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
