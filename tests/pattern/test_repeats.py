"""Repeats that differ in what a profile does not compare: no attribute of theirs is asked for."""

from __future__ import annotations

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Value
from comity.expression.parse import parse
from comity.expression.tree import TRUE
from comity.pattern.bound import BoundPattern, bind_pattern
from comity.pattern.detector import Detector
from comity.pattern.machine import compared_text
from comity.pattern.parameters import Parameters
from comity.pattern.reference.reports import reports
from comity.pattern.tree import Either, Operand, Sequence
from comity.testing.patterns import START


class Unread:
    """An event whose attributes nobody carried along."""

    def get(self, path: tuple[str, ...]) -> Value | None:
        raise Misuse(f"{path} was asked for", code="unread")


def bound(condition: str, ties: tuple[str, ...] | None = None) -> BoundPattern:
    pattern = Sequence((Operand("a", "A"), Operand("b", "B")))
    return bind_pattern("p", pattern, parse(condition), Parameters(ties=ties) if ties else None)


def test_what_tells_repeats_apart_is_not_the_key_nor_the_tie_break() -> None:
    keyed = bound("a.room = b.room", ("sequence",))
    assert not keyed.needs_line("a")
    assert compared_text(keyed, "a", Unread()) == b"[]"  # type: ignore[arg-type]
    assert keyed.needed("a") == {("room",), ("sequence",)}


def test_a_condition_between_operands_needs_the_line() -> None:
    compared = bound("a.room = b.room and a.value > b.value")
    assert compared.needs_line("a")
    assert compared.compared["b"] == {("value",)}


def test_reports_of_one_identity_are_one_though_a_tie_break_sets_their_events_apart() -> None:
    pattern = bind_pattern("p", Either((Operand("a", "A"), Operand("b", "B"))), TRUE, Parameters(ties=("x",)))
    trace = [Event("1", "/s", "A", START, {"x": 0}), Event("1", "/s", "B", START, {"x": 1})]
    detector = Detector([pattern])
    detector.take(trace)
    found = [report for _, report in detector.finish()]
    assert found == reports(pattern, trace)
    assert [list(report.events) for report in found] == [["a"]]
