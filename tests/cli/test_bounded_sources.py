"""Runs over stored events, of sources that come to an end."""

import json

import pytest

EVENTS = [
    {"specversion": "1.0", "id": str(number), "source": "/p", "type": "plant.Reading", "time": "2026-01-01T00:00:00Z"}
    | {"data": {"n": number}}
    for number in range(3)
]


@pytest.fixture
def federation(write):
    """A federation whose domain has the given sources."""

    def federation(**sources):
        domain = {"domain": "plant", "types": {"Reading": {"attributes": {"n": "int"}}}, "sources": sources}
        write("f/plant.yaml", json.dumps(domain))
        write("f/profiles.yaml", "profiles: {big: {domain: plant, on: Reading, where: n > 0}}")
        return "f"

    return federation


def test_run_reads_a_source_that_ends_to_its_end(comity, federation, tmp_path):
    folder = federation(machine={"memory": {"items": [*EVENTS, "no event"]}})
    result = comity("run", folder, "--engine", "local", "--out", "out", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["delivered"] == {"big": 2}
    assert (tmp_path / "out" / "rejected").is_dir()
    assert json.loads(result.out)["rejected"] == 1


def test_run_leaves_out_what_is_live_and_reads_the_rest(comity, federation):
    folder = federation(machine={"memory": EVENTS}, other={"memory": {"items": EVENTS, "live": True}})
    result = comity("run", folder, "--engine", "local", "--out", "out", "--format", "json")
    assert json.loads(result.out)["delivered"] == {"big": 2}
    assert "left out, since they are read by streams only: plant/other" in result.err


def test_run_refuses_sources_that_are_all_live(comity, federation, tmp_path):
    result = comity("run", federation(other={"memory": {"items": EVENTS, "live": True}}), "--out", "out")
    assert result.code == 2
    assert "live-source" in result.err
    assert not (tmp_path / "out").exists()
