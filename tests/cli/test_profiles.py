"""`comity profiles`, as its users call it."""

import json
import shutil
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
NEW = ("--domain", "fire_station", "--on", "Incident", "--where", "where_inside = 'cellar'")


@pytest.fixture
def city(tmp_path):
    return shutil.copytree(EXAMPLE, tmp_path / "city")


def _names(comity, city):
    return [one["name"] for one in json.loads(comity("profiles", "list", city, "--format", "json").out)["profiles"]]


def test_add_list_remove(comity, city):
    added = comity("profiles", "add", city, "cellar", *NEW, "--description", "Down there.")
    assert added.code == 0
    assert "cellar: added, up to" in added.out
    assert "a running stream takes it up with its next batch" in added.err
    assert _names(comity, city) == ["serious_fires", "main_street", "cellar"]
    shown = comity("profiles", "list", city)
    assert "cellar  fire_station on fire_station.Incident" in shown.out
    assert "fire_station.yaml:12" in shown.out
    assert comity("profiles", "remove", city, "cellar", "main_street").code == 0
    assert _names(comity, city) == ["serious_fires"]


def test_list_as_json(comity, city):
    first = json.loads(comity("profiles", "list", city, "--format", "json").out)["profiles"][0]
    assert first.pop("cost_ns") > 0
    assert first == {
        "name": "serious_fires",
        "domain": "fire_station",
        "on": "fire_station.Incident",
        "where": "temperature > 60 degC and level >= 2",
        "file": str(city / "profiles" / "fire_station.yaml"),
        "line": 2,
    }


def test_dry_run_shows_the_change_and_makes_none(comity, city):
    result = comity("profiles", "add", city, "cellar", *NEW, "--dry-run")
    assert result.code == 0
    assert "+  cellar:\n" in result.out
    assert "nothing was written" in result.err
    told = json.loads(comity("profiles", "remove", city, "main_street", "--dry-run", "--format", "json").out)
    assert told["done"] is False
    assert "-  main_street:\n" in told["diff"]
    assert _names(comity, city) == ["serious_fires", "main_street"]


def test_refused_with_place_and_hint(comity, city):
    result = comity(
        "profiles", "add", city, "a", "--domain", "fire_station", "--on", "Incident", "--where", "levle > 1"
    )
    assert result.code == 2
    assert "fire_station.yaml:15:12" in result.err
    assert "did you mean" in result.err
    again = comity("profiles", "add", city, "main_street", *NEW, "--format", "json")
    (error,) = json.loads(again.err)["errors"]
    assert (again.code, error["code"], error["line"]) == (2, "duplicate-profile", 7)
    assert "--replace" in error["hint"]
    assert comity("profiles", "remove", city, "nope").code == 2


def test_replace(comity, city):
    assert comity("profiles", "add", city, "main_street", *NEW, "--replace").code == 0
    listed = json.loads(comity("profiles", "list", city, "--format", "json").out)["profiles"]
    assert listed[1]["where"] == "where_inside = 'cellar'"


def test_many_from_a_file_all_or_nothing(comity, city, write):
    good = "profiles:\n  a: {domain: fire_station, on: Incident}\n  b: {domain: house_a, on: WaterLeak}\n"
    bad = write("bad.yaml", good + "  c: {domain: house_a, on: WaterLeek}\n")
    refused = comity("profiles", "add", city, "--from", bad)
    assert (refused.code, _names(comity, city)) == (2, ["serious_fires", "main_street"])
    assert f"{bad}:4:28" in refused.err
    done = comity("profiles", "add", city, "--from", write("good.yaml", good), "--format", "json")
    assert json.loads(done.out)["profiles"] == ["a", "b"]
    assert _names(comity, city) == ["serious_fires", "main_street", "a", "b"]


def test_many_from_standard_input(start, city):
    process = start("profiles", "add", str(city), "--from", "-", stdin=-1)
    out, err = process.communicate(b"profiles:\r\n  a: {domain: house_a, on: WaterLeak, where: litres > 1}\r\n", 60)
    assert (process.returncode, out.startswith(b"a: added")) == (0, True), err
    process = start("profiles", "add", str(city), "--from", "-", stdin=-1)
    _, err = process.communicate(b"profiles: {x: {domain: house_a, on: Nope}}", 60)
    assert process.returncode == 2
    assert b"standard input:1:37" in err


@pytest.mark.parametrize(
    "arguments",
    [["a", "--on", "Incident"], ["a", "--domain", "fire_station"], [*NEW], ["a", *NEW, "--from", "p.yaml"]],
)
def test_incomplete_options(comity, city, arguments):
    result = comity("profiles", "add", city, *arguments)
    assert result.code == 2
    assert "[bad-usage]" in result.err


def test_two_at_once_lose_nothing(start, city):
    calls = [start("profiles", "add", str(city), f"p{number}", *NEW) for number in range(3)]
    for call in calls:
        _, err = call.communicate(timeout=120)
        assert call.returncode == 0, err
    text = (city / "profiles" / "fire_station.yaml").read_text()
    assert all(f"\n  p{number}:\n" in text for number in range(3))


def test_a_folder_that_is_none(comity):
    for command in (["list"], ["remove", "a"]):
        result = comity("profiles", command[0], "nowhere", *command[1:])
        assert result.code == 2
        assert "no-such-directory" in result.err


@pytest.mark.parametrize("name", ["add", "remove", "list"])
def test_help_shows_an_example(comity, name):
    assert f"comity profiles {name}" in comity("profiles", name, "--help").out.split("Example", 1)[1]
