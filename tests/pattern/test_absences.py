"""Silences, anchored absences, keys and ties: every detector gives what the reference gives."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.pattern.letters import profile

from comity.engine.detect import Detection
from comity.engine.pattern_stream import decoder
from comity.event.event import Event
from comity.pattern.bank import Bank, BankState
from comity.pattern.bound import BoundPattern
from comity.pattern.detector import Detector
from comity.pattern.extract import Extraction, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.pattern.report import Report
from comity.pattern.rows import found_reports
from comity.pattern.tracing.trace import trace
from comity.testing.absences import bound_absences, crowded_traces
from comity.testing.patterns import SECOND, START

BEGIN = microseconds(START)
starts = st.none() | st.sampled_from((-4, -1, 0, 1, 3)).map(lambda halves: BEGIN + halves * SECOND // 2)
ends = st.none() | st.integers(-1, 9).map(lambda seconds: BEGIN + seconds * SECOND)


def told(found: list[Report]) -> list[bytes]:
    return sorted(msgspec.json.encode(report.as_dict()) for report in found)


@given(bound_absences(), crowded_traces(), starts, ends)
def test_detector_of_a_complete_trace(
    bound: BoundPattern, events: list[Event], start: int | None, until: int | None
) -> None:
    detector = Detector([bound], start=start)
    detector.take(events)
    found = [report for _, report in detector.finish(until)]
    assert told(found) == told(reports(bound, events, start=start, until=until))


@given(bound_absences(), crowded_traces(), starts, st.data())
def test_bank_of_a_stream(bound: BoundPattern, events: list[Event], start: int | None, data: st.DataObject) -> None:
    """Compiled code and the general detector, in batches, with the state saved and restored in between."""
    bank = Bank([bound], [decoder(None)])
    times = [microseconds(event.time) for event in events if event.time is not None]
    begin = start if start is not None else min(times, default=None)
    found: list[bytes] = []
    state, done, left = BankState(), None, list(events)
    steps = data.draw(st.sets(st.integers(-1, 6), max_size=3), "watermarks")
    for upto in sorted(BEGIN + step * SECOND for step in steps if times and BEGIN + step * SECOND <= max(times)):
        now = [event for event in left if _time(event) <= upto or data.draw(st.booleans())]
        left = [event for event in left if event not in now]
        begun = begin if begin is not None and begin <= upto else None
        rows, state = bank.detect(_candidates(bank, now).table(), state, done=done, upto=upto, start=begun)
        found += [one.as_json() for one in found_reports(rows, bank.patterns)]
        state, done = BankState.decode(state.encode()), upto
    last = max(times, default=begin)
    rows, _ = bank.detect(_candidates(bank, left).table(), state, done=done, start=begin, last=last)
    found += [one.as_json() for one in found_reports(rows, bank.patterns)]
    assert sorted(found) == told(reports(bound, events, start=start))


def _time(event: Event) -> int:
    assert event.time is not None
    return microseconds(event.time)


def _candidates(bank: Bank, events: list[Event]) -> Extraction:
    extraction = Extraction(bank, one_by_one(bank))
    for event in events:
        extraction.take(event)
    return extraction


@given(bound_absences(), crowded_traces(max_size=6), starts, ends)
def test_trace_tells_every_report(
    bound: BoundPattern, events: list[Event], start: int | None, until: int | None
) -> None:
    found = trace(bound, events, start, until)
    assert list(found.reports) == reports(bound, events, start=start, until=until)
    closed = {one.report for key in found.keys for closing in key.closings for one in closing.occurrences}
    assert closed - {None} == {report.id for report in found.reports}


@given(bound_absences(), crowded_traces())
def test_a_report_of_a_pattern_with_a_key_has_an_event_and_so_the_key(bound: BoundPattern, events: list[Event]) -> None:
    assert bound.key is None or all(report.events for report in reports(bound, events))


def event(name: str, seconds: float, **data: Any) -> Event:
    """`b1` is of type B."""
    return Event(name, "/s", name[0].upper(), START + timedelta(seconds=seconds), data)


def spans(bound: BoundPattern, *events: Event) -> list[tuple[float, float, list[str]]]:
    """The reports by all ways, which agree: from when to when, in seconds, and the ids of their events."""
    expected = reports(bound, events)
    detector = Detector([bound])
    detector.take(events)
    assert told([report for _, report in detector.finish()]) == told(expected)
    assert sorted(one.as_json() for one in Detection([bound]).over_stored(events)) == told(expected)
    assert list(trace(bound, events).reports) == expected
    return [
        ((one.start - BEGIN) / SECOND, (one.end - BEGIN) / SECOND, [each.id for each in one.all_events()])
        for one in expected
    ]


def test_occurrences_that_differ_in_the_start_of_a_silence_are_two_reports() -> None:
    quiet = profile("(not N n within 1 s) ; B b")
    assert spans(quiet, event("a1", 0), event("b1", 2.1)) == [(0, 2.1, ["b1"]), (1, 2.1, ["b1"])]


def test_what_an_operand_collects_is_one_report_from_the_first_silence_on() -> None:
    quiet = profile("(not N n within 1 s) ; A a ; B b duplicates a collect")
    found = spans(quiet, event("x1", 0), event("a1", 1.5), event("a2", 2.5), event("b1", 3))
    assert found == [(0, 3, ["a1", "a2", "b1"])]


def test_silences_inside_the_interval_do_not_make_it_two_reports() -> None:
    quiet = profile("A a ; (not N n within 1 s) ; B b")
    assert spans(quiet, event("x1", 0), event("a1", 0.5), event("b1", 3.1)) == [(0.5, 3.1, ["a1", "b1"])]


def test_a_pattern_with_a_silence_has_one_trace() -> None:
    quiet = profile("not (N n ; M m) within 2 s where n.k = m.k")
    assert quiet.key is None
    assert spans(quiet, event("n1", 0, k=1), event("m1", 1, k=2), event("n2", 2, k=2)) == [(0, 2, []), (2, 4, [])]
    assert spans(quiet, event("n1", 0, k=1), event("m1", 1, k=1)) == [(1, 3, [])]


def test_a_declared_start_after_all_events_is_no_start_of_a_silence() -> None:
    quiet = profile("not N n within 1 s")
    detector = Detector([quiet], start=BEGIN + 5 * SECOND)
    detector.take([event("n1", 0)])
    assert list(detector.finish()) == []
