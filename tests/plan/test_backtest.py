"""Backtests: the plan for one profile in a period, and the report of what came out of it."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.connect.notification import notification_line
from comity.engine.run import Notification, run
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.files import read_events
from comity.event.formats.jsonlines import encode
from comity.event.reasons import ReasonCounts
from comity.federation import load
from comity.plan import Plan, compile_plan
from comity.plan.backtest import BLOCKS, Tally, backtest_plan, read_bucket
from comity.plan.period import Period, read_instant

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
EVER = Period()
T0 = datetime(2026, 11, 15, 18, 0, tzinfo=UTC)


def plan_of(profile: str, period: Period = EVER) -> Plan:
    return backtest_plan(compile_plan(load(EXAMPLE)), profile, period)


def sent(profile: str, period: Period = EVER) -> set[str]:
    events = read_events(EXAMPLE / "events", load(EXAMPLE).find_type, require_time=True)
    outcomes = run(plan_of(profile, period), events)
    return {one.event.id for one in outcomes if isinstance(one, Notification)}


def line(number: int, at: datetime, way: int = 0, id: str | None = None) -> bytes:
    event = Event(id or str(number), "/s", "fire_station.Incident", at, {"level": number})
    return notification_line(encode(event), f"p@{way}")


def tally(*lines: bytes, bucket_s: int | None = None, routes: int = 3) -> Tally:
    plan = plan_of("serious_fires")
    found = Tally(Plan(plan.federation, plan.types, plan.routes[:routes]), "p", bucket_s)
    for one in lines:
        found.take(one)
    return found


def test_the_plan_holds_the_profile_only() -> None:
    plan = plan_of("serious_fires")
    assert plan.profiles == ("serious_fires@0", "serious_fires@1", "serious_fires@2")
    with pytest.raises(Misuse):
        plan_of("serious")


def test_the_period_includes_its_beginning_and_not_its_end() -> None:
    assert sent("serious_fires") == {"a-2", "b-1"}
    at = T0.replace(minute=3, second=40, microsecond=250_000)
    assert sent("serious_fires", Period(since=at)) == {"a-2", "b-1"}
    assert sent("serious_fires", Period(since=at + timedelta(microseconds=1))) == {"b-1"}
    assert sent("serious_fires", Period(until=at)) == set()
    assert sent("serious_fires", Period(until=at + timedelta(microseconds=1))) == {"a-2"}


def test_what_a_mapping_cannot_complete_is_rejected_in_the_period_only() -> None:
    def rejected(period: Period) -> int:
        events = [one for one in read_events(EXAMPLE / "events", load(EXAMPLE).find_type) if isinstance(one, Event)]
        return sum(not isinstance(one, Notification) for one in run(plan_of("serious_fires", period), events))

    assert rejected(Period()) == 1
    assert rejected(Period(until=T0)) == 0


def test_tally_gives_lines_back_under_the_profiles_own_name() -> None:
    found = tally()
    back = found.take(line(1, T0, way=1))
    assert back is not None
    assert json.loads(back) == {**json.loads(line(1, T0)), "profile": "p"}


def test_tally_counts_an_event_of_two_ways_once() -> None:
    plan = plan_of("serious_fires")
    crossing = Plan(plan.federation, plan.types, (plan.routes[0], plan.routes[0]))
    found = Tally(crossing, "p")
    assert found.take(line(1, T0, way=0)) is not None
    assert found.take(line(1, T0, way=1)) is None
    report = found.report(records=2, reasons=ReasonCounts(), period=Period())
    assert (report.sent, [way.sent for way in report.ways], report.share) == (1, [1, 1], 0.5)


def test_examples_are_the_earliest_in_whatever_order_they_come() -> None:
    lines = [line(number, T0 + timedelta(minutes=number)) for number in range(6)]
    for order in (lines, lines[::-1], [*lines[3:], *lines[:3]]):
        assert [one["id"] for one in tally(*order).examples] == ["0", "1", "2"]


def test_report() -> None:
    times = [T0, T0 + timedelta(minutes=30), T0 + timedelta(days=2)]
    found = tally(*(line(number, at) for number, at in enumerate(times)), bucket_s=3_600)
    report = found.report(records=30, reasons=ReasonCounts(Counter(x=1)), period=Period())
    told = report.as_dict()
    assert (told["sent"], told["share"], told["per_day"]) == (3, 0.1, 1.5)
    assert told["busiest"] == {"from": "2026-11-15T18:00:00Z", "sent": 2}
    assert [one["sent"] for one in told["buckets"]] == [2, 1]
    assert [way["sent"] for way in told["ways"]] == [3, 0, 0]
    assert (told["first"], told["last"]) == ("2026-11-15T18:00:00Z", "2026-11-17T18:00:00Z")
    assert json.loads(json.dumps(told)) == told
    in_period = tally(line(1, T0)).report(records=1, reasons=ReasonCounts(), period=Period(T0, T0 + timedelta(days=4)))
    assert in_period.per_day == 0.25


def test_report_of_nothing() -> None:
    report = tally().report(records=0, reasons=ReasonCounts(), period=Period())
    assert (report.share, report.per_day, report.busiest, list(report.chart(72))) == (0.0, None, None, [])


@given(st.lists(st.integers(0, 400_000_000), min_size=1, max_size=40), st.integers(20, 100))
def test_every_notification_is_in_a_bucket_and_in_a_bar(seconds: list[int], columns: int) -> None:
    found = tally(*(line(number, T0 + timedelta(seconds=one)) for number, one in enumerate(seconds)))
    report = found.report(records=len(seconds), reasons=ReasonCounts(), period=Period(), columns=columns)
    begins = Counter((T0 + timedelta(seconds=one)).timestamp() // report.bucket_s for one in seconds)
    assert {at.timestamp() // report.bucket_s: count for at, count in report.buckets.items()} == begins
    bars, _ = report._bars(columns)
    assert sum(bars) == len(seconds)
    chart = list(report.chart(columns))
    assert all(len(one) <= columns for one in chart[:-2])
    seen = {column for one in chart[:-2] for column, block in enumerate(one) if block != " "}
    assert seen == {column for column, count in enumerate(bars) if count}


def test_many_buckets_are_joined_while_counting() -> None:
    found = tally(*(line(number, T0 + timedelta(seconds=number)) for number in range(2_500)))
    assert len(found.buckets) < 300
    assert sum(found.buckets.values()) == 2_500


def test_chart() -> None:
    found = tally(*(line(number, T0 + timedelta(hours=hour)) for number, hour in enumerate([0, 0, 2])), bucket_s=3_600)
    *bars, axis, told = found.report(records=3, reasons=ReasonCounts(), period=Period()).chart(72, BLOCKS)
    assert bars == ["█", "█", "█ ▄", "█ █", "█ █"]
    assert axis == "2026-11-15T18:00:00Z to 2026-11-15T21:00:00Z"
    assert told == "highest bar 2, each 1 h"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "2026-01-01T10:00"])
def test_read_instant_refuses(text: str) -> None:
    with pytest.raises(Misuse):
        read_instant(text)


@pytest.mark.parametrize("text", ["", "0s", "-1h", "1.5s", "1 month"])
def test_read_bucket_refuses(text: str) -> None:
    with pytest.raises(Misuse):
        read_bucket(text)


def test_a_chart_from_the_first_year_to_the_last() -> None:
    """The bucket that holds the first year begins before there are times, and the last one ends after them."""
    found = tally(line(1, datetime(1, 1, 1, tzinfo=UTC)), line(2, datetime(9999, 12, 31, tzinfo=UTC)))
    report = found.report(records=2, reasons=ReasonCounts(), period=Period())
    *_, ends, _ = report.chart(60)
    assert ends.startswith("0001-01-01T00:00:00Z")
    assert "9999-12-31" in ends
    assert sum(report.buckets.values()) == 2
