"""Composite profiles in the commands around a federation: explain, why, profiles, backtest, lint."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from comity.event import Event, read_events
from comity.federation import load
from comity.limits import limited

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
PROFILES = """\
profiles:
  spreading:
    domain: fire_station
    on: Incident a ; Incident b within 10 min
    where: a.level >= 1 and b.level >= 2
    duplicates: first
"""
TEXT = """\
profile calm
on Incident a ; not Incident n within 1 h
where n.level > a.level
limit 9
"""
ADD = ("--domain", "fire_station", "--on", "Incident a ; Incident b within 5 min", "--where", "a.level < b.level")


@pytest.fixture
def city(tmp_path):
    city = shutil.copytree(EXAMPLE, tmp_path / "city")
    (city / "profiles" / "composite.yaml").write_text(PROFILES, encoding="utf-8")
    return city


def _listed(comity, city):
    found = json.loads(comity("profiles", "list", city, "--format", "json").out)["profiles"]
    return {one["name"]: one for one in found}


def test_explain_of_a_federation(comity, city):
    shown = comity("explain", city, "--profile", "spreading").out
    assert "composite profile spreading, for fire_station" in shown
    assert "house_b.Brand from the event files of the run by contract fire" in shown
    assert "one trace, because no equality ties a and b to each other" in shown
    assert "detected by compiled code" in shown
    assert "operand a of profile spreading" in shown
    assert "main_street" not in shown
    assert "main_street" in comity("explain", city).out
    assert comity("explain", city, "--format", "mermaid").out.startswith("flowchart LR\n")
    assert comity("explain", city, "--types", "t.yaml").code == 2


def test_explain_of_a_file(comity, write):
    file = write("profiles.txt", f"hot: heat > 5\n{TEXT}\nprofile b\non A a ; B b\n")
    shown = comity("explain", file)
    assert (shown.code, "composite profile calm\n" in shown.out) == (0, True)
    assert "the absence at the end lasts 1 h" in shown.out
    assert "b: not kept" in shown.out
    assert "a: unbounded: needs `limit`" in shown.out
    assert "hot" not in shown.out
    assert [one["profile"] for one in json.loads(comity("explain", file, "--format", "json").out)["patterns"]] == [
        "calm",
        "b",
    ]
    only = comity("explain", file, "--profile", "b", "--format", "mermaid").out
    assert only.startswith("flowchart LR\n")
    assert "calm" not in only
    unknown = comity("explain", file, "--profile", "hot")
    assert (unknown.code, "composite profiles in it: calm, b" in unknown.err) == (2, True)
    simple = comity("explain", write("simple.txt", "hot: heat > 5\n"))
    assert (simple.code, "[no-composite-profile]" in simple.err) == (2, True)
    assert comity("explain", file, "--types", write("t.yaml", "types: {Incident: {}}\n")).code == 2


def test_why_names_the_operands(comity, city, write):
    event = write("event.json", (EXAMPLE / "events" / "house_a.jsonl").read_bytes().splitlines()[0])
    found = comity("why", city, "--profile", "spreading", "--event", event)
    assert found.out.startswith("a candidate of spreading for a\n")
    assert "✗ level >= 2   where level = 1" in found.out
    assert "comity trace" in found.err
    told = json.loads(comity("why", city, "--profile", "spreading", "--event", event, "--format", "json").out)
    assert told["candidate_for"] == ["a"]
    assert {way["operand"]: way["delivered"] for way in told["ways"]} == {"a": True, "b": False}
    other = write("event.json", (EXAMPLE / "events" / "house_a.jsonl").read_bytes().splitlines()[2])
    assert comity("why", city, "--profile", "spreading", "--event", other).out.startswith("no candidate of spreading")


def test_list_shows_the_pattern(comity, city):
    shown = comity("profiles", "list", city).out
    assert "spreading  fire_station on Incident a ; Incident b within 10 min" in shown
    assert "    a.level >= 1 and b.level >= 2\n    duplicates first\n" in shown
    one = _listed(comity, city)["spreading"]
    assert one["operands"] == dict.fromkeys("ab", "fire_station.Incident")
    assert (one["composite"], one["parameters"]) == (True, {"duplicates": "first"})


def test_add_from_options_replace_and_remove(comity, city):
    added = comity("profiles", "add", city, "rising", *ADD, "--consume", "delete", "--limit", 100)
    assert (added.code, "rising: added, up to" in added.out) == (0, True), added.err
    assert _listed(comity, city)["rising"]["parameters"] == {"consume": "delete", "limit": 100}
    assert "    limit: 100\n" in (city / "profiles" / "fire_station.yaml").read_text(encoding="utf-8")
    simple = ("--domain", "fire_station", "--on", "Incident", "--where", "level > 2", "--replace")
    assert comity("profiles", "add", city, "rising", *simple).code == 0
    assert "composite" not in _listed(comity, city)["rising"]
    assert comity("profiles", "add", city, "rising", *ADD, "--replace").code == 0
    assert _listed(comity, city)["rising"]["parameters"] == {}
    assert comity("profiles", "remove", city, "rising", "spreading").code == 0
    assert sorted(_listed(comity, city)) == ["main_street", "serious_fires"]


def test_add_from_yaml_and_from_text(comity, city, write):
    moved = PROFILES.replace("spreading", "moved")
    assert comity("profiles", "add", city, "--from", write("new.yaml", moved)).code == 0
    added = comity("profiles", "add", city, "--from", write("new.txt", TEXT), "--domain", "fire_station")
    assert added.code == 0, added.err
    found = _listed(comity, city)
    assert found["moved"]["parameters"] == {"duplicates": "first"}
    assert found["calm"]["on"] == "Incident a ; not Incident n within 1 h"
    assert found["calm"]["parameters"] == {"limit": 9}


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (TEXT, (), "say it with --domain NAME"),
        (
            f"hot: heat > 5\n{TEXT}",
            ("--domain", "fire_station"),
            "new:1:1: in a federation the profile 'hot'",
        ),
        ("profile calm\non Incident a ;;", ("--domain", "fire_station"), "new:2:"),
        (PROFILES, ("--domain", "fire_station"), "the profiles of a YAML file name their domains"),
        (TEXT, ("--domain", "fire_station", "--limit", "5"), "NAME and what is about one have no place"),
        (TEXT.replace("n.level", "n.lvl"), ("--domain", "fire_station"), "[unknown-attribute]"),
    ],
)
def test_add_refuses(comity, city, write, text, more, said):
    result = comity("profiles", "add", city, "--from", write("new", text).name, *more)
    assert (result.code, said in result.err) == (2, True), result.err
    assert sorted(_listed(comity, city)) == ["main_street", "serious_fires", "spreading"]


def test_add_checks_the_cost_of_operands(comity, city):
    costly = ("--where", "b.where_inside matches '.*a.*b' and a.level > 1")
    with limited(max_profile_cost=600):
        result = comity("profiles", "add", city, "rising", *ADD[:4], *costly)
    assert (result.code, "rising/b" in result.err, "[profile-too-costly]" in result.err) == (2, True, True)


def _backtest(comity, city, *arguments, events=None, engine="local"):
    base = ("backtest", city, "--events", events or city / "events", "--engine", engine, "--format", "json")
    result = comity(*base, *arguments)
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_backtest_in_this_process(comity, city, tmp_path):
    report = _backtest(comity, city, "--profile", "spreading", "--out", tmp_path / "out")
    assert (report["sent"], report["ways"]) == (2, [])
    assert report["records"] == 9
    assert {example["profile"] for example in report["examples"]} == {"spreading"}
    kept = [line for path in (tmp_path / "out" / "fire_station").glob("*.jsonl") for line in path.open()]
    assert len(kept) == 2
    shown = comity("backtest", city, "--events", city / "events", "--engine", "local", "--profile", "spreading").out
    assert shown.startswith("spreading would have sent 2 notifications\n")
    assert "█" in shown


def test_backtest_leaves_out_what_is_not_in_the_period(comity, city):
    late = _backtest(comity, city, "--profile", "spreading", "--from", "2026-11-15T18:03:00Z")
    assert (late["sent"], late["records"]) == (1, 9)
    quiet = ("--profile", "quiet", "--domain", "fire_station", "--on", "Incident a ; not Incident n within 1 min")
    assert _backtest(comity, city, *quiet)["sent"] == 2
    assert _backtest(comity, city, *quiet, "--to", "2026-11-15T18:04:10Z")["sent"] == 1


def test_backtest_of_another_filter_keeps_the_parameters(comity, city):
    assert _backtest(comity, city, "--profile", "spreading", "--where", "true")["sent"] == 3
    assert _backtest(comity, city, "--profile", "spreading", "--on", "Incident", "--where", "true")["sent"] == 4


QUIET = ("--profile", "quiet", "--domain", "fire_station", "--on", "Incident a ; not Incident n within 1 min")
ABSENT = ("--profile", "absent", "--domain", "fire_station", "--on", "not Incident n within 20 s")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--profile", "spreading"),
        ("--profile", "spreading", "--from", "2026-11-15T18:03:00Z"),
        (*QUIET, "--to", "2026-11-15T18:04:10Z"),
        (*ABSENT, "--from", "2026-11-15T18:03:50Z", "--to", "2026-11-15T18:06:00Z"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_backtest_on_spark_gives_the_same(comity, city, spark, arguments, form):
    events = city / "events"
    if form == "parquet":
        events = _as_parquet(events, city / "rows")
    here = _backtest(comity, city, *arguments, events=events)
    there = _backtest(comity, city, *arguments, events=events, engine="spark")
    assert there == here
    assert here["sent"] > 0


def _as_parquet(events, folder):
    """The events that are some, as rows: a file for each type."""
    folder.mkdir()
    by_type = {}
    for record in read_events(events, load(events.parent).find_type):
        if isinstance(record, Event):
            row = {"id": record.id, "source": record.source, "type": record.type, "time": record.time, **record.data}
            by_type.setdefault(record.type, []).append(row)
    for name, rows in by_type.items():
        parquet.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("b within", "b withn", "composite.yaml:4:33: "),
        ("Incident b", "Incidnt b", "composite.yaml:4:22: unknown type `Incidnt` [unknown-type]"),
        ("b.level", "b.lvl", "composite.yaml:5:29 (b.lvl): "),
        ("duplicates: first", "duplicates: c first", "composite.yaml:6:17: 'c' does not choose"),
        ("  spreading:", "  spread/ing:", "composite.yaml:2:3: 'spread/ing' cannot name a profile [bad-name]"),
    ],
)
def test_lint_of_a_federation(comity, city, old, new, said):
    assert comity("lint", city).code == 0
    (city / "profiles" / "composite.yaml").write_text(PROFILES.replace(old, new), encoding="utf-8")
    for path in (city, city / "profiles" / "composite.yaml"):
        result = comity("lint", path)
        assert (result.code, said in result.out) == (2, True), result.out


def test_lint_finds_a_composite_profile_with_a_name_that_is_taken(comity, city):
    changed = PROFILES.replace("spreading", "main_street")
    (city / "profiles" / "composite.yaml").write_text(changed, encoding="utf-8")
    result = comity("lint", city)
    assert (result.code, "there are two profiles 'main_street' [duplicate-profile]" in result.out) == (2, True)
