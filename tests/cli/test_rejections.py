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
