"""What a trace tells of the `not`s of a pattern: from when to when each waited, and what ended it."""

from __future__ import annotations

import pytest
from tests.pattern.letters import START, profile
from tests.pattern.letters import trace as events_of

from comity.pattern.occurrence import microseconds
from comity.pattern.tracing.trace import trace

BEGIN, SECOND = microseconds(START), 1_000_000


def told(text: str, events: str, until: int | None = None) -> list[str]:
    """Of each absence: what was absent, from when to when, how it ended, and by what."""
    found = trace(profile(text), events_of(events), until=None if until is None else BEGIN + until * SECOND)
    return [
        f"{' '.join(one.absent)} {(one.begin - BEGIN) / SECOND:g}–{(one.end - BEGIN) / SECOND:g} {one.outcome}"
        + (f" by {' '.join(seen.event.id for seen in one.by.bound.values())}" if one.by else "")
        for key in found.keys
        for one in key.absences
    ]


@pytest.mark.parametrize(
    ("text", "events", "expected"),
    [
        ("A a ; not X x ; B b", "A1 . B1", ["x 0–2 held"]),
        ("A a ; not X x ; B b", "A1 X1 B1", ["x 0–2 broken by X1"]),
        ("A a ; not X x ; B b ; not Y y ; C c", "A1 X1 B1 Y1 C1", ["x 0–2 broken by X1", "y 2–4 broken by Y1"]),
        ("A a ; not X x ; B b ; not Y y ; C c", "A1 Y1 B1 X1 C1", ["x 0–2 held", "y 2–4 held"]),
        ("not X x ; B b within 3 s", "X1 . B1", ["x -1–2 broken by X1"]),
        ("not X x ; B b within 3 s", "Y1 . B1", ["x -1–2 held"]),
        ("not X x ; B b", "Y1 . B1", ["x 0–2 held"]),
        ("A a ; B b", "A1 . B1", []),
        ("A a ; not X x within 2 s", "A1 . . Y1", ["x 0–2 held"]),
        ("A a ; not X x within 2 s", "A1 X1 Y1", ["x 0–2 broken by X1"]),
        ("A a ; not X x within 5 s", "A1 Y1", ["x 0–5 held"]),
        ("not X x within 2 s", "X1 . . Y1", ["x 0–2 held", "x 2–4 held"]),
        ("not X x within 2 s", "Y1 X1 Y2", ["x 0–2 broken by X1", "x 1–3 held"]),
    ],
)
def test_absences_are_told_with_their_time_and_their_end(text: str, events: str, expected: list[str]) -> None:
    assert told(text, events) == expected


@pytest.mark.parametrize(
    ("text", "events", "until", "expected"),
    [
        ("A a ; not X x within 5 s", "A1 Y1", 4, ["x 0–5 open"]),
        ("A a ; not X x within 5 s", "A1 Y1", 5, ["x 0–5 held"]),
        ("not X x within 2 s", "X1 . . Y1", 3, ["x 0–2 held", "x 2–4 open"]),
        ("not X x within 2 s", "X1 . . Y1", 2, ["x 0–2 held"]),
        ("not X x within 2 s", "Y1 X1 Y2", 2, ["x 0–2 broken by X1", "x 1–3 open"]),
    ],
)
def test_an_absence_is_open_when_the_trace_ends_first(text: str, events: str, until: int, expected: list[str]) -> None:
    assert told(text, events, until) == expected


def test_a_trace_begins_where_it_is_said_or_with_its_first_event() -> None:
    bound, events = profile("A a"), events_of(". . A1")
    assert trace(bound, events).start == BEGIN + 2 * SECOND
    assert trace(bound, events, BEGIN).start == BEGIN
    assert trace(bound, []).start == 0
    assert trace(bound, events, BEGIN, BEGIN + 5 * SECOND).last == BEGIN + 5 * SECOND
    assert trace(bound, events, BEGIN).last == BEGIN + 2 * SECOND
