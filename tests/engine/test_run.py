"""The in-process runner."""

from __future__ import annotations

from pathlib import Path

from comity.engine import Notification, run
from comity.event import read_events
from comity.federation import load
from comity.plan import compile_plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"


def outcomes() -> list[object]:
    federation = load(EXAMPLE)
    events = read_events(EXAMPLE / "events", federation.find_type, require_time=True)
    return list(run(compile_plan(federation), events))


def test_run_delivers_in_the_subscribers_terms() -> None:
    sent = [one for one in outcomes() if isinstance(one, Notification)]
    assert [(one.profile, one.event.id) for one in sent] == [
        ("main_street", "a-1"),
        ("serious_fires", "a-2"),
        ("main_street", "a-2"),
        ("serious_fires", "b-1"),
    ]
    assert sent[1].event.data == {
        "address": "12 Main Street, Springfield",
        "where_inside": "kitchen",
        "temperature": 100.0,
        "level": 3,
    }


def test_run_delivers_an_event_that_comes_twice_once() -> None:
    sent = [one for one in outcomes() if isinstance(one, Notification) and one.event.id == "a-2"]
    assert len(sent) == len({one.profile for one in sent}) == 2


def test_run_keeps_what_it_refuses_with_the_reason() -> None:
    refused = [one for one in outcomes() if not isinstance(one, Notification)]
    assert [one.faults[0].code for one in refused] == ["wrong-kind", "mapped-missing", "truncated-json"]  # type: ignore[attr-defined]
