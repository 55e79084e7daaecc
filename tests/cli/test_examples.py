"""`comity examples`."""

import json


def test_lists_them_with_what_they_are(comity):
    done = comity("examples", "--format", "json")
    names = {one["name"]: one["about"] for one in json.loads(done.out)}
    assert set(names) == {"active_city", "bus_location", "meta_auction", "two_houses"}
    assert "fire station" in names["two_houses"]


def test_a_copy_can_be_run(comity, tmp_path):
    assert comity("examples", "two_houses", "--to", "mine").code == 0
    assert comity("lint", "mine").code == 0
    assert (tmp_path / "mine" / "events" / "house_a.jsonl").is_file()


def test_an_unknown_one_is_refused_with_those_there_are(comity):
    done = comity("examples", "three_houses")
    assert done.code == 2
    assert "unknown-example" in done.err
    assert "two_houses" in done.err


def test_nothing_is_overwritten(comity, tmp_path):
    (tmp_path / "mine").mkdir()
    done = comity("examples", "two_houses", "--to", "mine")
    assert done.code == 2
    assert not list((tmp_path / "mine").iterdir())
