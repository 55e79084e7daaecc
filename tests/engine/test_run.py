"""The in-process runner."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from comity.engine import Notification, run
from comity.event import Event, Rejected, read_events
from comity.event.formats import jsonlines
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


NOW = datetime(2026, 11, 1, tzinfo=UTC)


def pushed(**changes: Any) -> list[object]:
    """What comes of an event that a program made itself."""
    return list(run(compile_plan(load(EXAMPLE)), [good().replace(**changes)]))


def good() -> Event:
    federation = load(EXAMPLE)
    read = read_events(EXAMPLE / "events", federation.find_type, require_time=True)
    found = next(one for one in read if isinstance(one, Event) and one.id == "a-2")
    return found.replace(data=dict(found.data))


def test_run_delivers_an_event_that_a_program_made() -> None:
    assert [type(one) for one in pushed()] == [Notification, Notification]


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"type": "house_a.Flood"}, "event.type", "unknown-type"),
        ({"data": {}}, None, "missing"),
        ({"time": None}, "event.time", "missing"),
        ({"time": datetime(2026, 11, 1)}, "event.time", "bad-timestamp"),
        ({"time": "yesterday"}, "event.time", "bad-timestamp"),
        ({"time": 1_700_000_000}, "event.time", "bad-timestamp"),
        ({"id": ""}, "event.id", "wrong-kind"),
        ({"source": None}, "event.source", "missing"),
        ({"sequence": "x"}, "event.sequence", "bad-sequence"),
        ({"mode": "maybe"}, "event.mode", "bad-mode"),
        ({"data": ["no"]}, "data", "wrong-kind"),
    ],
)
def test_run_rejects_what_a_reader_would_reject(changes: dict[str, Any], path: str | None, code: str) -> None:
    (refused,) = pushed(**changes)
    assert isinstance(refused, Rejected)
    assert refused.faults[0].code == code
    assert path in (None, refused.faults[0].path)


def test_run_rejects_each_value_of_a_wrong_kind() -> None:
    kept = good().data
    for name in kept:
        (refused,) = pushed(data={**kept, name: object()})
        assert isinstance(refused, Rejected)
        assert [(one.path, one.code) for one in refused.faults] == [(name, "wrong-kind")]


def test_run_takes_values_as_a_reader_does() -> None:
    """An int for a float, and the text of a time."""
    outcome = pushed(time="2026-11-01T01:00:00+01:00")[0]
    assert isinstance(outcome, Notification)
    assert outcome.event.time == NOW


def test_run_checks_events_that_were_read_without_types() -> None:
    federation = load(EXAMPLE)
    plan = compile_plan(federation)
    typed = list(run(plan, read_events(EXAMPLE / "events", federation.find_type, require_time=True)))
    untyped = list(run(plan, read_events(EXAMPLE / "events")))

    def told(outcomes: list[Any]) -> list[Any]:
        return [one.faults[0].code if isinstance(one, Rejected) else one for one in outcomes]

    assert told(untyped) == told(typed)


def test_run_does_not_check_again_what_was_read_with_these_types(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = load(EXAMPLE)
    read = list(read_events(EXAMPLE / "events", federation.find_type, require_time=True))
    checks = []
    monkeypatch.setattr(jsonlines, "conform", lambda *given: checks.append(given))
    list(run(compile_plan(federation), read))
    assert checks == []


def test_run_checks_a_read_event_whose_attributes_were_changed() -> None:
    federation = load(EXAMPLE)
    read = read_events(EXAMPLE / "events", federation.find_type, require_time=True)
    event = next(one for one in read if isinstance(one, Event))
    changed = event.replace(data={**event.data, next(iter(event.data)): object()})
    assert [type(one) for one in run(compile_plan(federation), [changed])] == [Rejected]
