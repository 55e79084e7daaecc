"""`comity explain` and `comity why`, through the real entry point."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "active_city"


def comity(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "comity.cli.main", *arguments]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


def event(file: str, number: int) -> bytes:
    return (EXAMPLE / "events" / file).read_bytes().splitlines()[number]


def test_explain_shows_mapping_filter_and_receiver() -> None:
    shown = comity("explain", str(EXAMPLE), "--profile", "main_street").stdout.decode()
    assert "source is asked for everything [files-have-no-filter]" in shown
    assert "filter here: street + ', ' + city like '% Main Street, %'" in shown
    assert "profile main_street, delivered to fire_station" in shown
    assert "serious_fires" not in shown


def test_explain_as_json_tells_how_profiles_are_matched() -> None:
    found = json.loads(comity("explain", str(EXAMPLE), "--format", "json").stdout)
    assert found["matching"]["how"] == "columns"
    assert {route["source"] for route in found["routes"]} == {
        "house_a.FireDetected",
        "house_b.Brand",
        "fire_station.Incident",
    }


def test_explain_as_mermaid_is_a_flow_chart() -> None:
    lines = comity("explain", str(EXAMPLE), "--format", "mermaid").stdout.decode().splitlines()
    assert lines[0] == "flowchart LR"
    assert all(" --> " in line for line in lines[1:])


def test_explain_refuses_an_unknown_profile() -> None:
    result = comity("explain", str(EXAMPLE), "--profile", "nobody")
    assert result.returncode == 2
    assert b"known: main_street, serious_fires" in result.stderr


@pytest.mark.parametrize(
    ("file", "number", "expected"),
    [
        ("house_a.jsonl", 1, ["delivered to serious_fires", "✓ level >= 2   where level = 3"]),
        ("house_a.jsonl", 0, ["not delivered", "✗ level >= 2   where level = 1"]),
        ("house_a.jsonl", 2, ["not delivered", "no way leads from house_a.WaterLeak"]),
        ("house_a.jsonl", 3, ["not delivered", "heat expected float, found string [wrong-kind]"]),
        ("house_b.jsonl", 2, ["not delivered", "level: the mapping gives no value"]),
    ],
)
def test_why_names_the_clause_that_decides(file: str, number: int, expected: list[str]) -> None:
    arguments = ("why", str(EXAMPLE), "--profile", "serious_fires", "--event", "-")
    shown = comity(*arguments, given=event(file, number)).stdout.decode()
    for text in expected:
        assert text in shown


def test_why_as_json_nests_the_clauses() -> None:
    arguments = ("why", str(EXAMPLE), "--profile", "serious_fires", "--event", "-", "--format", "json")
    found = json.loads(comity(*arguments, given=event("house_a.jsonl", 0)).stdout)
    (way,) = found["ways"]
    assert found["delivered"] is False
    assert [part["holds"] for part in way["clause"]["parts"]] == [False, False]
