"""Sequences, gaps and frames at their edges: the reference, detectors, engine and compiled code say the same."""

from __future__ import annotations

import pytest
from tests.pattern.letters import every_way, profile, trace


@pytest.mark.parametrize(
    ("text", "events", "expected"),
    [
        # A gap ends where the step after it begins, not at the end of the sequence.
        ("A a ; not X x ; B b ; C c", "A1 B1 X1 C1", ["A1 B1 C1 @3"]),
        ("A a ; not X x ; B b ; C c", "A1 X1 B1 C1", []),
        ("A a ; B b ; not X x ; C c", "A1 X1 B1 C1", ["A1 B1 C1 @3"]),
        ("A a ; B b ; not X x ; C c", "A1 B1 X1 C1", []),
        ("A a ; not X x ; (B b & C c) ; D d", "A1 B1 X1 C1 D1", ["A1 B1 C1 D1 @4"]),
        ("A a ; not X x ; (B b & C c) ; D d", "A1 X1 B1 C1 D1", []),
        # What is in the way at the very time of a step is in no gap.
        ("A a ; not X x ; B b", "A1+X1 B1", ["A1 B1 @1"]),
        ("A a ; not X x ; B b", "A1 B1+X1", ["A1 B1 @1"]),
        ("A a ; not X x ; B b", "A1 X1 B1", []),
        # With a tie-break there is something between two events of one time.
        ("A a ; not X x ; B b ties n", "A1(n=1)+X1(n=2)+B1(n=3)", []),
        ("A a ; not X x ; B b ties n", "A1(n=1)+X1(n=3)+B1(n=2)", ["A1 B1 @0"]),
        ("A a ; not X x ; B b ties n", "A1(n=2)+X1(n=1)+B1(n=3)", ["A1 B1 @0"]),
        ("A a ; not X x ; B b ties n", "A1(n=1)+X1(n=1)+B1(n=2)", ["A1 B1 @0"]),
        # A frame takes in both of its ends.
        ("A a ; B b within 2 s", "A1 . B1", ["A1 B1 @2"]),
        ("A a ; B b within 2 s", "A1 . . B1", []),
        ("A a & B b within 2 s", "B1 . A1", ["A1 B1 @2"]),
        ("A a & B b within 2 s", "B1 . . A1", []),
        ("A a ; B b ; C c within 3 s", "A1 B1 . C1", ["A1 B1 C1 @3"]),
        ("A a ; B b ; C c within 3 s", "A1 . . B1 C1", []),
        ("A a ; (B b & C c) within 3 s", "A1 C1 . B1", ["A1 B1 C1 @3"]),
        ("A a ; (B b & C c) within 2 s", "A1 C1 . B1", []),
        ("not X x ; (B b & C c) within 3 s", "B1 . . C1", ["B1 C1 @3"]),
        ("not X x ; (B b & C c) within 2 s", "B1 . . C1", []),
        # An absence before the first step looks back from the end of the last one.
        ("not X x ; B b within 2 s", "X1 . B1", []),
        ("not X x ; B b within 2 s", "X1 . . B1", ["B1 @3"]),
        ("not X x ; A a ; B b within 3 s", "X1 . A1 B1", []),
        ("not X x ; A a ; B b within 3 s", "X1 . . A1 B1", ["A1 B1 @4"]),
        # An absence after the last step holds when its time is over.
        ("A a ; not X x within 2 s", "A1 . X1 Y1", []),
        ("A a ; not X x within 2 s", "A1 . . X1", ["A1 @2"]),
        ("(A a ; not X x within 2 s) ; B b", "A1 . . B1", ["A1 B1 @3"]),
        ("(A a ; not X x within 2 s) ; B b", "A1 . B1 C1", []),
        ("(A a ; not X x within 2 s) & B b within 2 s", "A1 . B1 C1", ["A1 B1 @2"]),
    ],
)
def test_every_way_finds_what_stands_in_the_sequence(text: str, events: str, expected: list[str]) -> None:
    bound = profile(text)
    for found in every_way(bound, trace(events)):
        assert found == expected


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("", ["A1 B1 @2", "A2 B1 @2"]),
        ("duplicates a first", ["A1 B1 @2"]),
        ("duplicates a last", ["A2 B1 @2"]),
        ("duplicates a collect", ["{A1 A2} B1 @2"]),
        ("consume delete", ["A1 B1 @2", "A2 B1 @2"]),
        ("duplicates a first consume reapply", ["A1 B1 @2"]),  # and the B is gone for the other A
    ],
)
def test_every_way_chooses_and_consumes_alike(how: str, expected: list[str]) -> None:
    bound = profile(f"A a ; B b {how}")
    for found in every_way(bound, trace("A1 A2 B1")):
        assert found == expected
