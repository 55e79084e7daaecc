"""The trace of a composite profile: exactly the reports of the reference, and the reasons for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event.event import Event
from comity.expression.parse import parse
from comity.limits import limited
from comity.pattern.bound import BoundPattern, bind_pattern
from comity.pattern.occurrence import microseconds
from comity.pattern.parameters import FIRST, LAST, Consume, Parameters
from comity.pattern.reference import reports as reference
from comity.pattern.tracing.absences import AbsenceOutcome
from comity.pattern.tracing.as_dict import trace_dict
from comity.pattern.tracing.near_misses import Miss
from comity.pattern.tracing.story import Words, story
from comity.pattern.tracing.timeline import timeline
from comity.pattern.tracing.trace import Trace, trace
from comity.pattern.tracing.verdicts import VerdictReason
from comity.pattern.tree import Absent, Both, Operand, Pattern, Sequence, Silence
from comity.testing.patterns import START, bound_patterns, traces

T0 = datetime(2026, 5, 1, 10, tzinfo=UTC)
SECOND = 1_000_000
A, B, N = Operand("a", "A"), Operand("b", "B"), Operand("n", "N")


def event(name: str, second: int, **data: Any) -> Event:
    """`b1` is of type B."""
    return Event(name, "/s", name[0].upper(), T0 + timedelta(seconds=second), data)


def bound(pattern: Pattern, where: str = "true", **parameters: Any) -> BoundPattern:
    return bind_pattern("p", pattern, parse(where), Parameters(**parameters))


def texts(found: Trace) -> list[str]:
    return [step.text for own in found.keys for moment in story(found, own) for step in moment.steps]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bound_patterns(), traces(max_size=9), st.none() | st.integers(-2, 12), st.none() | st.integers(0, 14))
def test_trace_has_the_reports_of_the_reference(
    profile: BoundPattern, events: list[Event], start: int | None, until: int | None
) -> None:
    begin = microseconds(START)
    times = {"start": None if start is None else begin + start * SECOND}
    times["until"] = None if until is None else begin + until * SECOND
    found = trace(profile, events, **times)
    expected = reference.reports(profile, events, **times)
    assert list(found.reports) == expected
    assert {report.id for own in found.keys for report in own.reports} == {report.id for report in expected}
    for own in found.keys:
        for closing in own.closings:
            assert all((one.report is None) != (one.dropped_by is None) for one in closing.occurrences)
            assert {one.report for one in closing.occurrences} - {None} == {one.id for one in closing.reports}
    assert trace_dict(found)["reports"] == [report.as_dict() for report in expected]
    assert all(texts(found))
    assert timeline(found).startswith("<svg")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bound_patterns(), traces(max_size=9))
def test_events_are_candidates_where_the_reference_has_them(profile: BoundPattern, events: list[Event]) -> None:
    found = trace(profile, events)
    told = {(one.seen, verdict.operand, verdict.key) for one in found.events for verdict in one.candidacies}
    seen = [one.seen for one in found.events]
    expected = {
        (one, name, key)
        for key, candidates in reference.traces(profile, seen).items()
        for name, own in candidates.items()
        for one in own
    }
    assert told == expected


def test_verdicts_say_why_an_event_is_no_candidate() -> None:
    profile = bound(Sequence((A, B)), "a.x > 3 and a.x < 9 and a.k = b.k")
    events = [event("a1", 0, x=5, k=1), event("a2", 1, x=2, k=1), event("a3", 2, x=5), event("c1", 3), event("a1", 0)]
    found = trace(profile, [*events[:4], events[0].replace()])
    told = {one.event.id: one.verdicts[0] for one in found.events}
    assert [one.reason for one in told.values()] == [
        VerdictReason.REPEAT,
        VerdictReason.CONDITION,
        VerdictReason.NO_KEY,
        VerdictReason.OTHER_TYPE,
    ]
    assert told["a2"].text == "x > 3 is false, x = 2"
    assert told["a3"].text == "it has no key, k = missing"
    assert told["c1"].text == "its type is C, not A"


def test_choice_names_the_rule_and_what_it_left_out() -> None:
    events = [event("b1", 0), event("b2", 1), event("b3", 2), event("d1", 5)]
    profile = bound(Sequence((B, Operand("d", "D"))), own_duplicates={"b": FIRST})
    (closing,) = trace(profile, events).keys[0].closings
    (choice,) = closing.choices
    assert (choice.operand, str(choice), len(closing.occurrences)) == ("b", "b takes the first of 3", 3)
    assert [one.dropped_by for one in closing.occurrences] == [None, choice, choice]
    found = trace(profile, events)
    assert "left out b = b2, d = d1: b takes the first of 3 candidates (b1)" in texts(found)


@pytest.mark.parametrize(
    ("mode", "expected"), [(Consume.KEEP, []), (Consume.REAPPLY, ["b2", "d1"]), (Consume.DELETE, ["b1", "b2", "d1"])]
)
def test_consumption_removes_what_its_mode_says(mode: Consume, expected: list[str]) -> None:
    events = [event("b1", 0), event("b2", 1), event("d1", 5)]
    profile = bound(Sequence((B, Operand("d", "D"))), own_duplicates={"b": LAST}, consume=mode)
    first = trace(profile, events).keys[0].closings[0]
    assert [seen.event.id for seen in first.consumed] == expected


def test_a_wait_ends_by_time_or_by_an_event_or_by_consumption() -> None:
    profile = bound(Sequence((A, Absent(N)), 5 * SECOND), consume=Consume.DELETE)
    events = [event("a1", 0), event("n1", 2), event("a2", 10), event("a3", 13), event("a4", 20)]
    own = trace(profile, events, until=microseconds(T0) + 22 * SECOND).keys[0]
    assert [one.outcome for one in own.absences] == [
        AbsenceOutcome.BROKEN,
        AbsenceOutcome.HELD,
        AbsenceOutcome.REMOVED,
        AbsenceOutcome.OPEN,
    ]
    broken, held, removed, _ = own.absences
    assert broken.by is not None
    assert [seen.event.id for seen in broken.by.bound.values()] == ["n1"]
    assert held.at == held.end == removed.at == microseconds(T0) + 15 * SECOND


def test_silences_are_told_from_beginning_to_end() -> None:
    found = trace(bound(Silence(N, 5 * SECOND)), [event("n1", 0), event("n2", 3), event("n3", 12)])
    outcomes = [(one.begin, one.outcome) for one in found.keys[0].absences]
    begin = microseconds(T0)
    assert outcomes == [
        (begin, AbsenceOutcome.BROKEN),
        (begin + 3 * SECOND, AbsenceOutcome.HELD),
        (begin + 8 * SECOND, AbsenceOutcome.BROKEN),
        (begin + 12 * SECOND, AbsenceOutcome.HELD),
    ]
    assert len(found.reports) == 2


def test_near_misses_name_the_one_thing_that_failed() -> None:
    profile = bound(Sequence((A, Absent(N), B), 8 * SECOND), "b.x > a.x")
    events = [event("a1", 0, x=1), event("n1", 4), event("a2", 5, x=5), event("b2", 7, x=3), event("b4", 15, x=9)]
    own = trace(profile, events).keys[0]
    assert [miss.kind for miss in own.near_misses] == [Miss.NOT, Miss.CONDITION, Miss.FRAME]
    told = texts(trace(profile, events))
    assert "nearly a = a1, b = b2: n1 at 10:00:04 stands in the way" in told
    assert "nearly a = a2, b = b2: b.x > a.x is false, b.x = 3, a.x = 5" in told
    assert "nearly a = a2, b = b4: it takes 10 s, the time frame is 8 s" in told


def test_a_near_miss_tells_when_its_event_was_consumed() -> None:
    events = [event("b1", 0), event("d1", 1), event("d2", 2)]
    found = trace(bound(Sequence((B, Operand("d", "D"))), consume=Consume.DELETE), events)
    assert "nearly b = b1, d = d2: consumed before: b1 at 10:00:01" in texts(found)


def test_a_limit_removes_the_oldest_event() -> None:
    own = trace(bound(Both((A, B)), limit=1), [event("a1", 0), event("a2", 1), event("b1", 2)]).keys[0]
    assert [seen.event.id for seen in own.outgrown] == ["a1"]


def test_each_key_has_its_own_trace_and_one_can_be_asked_for() -> None:
    profile = bound(Sequence((A, B)), "a.room = b.room")
    events = [event(f"{name}{at}", at, room=room) for at, room in enumerate(["attic", "hall"]) for name in "ab"]
    assert [own.name for own in trace(profile, events).keys] == ["attic", "hall"]
    (own,) = trace(profile, events, key="hall").keys
    assert [one.event.id for one in own.events] == ["a1", "b1"]
    with pytest.raises(Misuse, match="no event has the key 'cellar'") as error:
        trace(profile, events, key="cellar")
    assert error.value.hint == "there are attic, hall"
    with pytest.raises(Misuse, match="no correlation key"):
        trace(bound(Sequence((A, B))), events, key="hall")


def test_events_of_one_id_are_named_with_their_source() -> None:
    twin = Event("a1", "/t", "A", T0)
    found = trace(bound(A), [event("a1", 0), twin])
    assert [found.label(one.event) for one in found.events] == ["a1 of /s", "a1 of /t"]


def test_too_many_events_or_combinations_are_refused() -> None:
    events = [event(f"{name}{at}", at) for at in range(10) for name in "ab"]
    with limited(max_traced_events=19), pytest.raises(Misuse, match="more than 19 events") as error:
        trace(bound(Sequence((A, B))), events)
    assert error.value.code == "trace-too-large"
    with limited(max_traced_steps=3_999), pytest.raises(Misuse, match="too many combinations"):
        trace(bound(Sequence((A, B))), events)


def test_times_have_a_day_only_where_there_are_several() -> None:
    profile = bound(A)
    assert Words(trace(profile, [event("a1", 0)])).time(microseconds(T0)) == "10:00:00"
    both = Words(trace(profile, [event("a1", 0), event("a2", 86_400)]))
    assert both.time(microseconds(T0)) == "2026-05-01 10:00:00"
