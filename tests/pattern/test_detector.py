"""The incremental detector gives what the reference gives, however the events arrive and the watermark moves."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.pattern.bound import BoundPattern
from comity.pattern.detector import Detector
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.pattern.report import Report
from comity.testing.patterns import SECOND, START, bound_patterns, traces

BEGIN = microseconds(START)


def in_order(found: list[Report]) -> list[dict[str, object]]:
    return [report.as_dict() for report in sorted(found, key=lambda one: (one.end, one.start, one.id))]


@settings(deadline=None)
@given(bound_patterns(), traces())
def test_detector_of_a_complete_trace(bound: BoundPattern, trace: list[Event]) -> None:
    detector = Detector([bound])
    detector.take(trace)
    assert in_order([report for _, report in detector.finish()]) == in_order(reports(bound, trace))


@settings(deadline=None)
@given(bound_patterns(), traces(), st.integers(-1, 14))
def test_detector_until_a_time(bound: BoundPattern, trace: list[Event], seconds: int) -> None:
    until = BEGIN + seconds * SECOND
    detector = Detector([bound])
    detector.take(trace)
    assert in_order([report for _, report in detector.finish(until)]) == in_order(reports(bound, trace, until=until))


@settings(deadline=None)
@given(bound_patterns(), traces(), st.data())
def test_detector_of_a_stream(bound: BoundPattern, trace: list[Event], data: st.DataObject) -> None:
    """Events arrive out of order, but not behind the watermark; it moves in steps of any length."""
    # A watermark after the last event would say that nothing happened until then, and silences would be reported.
    latest = max((event.time - START).seconds for event in trace if event.time is not None) if trace else -1
    steps = sorted(data.draw(st.lists(st.integers(-1, latest), max_size=4), "watermarks"))
    detector, found, left = Detector([bound]), [], list(trace)
    for step in steps:
        upto = START + timedelta(seconds=step)
        early = [event for event in left if event.time is not None and event.time > upto and data.draw(st.booleans())]
        detector.take(event for event in left if event.time is not None and event.time <= upto)
        detector.take(early)
        left = [event for event in left if event.time is not None and event.time > upto and event not in early]
        found += [report for _, report in detector.advance(microseconds(upto))]
    detector.take(left)
    found += [report for _, report in detector.finish()]
    assert detector.late == 0
    assert in_order(found) == in_order(reports(bound, trace))
