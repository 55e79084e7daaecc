"""The times that events may have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from comity.event import Event, Rejected
from comity.event.validate import Fault
from comity.event.window import Window
from comity.limits import limited

NOW = datetime(2026, 6, 15, 12, 34, 56, 789, tzinfo=UTC)
HOUR = datetime(2026, 6, 15, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def window() -> Window:
    with limited(max_age_days=10, max_future_s=60):
        return Window.around(NOW)


def at(time: datetime | None) -> Event:
    return Event("1", "/a", "n.T", time)


def test_around_allows_at_least_what_the_limits_say_and_an_hour_more_at_the_most() -> None:
    found = window()
    assert found.earliest <= NOW - timedelta(days=10) < found.earliest + timedelta(hours=1)
    assert found.latest - timedelta(hours=1) < NOW + timedelta(seconds=60) <= found.latest


def test_around_is_the_same_for_the_whole_hour() -> None:
    last = HOUR + timedelta(hours=1) - MICROSECOND
    assert Window.around(HOUR) == Window.around(NOW) == Window.around(last) != Window.around(last + MICROSECOND)


def test_both_edges_are_included() -> None:
    found = window()
    for time, code in (
        (found.earliest, None),
        (found.earliest - MICROSECOND, "too-old"),
        (found.latest, None),
        (found.latest + MICROSECOND, "from-the-future"),
    ):
        fault = found.fault(at(time))
        assert (fault.code if fault else None) == code
        assert fault is None or fault.path == "event.time"


def test_an_event_without_a_time_is_believed() -> None:
    assert window().check(at(None)) == at(None)


@pytest.mark.parametrize("now", [datetime.min, datetime.max, datetime(1, 1, 2), datetime(9999, 12, 31, 23)])
def test_around_stays_in_the_calendar(now: datetime) -> None:
    with limited(max_age_days=10**9, max_future_s=10**12):
        found = Window.around(now.replace(tzinfo=UTC))
    for edge in (datetime.min, datetime.max):
        assert found.fault(at(edge.replace(tzinfo=UTC))) is None


def test_check_rejects_with_the_event_as_it_came_cut_short() -> None:
    with limited(max_rejected_chars=20):
        found = window().check(at(datetime(1970, 1, 1, tzinfo=UTC)))
    assert isinstance(found, Rejected)
    assert found.raw == '{"specversion":"1.0"'
    assert found.faults[0].reason == "is before 2026-06-05T12:00:00Z"


def test_check_leaves_rejected_records_alone() -> None:
    refused = Rejected(1, "f", "x", (Fault("", "", "no", "bad-json"),))
    future = at(datetime(2999, 1, 1, tzinfo=UTC))
    found = [window().check(one) for one in (at(NOW), refused, future)]
    assert found[:2] == [at(NOW), refused]
    assert isinstance(found[2], Rejected)


def test_of_history_takes_events_of_any_age_unless_a_limit_says_otherwise() -> None:
    assert Window.of_history(NOW).earliest == datetime.min.replace(tzinfo=UTC)
    assert Window.of_history(NOW).latest == Window.around(NOW).latest
    with limited(max_history_days=10):
        assert Window.of_history(NOW).earliest == HOUR - timedelta(days=10)
