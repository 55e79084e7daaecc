"""`comity backtest`: what a profile would have sent."""

import json
from pathlib import Path

import pytest

CITY = Path(__file__).parents[2] / "examples" / "two_houses"
BASE = ("backtest", CITY, "--events", CITY / "events")
HERE = ("--engine", "local")


def _report(comity, *arguments):
    result = comity(*BASE, *arguments, "--format", "json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def _ids(folder):
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    return sorted((json.loads(line)["profile"], json.loads(line)["id"]) for line in lines)


def test_text(comity):
    result = comity(*BASE, "--profile", "serious_fires", *HERE)
    assert result.code == 0
    assert result.out.startswith("serious_fires would have sent 2 notifications\n")
    assert "  house_a.FireDetected by contract fire: 1\n" in result.out
    assert "first 2026-11-15T18:03:40.250000Z, last 2026-11-15T18:04:00Z\n" in result.out
    assert "█" in result.out
    assert '"where_inside": "kitchen"' in result.out
    assert all(len(line) <= 72 for line in result.out.splitlines() if "█" in line)


def test_json(comity):
    report = _report(comity, "--profile", "serious_fires", *HERE, "--bucket", "1h")
    assert (report["sent"], report["bucket_s"]) == (2, 3_600)
    assert report["buckets"] == [{"from": "2026-11-15T18:00:00Z", "sent": 2}]
    assert [example["profile"] for example in report["examples"]] == ["serious_fires"] * 2


def test_period(comity):
    report = _report(comity, "--profile", "serious_fires", *HERE, "--from", "2026-11-15T18:04:00Z")
    assert [example["id"] for example in report["examples"]] == ["b-1"]
    report = _report(comity, "--profile", "serious_fires", *HERE, "--to", "2026-11-15")
    assert (report["sent"], report["buckets"], report["busiest"]) == (0, [], None)


def test_a_profile_that_is_in_no_file(comity):
    before = sorted(path.name for path in CITY.rglob("*"))
    new = ("--profile", "cellar", "--domain", "house_a", "--on", "Alarm", "--where", "room = 'cellar'")
    assert _report(comity, *new, *HERE)["sent"] == 1
    assert "comity profiles add" in comity(*BASE, *new, *HERE).err
    assert sorted(path.name for path in CITY.rglob("*")) == before
    wrong = comity(*BASE, *new[:-1], "rom = 'cellar'", *HERE)
    assert (wrong.code, "unknown-attribute" in wrong.err) == (2, True)


def test_another_filter_for_a_profile_that_is_there(comity):
    assert _report(comity, "--profile", "serious_fires", "--where", "level >= 1", *HERE)["sent"] > 2


def test_out_keeps_what_was_sent(comity, tmp_path):
    out = tmp_path / "out"
    result = comity(*BASE, "--profile", "serious_fires", *HERE, "--out", out)
    assert result.code == 0
    assert "--stream` goes on live and sends none of them again" in result.err
    assert _ids(out / "fire_station") == [("serious_fires", "a-2"), ("serious_fires", "b-1")]
    assert len(list((out / "rejected").iterdir())) == 1
    assert comity(*BASE, "--profile", "serious_fires", *HERE, "--out", out).code == 2
    assert comity(*BASE, "--profile", "serious_fires", *HERE, "--out", out, "--overwrite").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--profile", "nope"],
        ["--profile", "nope", "--where", "x > 1"],
        ["--profile", "serious_fires", "--from", "then"],
        ["--profile", "serious_fires", "--bucket", "often"],
    ],
)
def test_bad_input(comity, arguments):
    result = comity(*BASE, *arguments, *HERE)
    assert (result.code, result.out) == (2, "")


def test_no_events(comity, tmp_path):
    assert comity("backtest", CITY, "--events", tmp_path / "no", "--profile", "serious_fires", *HERE).code == 2


def test_spark_gives_the_same(comity, spark, tmp_path):
    options = ("--profile", "main_street", "--from", "2026-11-15T18:02:12Z")
    here = _report(comity, *options, *HERE)
    there = _report(comity, *options, "--out", tmp_path / "out")
    different = {"out", "reasons"}
    assert {key: here[key] for key in here.keys() - different} == {key: there[key] for key in here.keys() - different}
    assert [name for name, _ in _ids(tmp_path / "out" / "fire_station")] == ["main_street"] * there["sent"]
    assert there["sent"] > 0
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
