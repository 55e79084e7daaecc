"""The laws of patterns, for generated profiles and traces."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event.event import Event
from comity.expression.tree import TRUE, Arithmetic, Attribute, Compare, Expression, Literal, conjunction
from comity.pattern.bound import bind_pattern
from comity.pattern.composite import Composite
from comity.pattern.detector import Detector
from comity.pattern.parameters import Consume
from comity.pattern.reference.reports import reports
from comity.pattern.report import Report
from comity.pattern.tree import Absent, Both, Either, Operand, Pattern, Sequence, Together, operands
from comity.testing.patterns import SECOND, composites, patterns, traces


def reported(composite: Composite, trace: list[Event]) -> list[Report]:
    detector = Detector([composite.bind("p")])
    detector.take(trace)
    return [report for _, report in detector.finish()]


def told(composite: Composite, trace: list[Event]) -> list[str]:
    """The reports as texts, in an order of their own."""
    return sorted(str(report.as_dict()) for report in reported(composite, trace))


small = patterns(max_operands=2, max_depth=2)


@st.composite
def joined(draw: st.DrawFn, operator: type) -> Pattern:
    """Two or three patterns joined by an operator, each with names of its own."""
    parts = draw(st.lists(small, min_size=2, max_size=3))
    named = tuple(renamed(part, "abc"[at]) for at, part in enumerate(parts))
    if operator is Both:
        return Both(named, draw(st.none() | st.integers(1, 6).map(lambda seconds: seconds * SECOND)))
    if operator is Together:
        return Together(named, draw(st.integers(0, 3)) * SECOND)
    return Either(named)


def renamed(part: Any, prefix: str) -> Any:
    """The part with another name for each operand."""
    if isinstance(part, Operand):
        return Operand(prefix + part.name, part.type)
    if isinstance(part, Sequence):
        return Sequence(tuple(renamed(step, prefix) for step in part.steps), part.within)
    if hasattr(part, "parts"):
        return replace(part, parts=tuple(renamed(one, prefix) for one in part.parts))
    return replace(part, pattern=renamed(part.pattern, prefix))


@given(
    st.sampled_from((Both, Either, Together)).flatmap(joined).flatmap(lambda one: composites(st.just(one))), traces()
)
def test_and_or_and_simultaneity_are_symmetric(composite: Composite, trace: list[Event]) -> None:
    pattern = composite.pattern
    assert isinstance(pattern, Both | Either | Together)
    mirrored = replace(composite, pattern=replace(pattern, parts=tuple(reversed(pattern.parts))))
    assert told(mirrored, trace) == told(composite, trace)


three = st.lists(st.sampled_from("ABCD"), min_size=3, max_size=4).map(
    lambda types: tuple(Operand("abcd"[at], type) for at, type in enumerate(types))
)


@given(three.flatmap(lambda steps: composites(st.just(Sequence(steps)))), traces(), st.data())
def test_sequence_is_associative(composite: Composite, trace: list[Event], data: st.DataObject) -> None:
    pattern = composite.pattern
    assert isinstance(pattern, Sequence)
    begin = data.draw(st.integers(0, len(pattern.steps) - 2))
    end = data.draw(st.integers(begin + 2, len(pattern.steps)))
    assume(end - begin < len(pattern.steps))
    inner = Sequence(pattern.steps[begin:end])
    nested = Sequence((*pattern.steps[:begin], inner, *pattern.steps[end:]))
    assert told(replace(composite, pattern=nested), trace) == told(composite, trace)


@given(composites(), traces(repeats=False), st.sampled_from((Consume.DELETE, Consume.REAPPLY)))
def test_consumed_event_takes_part_at_one_closing_instant(
    composite: Composite, trace: list[Event], consume: Consume
) -> None:
    composite = replace(composite, parameters=replace(composite.parameters, consume=consume))
    ends: dict[tuple[str, str], set[int]] = defaultdict(set)
    for report in reported(composite, trace):
        for event in report.all_events():
            ends[event.identity].add(report.end)
    # With a tie-break several instants can have one time.
    assert composite.parameters.ties or all(len(own) == 1 for own in ends.values())


@given(composites(), traces(), st.randoms(use_true_random=False))
def test_order_of_arrival_does_not_matter(composite: Composite, trace: list[Event], chance: Any) -> None:
    shuffled = list(trace)
    chance.shuffle(shuffled)
    assert told(composite, shuffled) == told(composite, trace)


@given(st.integers(1, 6), traces(types=("A", "B"), repeats=False))
def test_every_event_is_followed_or_absent(seconds: int, trace: list[Event]) -> None:
    """Frames include their edge, for presence and absence alike: never both, and never neither."""
    a, b = Operand("a", "A"), Operand("b", "B")
    followed = Composite(Sequence((a, b), seconds * SECOND))
    absent = Composite(Sequence((a, Absent(b)), seconds * SECOND))
    with_b = {report.events["a"] for report in reported(followed, trace)}
    without_b = {report.events["a"] for report in reported(absent, trace)}
    assert not with_b & without_b
    assert with_b | without_b == {event for event in trace if event.type == "A"}


def shifted_equalities(pattern: Pattern) -> Expression:
    """`a.k + 0 = b.k` for all operands that can be compared: the same as a key, but read as plain conditions."""
    found: list[Expression] = []
    for one, other in combinations(sorted(operand.name for operand in operands(pattern)), 2):
        left = Arithmetic("+", Attribute((one, "k")), Literal(0))
        found += [item] if binds(pattern, item := Compare("=", left, Attribute((other, "k")))) else []
    return conjunction(found) if found else TRUE


def binds(pattern: Pattern, item: Expression) -> bool:
    try:
        bind_pattern("p", pattern, item)
    except Misuse:
        return False
    return True


@given(patterns(max_operands=3, operators=(Sequence, Both, Together, Absent)), traces(max_size=9, repeats=False))
def test_a_key_is_the_equality_of_all_operands_where_nothing_is_counted(pattern: Pattern, trace: list[Event]) -> None:
    """What binds a pattern is shared by reference and detector: traces are compared with conditions between events."""
    names = sorted(operand.name for operand in operands(pattern))
    chain = [Compare("=", Attribute((one, "k")), Attribute((other, "k"))) for one, other in pairwise(names)]
    assume(chain and binds(pattern, conjunction(list(chain))))
    keyed = bind_pattern("p", pattern, conjunction(list(chain)))
    plain = bind_pattern("p", pattern, shifted_equalities(pattern))
    assert keyed.key is not None
    assert plain.key is None
    with_key = [event for event in trace if event.get(("k",)) is not None]  # what has none takes part in no trace
    assert reports(keyed, with_key) == reports(plain, with_key)
