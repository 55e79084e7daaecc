"""Hypothesis strategies for composite profiles and for the traces that they are about.

Patterns are small and their operands share the types A to D; events come on a grid of a few seconds, so that ties,
empty frames and several occurrences at one time are frequent. `composites()` puts the parts together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise, product
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Value
from comity.expression.parse import Parsed
from comity.expression.render import render
from comity.expression.tree import TRUE, Arithmetic, Attribute, Compare, Expression, Literal, Not, Or, conjunction
from comity.pattern.bound import BoundPattern, bind_pattern
from comity.pattern.composite import Composite
from comity.pattern.parameters import ALL, COLLECT, FIRST, LAST, Consume, Duplicates, Parameters
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
    bound_operands,
    operands,
)

TYPES = ("A", "B", "C", "D")
START = datetime(2026, 1, 1, tzinfo=UTC)
"""The first time that an event of a trace can have."""
SECOND = 1_000_000
EVERY_OPERATOR: tuple[type, ...] = (Sequence, Both, Either, Together, Absent, Selection, Silence)

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_MODES = (ALL, FIRST, LAST, COLLECT, Duplicates(2, 2), Duplicates(1, 2), Duplicates(2, 3))
_JOINING = {Sequence: 5, Both: 3, Either: 2, Together: 2}
"""How often each operator stands for a node with several parts."""


@dataclass(frozen=True, slots=True)
class _Shapes:
    """What patterns may be made of."""

    operators: tuple[type, ...]
    frames: SearchStrategy[int | None]
    types: tuple[str, ...]

    def has(self, operator: type) -> bool:
        return operator in self.operators


def frames(*, most_s: int = 6, always: bool = False) -> SearchStrategy[int | None]:
    """Time frames of whole seconds, in microseconds; None is no frame."""
    some = st.integers(1, most_s).map(lambda seconds: seconds * SECOND)
    return some if always else st.none() | some | some


@st.composite
def patterns(
    draw: DrawFn,
    *,
    max_operands: int = 4,
    max_depth: int = 3,
    operators: tuple[type, ...] = EVERY_OPERATOR,
    always_framed: bool = False,
    types: tuple[str, ...] = TYPES,
) -> Pattern:
    """Patterns of the operators, nested up to a depth; operands are named a, b, c, … in some order.

    Without `Absent` in the operators no sequence has a `not`; with `always_framed`, sequences and `&` have frames.
    The first types are the most frequent.
    """
    shapes = _Shapes(operators, frames(always=always_framed), types)
    size = draw(st.integers(1, max_operands))
    pattern = _whole(draw, shapes, size, max_depth)
    count = len(operands(pattern))
    order = range(count) if draw(st.booleans()) else draw(st.permutations(range(count)))
    names = [chr(ord("a") + at) for at in order]
    return named(pattern, names)


def _whole(draw: DrawFn, shapes: _Shapes, size: int, depth: int) -> Pattern:
    """A pattern of so many operands, perhaps selected from or in a silence."""
    if depth > 0:
        chance = draw(st.integers(0, 19))
        if chance in (17, 18) and shapes.has(Selection):
            return _selected(draw, _whole(draw, shapes, size, depth - 1))
        if chance == 19 and shapes.has(Silence):
            return Silence(_whole(draw, shapes, size, depth - 1), draw(_lengths()))
    joining = [operator for operator, weight in _JOINING.items() if shapes.has(operator) for _ in range(weight)]
    if size == 1 or depth == 0 or not joining:
        return Operand("", draw(_skewed(shapes.types)))
    operator = draw(st.sampled_from(joining))
    inner = tuple(_whole(draw, shapes, own, depth - 1) for own in _split(draw, size))
    if operator is Sequence:
        return _sequence(draw, shapes, inner)
    if operator is Both:
        return Both(inner, draw(shapes.frames))
    if operator is Together:
        return Together(inner, draw(st.integers(0, 3)) * SECOND)
    return Either(inner)


def _skewed(types: tuple[str, ...]) -> SearchStrategy[str]:
    """One of the types, the first ones more often, so that patterns and events meet."""
    return st.sampled_from([name for at, name in enumerate(types) for _ in range(len(types) - at)])


def _split(draw: DrawFn, size: int) -> list[int]:
    """The size as a sum of two numbers or more, most often of ones."""
    cuts = [(0, *cut, size) for count in range(1, size) for cut in combinations(range(1, size), count)]
    chosen = draw(st.sampled_from(cuts) | st.just(cuts[-1]))
    return [end - begin for begin, end in pairwise(chosen)]


def _sequence(draw: DrawFn, shapes: _Shapes, inner: tuple[Pattern, ...]) -> Sequence:
    none = (False,) * len(inner)
    absent = draw(st.just(none) | _some(len(inner))) if shapes.has(Absent) else none
    steps = tuple(Absent(part) if is_absent else part for part, is_absent in zip(inner, absent))
    return Sequence(steps, draw(_lengths() if absent[-1] else shapes.frames))


def _some(count: int) -> SearchStrategy[tuple[bool, ...]]:
    """Which of the steps are a `not`: some, but not all."""
    every = product((False, True), repeat=count)
    fitting = [absent for absent in every if any(absent) and not all(absent)]
    between = [absent for absent in fitting if not absent[0] and not absent[-1]]
    return st.sampled_from(fitting) | st.sampled_from(between or fitting)


def _lengths() -> SearchStrategy[int]:
    return st.integers(1, 6).map(lambda seconds: seconds * SECOND)


def _selected(draw: DrawFn, pattern: Pattern) -> Selection:
    first = draw(st.sampled_from((1, None, 2, 3)))
    last = None if first is None else first + draw(st.sampled_from((0, 0, 1, 2)))
    return Selection(pattern, first, last)


def named(pattern: Pattern, names: list[str]) -> Pattern:
    """The pattern with these names for its operands, in the order of writing."""
    match pattern:
        case Operand(_, type):
            return Operand(names.pop(0), type)
        case Either(inner):
            return Either(tuple(named(part, names) for part in inner))
        case Both(inner, within):
            return Both(tuple(named(part, names) for part in inner), within)
        case Together(inner, tolerance):
            return Together(tuple(named(part, names) for part in inner), tolerance)
        case Sequence(steps, within):
            return Sequence(tuple(_named_step(step, names) for step in steps), within)
        case Silence(one, within):
            return Silence(named(one, names), within)
        case Selection(one, first, last):
            return Selection(named(one, names), first, last)


def _named_step(step: Pattern | Absent, names: list[str]) -> Pattern | Absent:
    return Absent(named(step.pattern, names)) if isinstance(step, Absent) else named(step, names)


# Parameters


@st.composite
def parameters(draw: DrawFn, pattern: Pattern, *, limited: bool = False) -> Parameters:
    """How operands choose, what a report consumes, a limit (always one if `limited`), a tie-break."""
    bound = sorted(operand.name for operand in bound_operands(pattern))
    own = draw(st.dictionaries(st.sampled_from(bound), modes(), max_size=2)) if bound else {}
    some = st.integers(1, 4)
    return Parameters(
        duplicates=draw(modes()),
        own_duplicates=own,
        consume=draw(st.sampled_from(Consume)),
        limit=draw(some if limited else st.none() | st.none() | some),
        ties=draw(st.sampled_from((None, None, ("event", "sequence"), ("x",)))),
        version=draw(st.sampled_from((1, 1, 1, 2))),
    )


def modes() -> SearchStrategy[Duplicates]:
    """Ways to choose among duplicates."""
    return st.sampled_from(_MODES)


# Conditions


@st.composite
def conditions(draw: DrawFn, pattern: Pattern, *, max_items: int = 3) -> Expression:
    """Conjunctions over the int attributes x and k of the operands, such as `bind_pattern` accepts.

    A third of them ties all operands by k, which makes it the correlation key (but for patterns with a silence).
    """
    names = sorted(operand.name for operand in operands(pattern))
    found: list[Expression] = []
    if len(names) > 1 and draw(st.integers(0, 2)) == 2:
        chain: list[Expression] = [Compare("=", _of(a, "k"), _of(b, "k")) for a, b in pairwise(names)]
        found = chain if _binds(pattern, chain) else []
    for item in draw(st.lists(_items(names), max_size=max_items)):
        if _binds(pattern, [*found, item]):
            found.append(item)
    return conjunction(found) if found else TRUE


def _binds(pattern: Pattern, items: list[Expression]) -> bool:
    try:
        bind_pattern("p", pattern, conjunction(items))
    except Misuse:
        return False
    return True


def _items(names: list[str]) -> SearchStrategy[Expression]:
    name = st.sampled_from(names)
    test = _test(name)
    compared = _comparison(st.builds(_of, name, st.just("x")), _shifted(name))
    equal = st.builds(Compare, st.just("="), st.builds(_of, name, st.just("k")), st.builds(_of, name, st.just("k")))
    times = st.builds(lambda one: Attribute((one, "event", "time")), name)
    rare = (
        st.builds(lambda a, b: Or((a, b)), test, test),
        st.builds(Not, compared),
        _comparison(times, times),
        st.builds(lambda a, b: Or((a, b)), compared, test),
    )
    return st.one_of(test, test, test, compared, compared, equal, *rare)


def _test(name: SearchStrategy[str]) -> SearchStrategy[Expression]:
    attribute = st.builds(_of, name, st.sampled_from(("x", "x", "k")))
    return _comparison(attribute, st.integers(0, 3).map(Literal))


def _shifted(name: SearchStrategy[str]) -> SearchStrategy[Expression]:
    plain = st.builds(_of, name, st.just("x"))
    return plain | st.builds(Arithmetic, st.just("+"), plain, st.integers(0, 2).map(Literal))


def _comparison(left: SearchStrategy[Expression], right: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    return st.builds(Compare, st.sampled_from(_COMPARISONS), left, right)


def _of(operand: str, attribute: str) -> Attribute:
    return Attribute((operand, attribute))


# Whole profiles


@st.composite
def composites(
    draw: DrawFn,
    pattern: SearchStrategy[Pattern] | None = None,
    *,
    max_items: int = 3,
    limited: Callable[[Pattern], bool] = lambda _: False,
) -> Composite:
    """Composite profiles that can be bound; `limited` tells which patterns must have a limit."""
    tree = draw(patterns() if pattern is None else pattern)
    where = draw(conditions(tree, max_items=max_items))
    return Composite(tree, Parsed(where, render(where)), draw(parameters(tree, limited=limited(tree))))


def bound_patterns(
    pattern: SearchStrategy[Pattern] | None = None, *, max_items: int = 3
) -> SearchStrategy[BoundPattern]:
    """The same, bound without types."""
    return composites(pattern, max_items=max_items).map(lambda one: one.bind("p"))


# Traces

_Drawn = TypeVar("_Drawn")


def _mostly(usual: SearchStrategy[_Drawn], rare: SearchStrategy[_Drawn], one_in: int) -> SearchStrategy[_Drawn]:
    return st.integers(1, one_in).flatmap(lambda chance: rare if chance == one_in else usual)


@st.composite
def traces(
    draw: DrawFn,
    *,
    max_size: int = 12,
    min_size: int = 0,
    seconds: int = 10,
    types: tuple[str, ...] = TYPES,
    repeats: bool = True,
) -> list[Event]:
    """Events in the order of their arrival, which need not be that of their times; x is from 0 to 3, k is 0 or 1.

    One event in ten or so is of no type that patterns ask for, lacks an attribute, or repeats the identity of another.
    """
    kinds = _mostly(_skewed(types), st.just("E"), 12)
    found: list[Event] = []
    sizes = st.integers(min_size, max_size)
    for number in range(max(draw(sizes), draw(sizes))):
        is_repeat = bool(found) and repeats and draw(st.integers(1, 15)) == 15
        identity = draw(st.sampled_from(found)).identity if is_repeat else (draw(_SOURCES), f"e{number:02}")
        found.append(
            Event(
                identity[1],
                identity[0],
                draw(kinds),
                START + timedelta(seconds=draw(st.integers(0, seconds))),
                draw(_DATA),
                sequence=draw(st.none() | st.integers(0, 3) | st.integers(0, 3)),
            )
        )
    return found


_SOURCES = st.sampled_from(("/s", "/s", "/s", "/t"))
_DATA: SearchStrategy[dict[str, Value]] = _mostly(
    st.fixed_dictionaries({"x": st.integers(0, 3), "k": st.integers(0, 1)}),
    st.sampled_from(({"x": 1}, {"k": 0}, {"x": 1.0, "k": 1.0}, {"x": "1", "k": 0}, {})),
    10,
)
