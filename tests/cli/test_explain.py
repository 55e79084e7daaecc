"""`comity explain` and `comity why`."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "two_houses"


@pytest.fixture
def given(monkeypatch):
    """Puts a line into standard input."""

    def put(line):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))

    return put


def event(file, number):
    return (EXAMPLE / "events" / file).read_bytes().splitlines()[number]


def test_explain_shows_mapping_filter_and_receiver(comity):
    shown = comity("explain", str(EXAMPLE), "--profile", "main_street").out
    assert "events of house_b.Brand from the event files of the run (files, filters: none)" in shown
    assert "asked for everything [source-has-no-filter]" in shown
    assert "mediate to fire.FireAlarm by contract fire" in shown
    assert "match: street + ', ' + city like '% Main Street, %'" in shown
    assert "holds for no event of this source" in shown
    assert "deliver to results/fire_station" in shown
    assert "serious_fires" not in shown


def test_explain_in_a_language_shows_its_text_and_what_is_left(comity):
    arguments = ("explain", str(EXAMPLE), "--profile", "serious_fires", "--language", "parquet")
    shown = comity(*arguments).out
    assert "asked for celsius > 60.00000000000003 AND severity IN ('mittel', 'hoch')" in shown
    assert "left to filter here: nothing" in shown
    assert "asked for everything [profile-without-bound]" in shown
    assert "main_street [profile-without-bound]" in shown


def test_explain_refuses_an_unknown_language(comity):
    result = comity("explain", str(EXAMPLE), "--language", "parket")
    assert result.code == 2
    assert "did you mean `parquet`?" in result.err


def test_explain_as_json_tells_how_profiles_are_matched(comity):
    found = json.loads(comity("explain", str(EXAMPLE), "--format", "json").out)
    assert {form: one["profiles"] for form, one in found["matching"].items()} == {"lines": 2, "tables": 2}
    assert found["matching"]["tables"]["how"] == "columns"
    assert {one["type"]: one["asked"]["native"] for one in found["sources"]} == {
        "house_a.FireDetected": "everything",
        "house_b.Brand": "everything",
        "fire_station.Incident": "everything",
    }


def test_explain_as_mermaid_is_a_flow_chart(comity):
    lines = comity("explain", str(EXAMPLE), "--format", "mermaid").out.splitlines()
    assert lines[0] == "flowchart LR"
    assert all(" --> " in line or " .-> " in line for line in lines[1:])
    assert any("rejected" in line for line in lines)


def test_explain_refuses_an_unknown_profile(comity):
    result = comity("explain", str(EXAMPLE), "--profile", "nobody")
    assert result.code == 2
    assert "known: main_street, serious_fires" in result.err


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
def test_why_names_the_clause_that_decides(comity, given, file, number, expected):
    arguments = ("why", str(EXAMPLE), "--profile", "serious_fires", "--event", "-")
    given(event(file, number))
    shown = comity(*arguments).out
    for text in expected:
        assert text in shown


def test_why_as_json_nests_the_clauses(comity, given):
    arguments = ("why", str(EXAMPLE), "--profile", "serious_fires", "--event", "-", "--format", "json")
    given(event("house_a.jsonl", 0))
    found = json.loads(comity(*arguments).out)
    (way,) = found["ways"]
    assert found["delivered"] is False
    assert [part["holds"] for part in way["clause"]["parts"]] == [False, False]


def test_why_says_when_the_source_would_not_have_sent_the_event(comity, given):
    arguments = ("why", str(EXAMPLE), "--profile", "serious_fires", "--event", "-", "--language", "parquet")
    line = event("house_b.jsonl", 0).replace(b'"hoch"', b'"niedrig"')
    given(line)
    shown = comity(*arguments).out
    assert "not sent by the event files of the run, which is asked for celsius > " in shown
    given(line)
    found = json.loads(comity(*arguments, "--format", "json").out)
    assert [one["sends"] for one in found["asked"]] == [False]


def test_lint_of_one_domain_file_checks_its_sources(comity, tmp_path):
    file = tmp_path / "house.yaml"
    file.write_text("domain: house\ntypes: {Fire: {}}\nsources: {door: {webhok: {port: 80}}}\n", encoding="utf-8")
    result = comity("lint", str(file))
    assert "house.yaml:3:18: there is no source of kind `webhok` [unknown-connector]" in result.out + result.err
    assert "did you mean `webhook`?" in result.out + result.err


CSV = b"id,source,type,time,room,heat\na-2,/a,house_a.FireDetected,2026-11-15T18:03:40Z,kitchen,212\n"


@pytest.mark.parametrize(("name", "content"), [("x.csv", CSV), ("x.csv.gz", gzip.compress(CSV, mtime=0))])
def test_why_reads_the_first_event_of_whatever_run_reads(comity, name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    shown = comity("why", str(EXAMPLE), "--profile", "serious_fires", "--event", str(tmp_path / name)).out
    assert shown.startswith("delivered to serious_fires")


def test_why_says_that_a_file_is_empty(comity, tmp_path):
    (tmp_path / "x.csv").write_bytes(CSV.splitlines()[0])
    result = comity("why", str(EXAMPLE), "--profile", "serious_fires", "--event", str(tmp_path / "x.csv"))
    assert result.code == 2
    assert "there is no event in it [no-events]" in result.err
