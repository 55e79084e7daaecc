"""The detector of composite rules over a log: it gives what the reference gives, whenever it is stopped and begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import msgspec
import pytest
from hypothesis import assume, find, given
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.node.detection import CompositeRule, LogDetector
from comity.node.entries import LogEntry, LoggedReport
from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import unbounded
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.server.store.port import NewEvent
from comity.testing.patterns import composites, traces

LATENESS_US = 5_000_000_000


def entries(trace: Sequence[Event], at_us: int) -> list[LogEntry]:
    return [LogEntry(number, at_us, encode(event), event) for number, event in enumerate(trace, start=1)]


def last_time(trace: Sequence[Event]) -> int:
    return max(microseconds(event.time) for event in trace if event.time is not None)


def ids(found: Sequence[NewEvent]) -> list[str]:
    return sorted(msgspec.json.decode(one.line, type=LoggedReport).id for one in found)


def expected(pattern: BoundPattern, trace: Sequence[Event], until: int) -> list[str]:
    named = replace(pattern, name="1")
    return sorted({one.id for one in reports(named, trace, until=until)})


@given(composites(), traces(min_size=1), st.integers(0, 2_000_000_000), st.integers(0, 1 << 30))
def test_reports_are_those_of_the_reference_wherever_it_stops(composite, trace, later: int, seed: int) -> None:
    pattern = composite.bind("p")
    rule = CompositeRule.of(1, 0, pattern)
    chance = Random(seed)
    detector = LogDetector(LATENESS_US, 0)
    detector.set_rules([rule], None)
    found: list[NewEvent] = []
    at_us = last_time(trace)  # all is in time, as the lateness is longer than any trace
    for entry in entries(trace, at_us):
        found += detector.take(entry)
        if chance.random() < 0.3:
            saved, detector = detector.save(), LogDetector(LATENESS_US, detector.position)
            detector.restore(saved, [rule], None)
    upto = at_us + later
    for step in sorted(chance.randrange(at_us, upto + 1) for _ in range(3)):
        found += detector.advance(step + LATENESS_US + 1)
    found += detector.advance(upto + LATENESS_US + 1)
    assert ids(found) == expected(pattern, trace, upto)


@given(composites(), traces(min_size=2), st.data())
def test_a_rule_sees_what_stands_behind_its_beginning(composite, trace, data) -> None:
    pattern = composite.bind("p")
    since = data.draw(st.integers(1, len(trace) - 1))
    # What is not there begins with the subscription, which the reference does not know.
    assume(not any(part in str(pattern.pattern) for part in ("Silence", "Absent")))
    rules = [CompositeRule.of(2, 0, pattern), CompositeRule.of(1, since, pattern)]
    detector = LogDetector(LATENESS_US, 0)
    detector.set_rules(rules, None)
    at_us = last_time(trace)
    found = [report for entry in entries(trace, at_us) for report in detector.take(entry)]
    found += detector.advance(at_us + LATENESS_US + 1)
    of_rule = [one for one in found if msgspec.json.decode(one.line, type=LoggedReport).rule == 1]
    assert ids(of_rule) == expected(pattern, trace[since:], at_us)


@given(composites(), traces(min_size=2), st.lists(st.integers(0, 3_000_000), min_size=30, max_size=30))
def test_the_same_log_gives_the_same_reports_with_late_events_and_however_time_is_told(composite, trace, gaps) -> None:
    rule = CompositeRule.of(1, 0, composite.bind("p"))
    at_us = microseconds(trace[0].time or pytest.fail("events of traces have times"))
    log: list[LogEntry] = []
    for number, event in enumerate(trace, start=1):
        at_us += gaps[number % len(gaps)]
        log.append(LogEntry(number, at_us, encode(event), event))
    once = _over(log, rule, told_between=False)
    again = _over(log, rule, told_between=True)
    assert once == again


def _over(log: Sequence[LogEntry], rule: CompositeRule, *, told_between: bool) -> tuple[list[str], int]:
    detector = LogDetector(1_000_000, 0)
    detector.set_rules([rule], None)
    found: list[NewEvent] = []
    for entry in log:
        if told_between:
            found += detector.advance(entry.at_us - 700)
            found += detector.advance(entry.at_us)
        found += detector.take(entry)
    found += detector.advance(log[-1].at_us + 100_000_000)
    return ids(found), detector.late


def test_generated_rules_are_not_all_without_bounds() -> None:
    """Else the tests above would be about patterns that a node refuses or limits."""
    assert unbounded([find(composites(), lambda one: not unbounded([one.bind("p")])).bind("p")]) == []
