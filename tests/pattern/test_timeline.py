"""The picture of a trace: well-formed, complete, the same every time, and nothing lies upon something else."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings

from comity.event.event import Event
from comity.expression.parse import parse
from comity.pattern.bound import BoundPattern, bind_pattern
from comity.pattern.parameters import FIRST, Consume, Parameters
from comity.pattern.tracing.svg import text_width
from comity.pattern.tracing.timeline import timeline
from comity.pattern.tracing.timeline.axis import TimeAxis
from comity.pattern.tracing.timeline.layout import Item, TimelineRows
from comity.pattern.tracing.trace import Trace, trace
from comity.pattern.tree import Absent, Operand, Sequence
from comity.testing.patterns import bound_patterns, traces

T0 = datetime(2026, 5, 1, 10, tzinfo=UTC)
MINUTE = 60_000_000


def event(name: str, type: str, second: int, **data: Any) -> Event:
    return Event(name, "/house", type, T0 + timedelta(seconds=second), data)


@pytest.fixture
def hot() -> Trace:
    pattern = Sequence((Operand("h", "Heat"), Absent(Operand("v", "Ventilation"))), 5 * MINUTE)
    parameters = Parameters(duplicates=FIRST, consume=Consume.DELETE)
    profile = bind_pattern("hot_and_unventilated", pattern, parse("h.value > 30 and v.room = h.room"), parameters)
    events = [
        event("h1", "Heat", 0, value=34, room="attic"),
        event("v1", "Ventilation", 120, room="attic"),
        event("h2", "Heat", 420, value=36, room="attic"),
        event("h3", "Heat", 480, value=20, room="attic"),
        event("x<1>", "Door", 500, room="attic"),
    ]
    return trace(profile, events)


def texts(svg: str) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_timeline_shows_events_lanes_reports_and_the_profile(hot: Trace) -> None:
    found = texts(timeline(hot))
    assert {"hot_and_unventilated", "h1", "v1", "h2", "h3", "x<1>", "room = attic", "after h1", "h = h2"} <= set(found)
    assert {"Heat h ; not Ventilation v within 5 min", "h.value > 30 and v.room = h.room", "delete"} <= set(found)
    assert any(one.startswith(hot.reports[0].id[:8]) for one in found)


def test_timeline_has_tooltips(hot: Trace) -> None:
    root = ElementTree.fromstring(timeline(hot))
    titles = [one.text for one in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "v1 · Ventilation · 10:02:00 · candidate of v · consumed" in titles
    assert "no v from 10:00:00 to 10:05:00 for h1: ended by v1 at 10:02:00" in titles


def test_timeline_stands_alone(hot: Trace) -> None:
    svg = timeline(hot)
    assert not re.search(r"<script|<image|href|url\(|@import|font-face", svg)


def test_timeline_of_nothing_says_so() -> None:
    assert "no events" in texts(timeline(trace(bind_pattern("p", Operand("a", "A")), [])))


def test_timeline_takes_names_that_xml_does_not() -> None:
    odd = event("a\x00<&\"'", "A", 0)
    svg = timeline(trace(bind_pattern("p", Operand("a", "A")), [odd]))
    assert "a�<&\"'" in texts(svg)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bound_patterns(), traces(max_size=9))
def test_timeline_is_well_formed_complete_and_the_same_every_time(profile: BoundPattern, events: list[Event]) -> None:
    found = trace(profile, events)
    svg = timeline(found)
    assert timeline(trace(profile, list(events))) == svg
    shown = texts(svg)
    assert {found.label(one.event) for one in found.events} <= set(shown)
    assert all(any(one.startswith(report.id[:8]) for one in shown) for report in found.reports)
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        room = text_width(text.text or "", 11) * 0.9 / (2 if text.attrib.get("text-anchor") else 1)
        assert float(text.attrib["x"]) + room < width
    for dot in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 < float(dot.attrib["cx"]) < width
        assert 0 < float(dot.attrib["cy"]) < height


def test_rows_keep_items_apart() -> None:
    rows = TimelineRows(10)
    for left, right in ((0, 5), (3, 8), (6, 9), (4, 4)):
        rows.put(Item(left, right, lambda canvas, y: None))
    assert [[(item.left, item.right) for item in row] for row in rows.rows] == [[(0, 5), (6, 9)], [(3, 8)], [(4, 4)]]


def test_axis_keeps_the_order_of_times_and_cuts_long_stretches_short() -> None:
    times = [0, 10, 20, 30, 1_000_000, 1_000_010]
    axis = TimeAxis.over(times, 0, 900)
    places = [axis.place(time) for time in times]
    assert places == sorted(places)
    assert axis.cuts == [(30, 1_000_000)]
    assert places[1] - places[0] > 50
    assert TimeAxis.over([0, 10, 20, 40], 0, 900).cuts == []


def test_axis_has_round_ticks_that_do_not_touch() -> None:
    minute = 60_000_000
    axis = TimeAxis.over([0, 3 * minute, 20 * minute], 100, 900)
    assert [text for _, text in axis.ticks][:3] == ["00:00", "00:05", "00:10"]
    places = [place for place, _ in axis.ticks]
    assert all(b - a > 60 for a, b in pairwise(places))
