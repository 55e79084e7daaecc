"""The definitions and examples of the papers, and the worked table: by the reference, by the detectors, and by `comity
detect`.

Seed 002 has "the algebra" (section 2: operators, consumption, duplicates), seed 003, "the thesis", a table of operators
(figure 7.1), and seed 004, on RUBCES, six rules (figures 11 to 13).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from tests.pattern.letters import RULES, START, WORKED, every_way, profile, trace

from comity.cli.main import run
from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.language.rdl.read import parse_rdl
from comity.pattern.bound import BoundPattern
from comity.pattern.detector import Detector
from comity.pattern.reference.reports import reports
from comity.pattern.report import Report

Detect = Callable[..., list[dict[str, object]]]


@pytest.fixture
def detect(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Detect:
    """`comity detect` over profiles and events, with options: its reports."""

    def call(
        profiles: str, events: Sequence[Event], *options: str, name: str = "profiles.txt"
    ) -> list[dict[str, object]]:
        (tmp_path / name).write_text(profiles, encoding="utf-8")
        (tmp_path / "events.jsonl").write_bytes(b"".join(encode(event) + b"\n" for event in events))
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            run(["detect", str(tmp_path / name), str(tmp_path / "events.jsonl"), *options])
        said = capsys.readouterr()
        assert not left.value.code, said.err
        return [json.loads(line) for line in said.out.splitlines()]

    return call


def ends(found: Sequence[dict[str, object]]) -> list[object]:
    return sorted((json.dumps(one["events"], sort_keys=True), one["end"]) for one in found)


def check(detect: Detect, text: str, events: str, expected: list[str]) -> None:
    """Every way gives these reports, and the command prints those of the reference."""
    bound, given = profile(text), trace(events)
    for found in every_way(bound, given):
        assert found == expected
    printed = detect(f"profile p\non {text}\n", given)
    assert ends(printed) == ends([report.as_dict() for report in reports(bound, given)])


# The algebra: operators

DISJUNCTION = [
    ("A a | B b", "A1 B1", ["A1 @0", "B1 @1"]),
    ("A a | B b", "C1 B1", ["B1 @1"]),
]
"""Occurs if either occurs, at the time of that one."""
CONJUNCTION = [
    ("A a & B b within 2 s", "A1 . B1", ["A1 B1 @2"]),
    ("A a & B b within 2 s", "B1 . A1", ["A1 B1 @2"]),
    ("A a & B b within 2 s", "A1 . . B1", []),
    ("A a & B b", "A1 . . . . . . B1", ["A1 B1 @7"]),
]
"""Both, regardless of the order, at most T apart, at the time of the last one; a frame without end is no frame."""
SEQUENCE = [
    ("A a ; B b within 2 s", "A1 . B1", ["A1 B1 @2"]),
    ("A a ; B b within 2 s", "B1 A1", []),
    ("A a ; B b within 2 s", "A1 . . B1", []),
    ("A a ; B b", "A1 . . . . B1", ["A1 B1 @5"]),
]
"""First the one, afterwards the other, at most T apart, at the time of the second."""
NEGATION = [
    ("not A a within 3 s", "B1 . . B2", ["0–3", "3–6"]),
    ("not A a within 3 s", "B1 . . A1", ["3–6"]),
    ("not A a within 3 s", "B1 A1 . . . B2", ["1–4", "4–7"]),
]
"""No such event for an interval of T, at the end of the interval."""
SIMULTANEITY = [
    ("A a : B b", "A1+B1", ["A1 B1 @0"]),
    ("A a : B b", "A1 B1", []),
]
"""Both at the same time."""
SELECTION = [
    ("A a[1]", "A1 A2 A3", ["A1 @0"]),
    ("A a[2]", "A1 B1 A2 A3", ["A2 @2"]),
    ("A a[4]", "A1 A2 A3", []),
]
"""The i-th event of a sequence of events of a class."""


@pytest.mark.parametrize(
    ("text", "events", "expected"),
    [*DISJUNCTION, *CONJUNCTION, *SEQUENCE, *NEGATION, *SIMULTANEITY, *SELECTION],
)
def test_operator(detect: Detect, text: str, events: str, expected: list[str]) -> None:
    check(detect, text, events, expected)


def test_operands_can_be_composite(detect: Detect) -> None:
    check(detect, "(A a | B b) ; (C c & D d within 1 s) within 9 s", "A1 D1 B1 D2 C1", ["A1 C1 D2 @4", "B1 C1 D2 @4"])
    check(detect, "(A a ; B b)[2] & (C c : D d)", "A1 B1 B2 C1+D1", ["A1 B2 C1 D1 @3"])
    check(detect, "A a ; not (B b ; C c) within 3 s", "A1 B1 . C1 A2 D1 B2", ["A2 @7"])


def test_simultaneity_is_a_conjunction_with_a_small_frame(detect: Detect) -> None:
    check(detect, "A a : B b tolerance 1 s", "A1 B1 . A2", ["A1 B1 @1"])
    check(detect, "A a & B b within 1 s", "A1 B1 . A2", ["A1 B1 @1"])


# The algebra: parameters


@pytest.mark.parametrize(
    ("consume", "expected"),
    [
        ("keep", ["A1 B1 @2", "A1 B2 @3"]),
        ("delete", ["A1 B1 @2"]),
        ("reapply", ["A1 B1 @2", "A2 B2 @3"]),
    ],
)
def test_consumption(detect: Detect, consume: str, expected: list[str]) -> None:
    """Keep removes none, delete all that occurred before, the other one only those that took part."""
    check(detect, f"A a ; B b duplicates first consume {consume}", "A1 A2 B1 B2", expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("first", ["A1 B1 @4"]),
        ("last", ["A4 B1 @4"]),
        ("all", ["A1 B1 @4", "A2 B1 @4", "A3 B1 @4", "A4 B1 @4"]),
        ("2nd", ["A2 B1 @4"]),
        ("2 to 3", ["A2 B1 @4", "A3 B1 @4"]),
        ("2..9", ["A2 B1 @4", "A3 B1 @4", "A4 B1 @4"]),
        ("5th", []),
    ],
)
def test_duplicates(detect: Detect, mode: str, expected: list[str]) -> None:
    """First, last, all, n-th, n to m: the numbers are those in the order of the duplicates."""
    check(detect, f"A a ; B b duplicates a {mode}", "A1 A2 A3 A4 B1", expected)


def test_one_instance_reported_twice_is_no_duplicate(detect: Detect) -> None:
    """Duplicates are separate instances; the same one may be told twice, and counts once."""
    twice = [*trace("A1 B1"), *trace("A1 B1")]
    for found in every_way(profile("A a ; B b duplicates a collect"), twice):
        assert found == ["{A1} B1 @1"]
    assert len(detect("profile p\non A a ; B b\n", twice)) == 1


# The thesis: figure 7.1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A a ; B b", ["A1 B1 @1", "A1 B2 @3", "A2 B2 @3"]),
        ("A a | B b", ["A1 @0", "B1 @1", "A2 @2", "B2 @3"]),
        ("A a & B b", ["A1 B1 @1", "A2 B1 @2", "A1 B2 @3", "A2 B2 @3"]),
        ("not B b ; A a", ["A1 @0"]),
        ("first A a", ["A1 @0"]),
    ],
    ids=["followed by", "or", "and", "without", "the first of"],
)
def test_figure_of_the_thesis(detect: Detect, text: str, expected: list[str]) -> None:
    check(detect, text, "A1 B1 A2 B2", expected)


# The worked table

TABLE = {
    ("all", "keep"): "B1D1 B2D1 B1D2 B2D2 B1D3 B2D3 B3D3",
    ("first", "keep"): "B1D1 B1D2 B1D3",
    ("last", "keep"): "B2D1 B2D2 B3D3",
    ("collect", "keep"): "{B1B2}D1 {B1B2}D2 {B1B2B3}D3",
    ("all", "reapply"): "B1D1 B2D1 B3D3",
    ("first", "reapply"): "B1D1 B2D2 B3D3",
    ("last", "reapply"): "B2D1 B1D2 B3D3",
    ("collect", "reapply"): "{B1B2}D1 {B3}D3",
    ("all", "delete"): "B1D1 B2D1 B3D3",
    ("first", "delete"): "B1D1 B3D3",
    ("last", "delete"): "B2D1 B3D3",
}


@pytest.mark.parametrize(("mode", "consume"), TABLE)
def test_worked_table(detect: Detect, mode: str, consume: str) -> None:
    text, expected = f"B b ; D d duplicates b {mode} consume {consume}", sorted(TABLE[mode, consume].split())
    for found in every_way(profile(text), trace(WORKED)):
        assert sorted(one.partition(" @")[0].replace(" ", "") for one in found) == expected
    printed = detect(f"profile p\non {text}\n", trace(WORKED))
    assert ends(printed) == ends([report.as_dict() for report in reports(profile(text), trace(WORKED))])


# Rules of RUBCES


def happened(id: str, type: str, second: float, **data: float) -> Event:
    return Event(id, "/rubces", type, START + timedelta(seconds=second), dict(data))


HOUSE = [
    happened("dry", "Humidity", 0, value=60.0),
    happened("wet", "Humidity", 1, value=80.0),
    happened("mild", "Temperature", 2, value=21.0),
    happened("cool", "HeatEvent", 3, value=20.0),
    happened("dim", "LightEvent", 4, lightvalue=3000),
    happened("soon", "HeatEvent", 8, value=26.0),
    happened("warm", "HeatEvent", 8.001, value=26.0),
    happened("little", "HeatEvent", 9, value=25.0),
    happened("bright", "LightEvent", 10, lightvalue=3001),
    happened("hot", "HeatEvent", 11, value=37.0),
    happened("shares", "StockExchangeEvent", 12),
]
"""`soon` is exactly 5000 ms after `cool`, `little` exactly 5 degrees warmer, and `hot` is no longer below 37."""

EXPECTED: dict[str, list[dict[str, str]]] = {
    "rule1": [{"h1": "cool"}, {"h1": "soon"}, {"h1": "warm"}, {"h1": "little"}, {"h1": "hot"}],
    "rule2": [{"s1": "shares"}],
    "rule3": [{"h1": "soon"}, {"h1": "warm"}, {"h1": "hot"}],
    "rule4": [{"h1": "soon"}, {"h1": "warm"}],
    "rule5": [{"h1": "dry", "t1": "mild"}],
    "rule6": [
        {"h1": "warm", "h2": "cool", "l1": "bright"},
        {"h1": "hot", "h2": "cool", "l1": "bright"},
    ],
}


def bound_rules() -> dict[str, BoundPattern]:
    return {name: rule.bind(name) for name, rule in parse_rdl(RULES)}


def operands_of(found: Sequence[Report]) -> list[object]:
    return [report.as_dict()["events"] for report in sorted(found, key=lambda one: (one.end, one.start, one.id))]


@pytest.mark.parametrize("name", EXPECTED)
def test_rule_by_reference_and_detector(name: str) -> None:
    bound = bound_rules()[name]
    assert operands_of(reports(bound, HOUSE)) == EXPECTED[name]
    detector = Detector([bound])
    detector.take(reversed(HOUSE))
    assert operands_of([report for _, report in detector.finish()]) == EXPECTED[name]


def test_rules_by_command(detect: Detect) -> None:
    found = detect(RULES, HOUSE, name="rules.rdl")
    for name, expected in EXPECTED.items():
        assert [one["events"] for one in found if one["profile"] == name] == expected


def test_a_composite_rule_needs_a_limit_to_be_detected_in_a_stream(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "rules.rdl").write_text(RULES, encoding="utf-8")
    (tmp_path / "events.jsonl").write_bytes(b"")
    with pytest.raises(SystemExit) as left:
        run(["detect", str(tmp_path / "rules.rdl"), str(tmp_path / "events.jsonl"), "--stream"])
    assert left.value.code == 2
    assert "unbounded-pattern" in capsys.readouterr().err
