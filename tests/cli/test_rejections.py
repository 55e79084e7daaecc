"""Records that are rejected: how old they may be, and how they are told."""

import json
import shutil
from pathlib import Path

import pytest

from comity.limits import limited

CITY = Path(__file__).parents[2] / "examples" / "two_houses"
FIRE = {"id": "a", "source": "/a", "type": "house_a.FireDetected", "data": {"room": "hall", "heat": 300.0}}
OLD = {**FIRE, "time": "1969-07-20T20:17:40Z"}


def _lines(*records):
    return "".join(json.dumps(one) + "\n" for one in records)


@pytest.fixture
def run(comity, tmp_path):
    """Runs the city over events; gives the result of the program, the notifications and the rejected records."""

    def call(events, *options):
        result = comity("run", CITY, "--events", events, "--out", "out", "--engine", "local", "--overwrite", *options)
        sent = [json.loads(line) for path in Path("out/fire_station").glob("*") for line in path.open()]
        refused = [json.loads(line) for path in Path("out/rejected").glob("*") for line in path.open()]
        return result, sent, refused

    return call


def test_run_takes_stored_events_of_any_age(run, write):
    _, sent, refused = run(write("old.jsonl", _lines(OLD)))
    assert {one["id"] for one in sent} == {"a"}
    assert refused == []


def test_run_rejects_stored_events_that_a_limit_forbids_and_says_where_they_stand(run, write):
    path = write("old.jsonl", _lines(FIRE, OLD))
    with limited(max_history_days=7_300):
        _, sent, refused = run(path)
    assert sent == []
    assert [(one["file"], one["line"], one["faults"][0]["code"]) for one in refused] == [
        (str(path), 1, "missing"),
        (str(path), 2, "too-old"),
    ]


def test_backtest_takes_stored_events_of_any_age(comity, write):
    options = ("--profile", "serious_fires", "--engine", "local", "--format", "json")
    result = comity("backtest", CITY, "--events", write("old.jsonl", _lines(OLD)), *options)
    assert json.loads(result.out)["sent"] == 1


def test_a_file_that_cannot_be_read_costs_itself_only(comity, tmp_path):
    events = tmp_path / "events"
    shutil.copytree(CITY / "events", events)
    (events / "0.jsonl").symlink_to("/proc/self/mem")  # reading it is an error of the system, whoever reads
    result = comity("run", CITY, "--events", events, "--out", tmp_path / "out", "--engine", "local")
    assert result.code == 0
    (file,) = (tmp_path / "out" / "rejected").glob("*.jsonl")
    first = json.loads(file.read_text().splitlines()[0])
    assert first["faults"][0]["code"] == "unreadable-file"
    assert first["file"].startswith("/proc/")
    assert "4 rejected" in result.out
    assert len((tmp_path / "out/fire_station/part-00000.jsonl").read_text().splitlines()) == 4


GOOD = {**FIRE, "id": "b", "time": "2026-11-15T18:02:11Z"}
NO_ROOM = {**GOOD, "data": {"heat": 300.0}}
TEXT_HEAT = {**GOOD, "data": {"room": "hall", "heat": "hot"}}
BRAND = {
    **GOOD,
    "type": "house_b.Brand",
    "data": {"place": {"floor": 0, "room": "Flur"}, "celsius": 65.0, "severity": "unbekannt"},
}


def test_run_tells_each_reason_with_its_count_and_an_example(run, write):
    path = write("e.jsonl", _lines(GOOD, NO_ROOM, TEXT_HEAT, NO_ROOM) + "{")
    result, _, _ = run(path)
    assert result.code == 0
    assert f"  rejected 2 × {path}:2: room a mandatory attribute is missing [missing]\n" in result.out
    assert f"  rejected 1 × {path}:3: heat expected float, found string [wrong-kind]\n" in result.out
    assert f"  rejected 1 × {path}:5:2: the line ends too early [truncated-json]\n" in result.out


def test_run_tells_the_reasons_to_programs(run, write):
    path = write("e.jsonl", _lines(GOOD, NO_ROOM, NO_ROOM))
    result, _, _ = run(path, "--format", "json")
    (reason,) = json.loads(result.out)["reasons"]
    assert (reason["code"], reason["count"]) == ("missing", 2)
    assert (reason["example"]["file"], reason["example"]["line"]) == (str(path), 2)
    assert json.loads(reason["example"]["raw"]) == NO_ROOM


def test_run_names_the_contract_whose_mapping_rejects(run, write):
    result, _, refused = run(write("e.jsonl", _lines(GOOD, BRAND)))
    assert [(one["contract"], one["faults"][0]["path"]) for one in refused] == [("fire", "level")]
    assert "  rejected 1 × contract fire, event b: level the mapping gives no value" in result.out


@pytest.mark.parametrize(
    ("records", "choice", "code"),
    [
        ((NO_ROOM, TEXT_HEAT), None, 1),
        ((BRAND,), None, 1),
        ((GOOD, NO_ROOM), None, 0),
        ((), None, 0),
        ((NO_ROOM,), "never", 0),
        ((GOOD, NO_ROOM), "any", 1),
        ((GOOD,), "any", 0),
    ],
)
def test_exit_code_when_records_are_rejected(run, comity, write, records, choice, code):
    path = write("e.jsonl", _lines(*records))
    options = ("--fail-on-rejected", choice) if choice else ()
    assert run(path, *options)[0].code == code
    backtest = ("backtest", CITY, "--events", path, "--profile", "serious_fires", "--engine", "local", *options)
    assert comity(*backtest).code == code


@pytest.mark.parametrize(
    ("records", "options", "code"),
    [
        ((NO_ROOM, TEXT_HEAT), (), 1),
        ((GOOD, NO_ROOM), (), 0),
        ((NO_ROOM,), ("--fail-on-rejected", "never"), 0),
        ((GOOD, NO_ROOM), ("--fail-on-rejected", "any"), 1),
    ],
)
def test_exit_code_of_a_stream_that_ends(comity, write, records, options, code):
    path = write("events/e.jsonl", _lines(*records))
    stream = ("--engine", "local", "--stream", "--until-empty")
    result = comity("run", CITY, "--events", path.parent, "--out", "out", *stream, *options)
    assert result.code == code
    assert f"  rejected 1 × {path}:{records.index(NO_ROOM) + 1}: room a mandatory attribute is missing" in result.out


@pytest.mark.parametrize(("options", "code"), [((), 1), (("--fail-on-rejected", "never"), 0)])
@pytest.mark.parametrize("command", ["match", "detect"])
def test_match_and_detect_fail_when_nothing_was_accepted(comity, write, command, options, code):
    write("e.jsonl", _lines(FIRE | {"id": ""}) + "{\n[1]\n[2]\n")
    result = comity(command, write("p.txt", "hot: heat > 1\n"), "e.jsonl", *options)
    assert result.code == code
    assert "4 of 4 records were rejected\n  2 × e.jsonl:3: the line is not a JSON object [not-an-object]" in result.err


def test_backtest_tells_the_reasons(comity, write):
    path = write("e.jsonl", _lines(GOOD, NO_ROOM))
    options = ("--profile", "serious_fires", "--engine", "local")
    shown = comity("backtest", CITY, "--events", path, *options).out
    assert f"  rejected 1 × {path}:2: room a mandatory attribute is missing [missing]\n" in shown
    told = json.loads(comity("backtest", CITY, "--events", path, *options, "--format", "json").out)
    assert [(one["code"], one["count"], one["example"]["line"]) for one in told["reasons"]] == [("missing", 1, 2)]
