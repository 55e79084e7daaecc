import json
import shutil
from pathlib import Path

import pytest

HOUSES = Path(__file__).parents[2] / "examples" / "two_houses"
PAIR = ("house_a.FireDetected", "house_b.Brand")


@pytest.fixture
def houses(tmp_path):
    shutil.copytree(HOUSES, tmp_path / "houses")
    return "houses"


def test_suggest_prints_a_contract_file_that_loads(comity, houses, tmp_path):
    result = comity("contract", "suggest", houses, *PAIR)
    assert result.code == 0
    assert "heat: celsius" in result.out
    assert "of 100" in result.out
    assert "of them sure: 2" in result.err
    (tmp_path / houses / "contracts" / "proposed.yaml").write_text(result.out)
    assert comity("lint", houses).code == 0


def test_suggest_writes_a_file_and_refuses_to_overwrite_it(comity, houses, tmp_path):
    out = tmp_path / houses / "contracts" / "both.yaml"
    result = comity("contract", "suggest", houses, *PAIR, "--out", out, "--name", "both")
    assert (result.code, result.out) == (0, "")
    assert "contract: both\n" in out.read_text()
    assert comity("lint", houses).code == 0
    again = comity("contract", "suggest", houses, *PAIR, "--out", out, "--name", "other")
    assert again.code == 2
    assert "file-exists" in again.err


def test_suggest_as_json_with_samples(comity, houses):
    result = comity("contract", "suggest", houses, *PAIR, "--events", f"{houses}/events", "--format", "json")
    told = json.loads(result.out)
    assert [(one["name"], one["sure"]) for one in told["attributes"]] == [("room", True), ("heat", True)]
    assert told["attributes"][1]["right"] == {"from": ["celsius"], "expression": "celsius"}
    assert {one["code"] for one in told["decisions"]} == {"codes-differ", "unmatched"}
    assert told["yaml"].startswith("# Proposed")


def test_suggest_with_paired_samples_fills_a_table(comity, write):
    write("f/a.yaml", "domain: a\ntypes: {T: {attributes: {level: int}}}")
    write("f/b.yaml", "domain: b\ntypes: {T: {attributes: {level: string}}}")
    line = '{"id": "%s", "source": "/%s", "type": "%s.T", "time": "2026-11-15T18:00:00Z", "data": {"level": %s}}\n'
    rows = [("1", 1, "low"), ("2", 3, "high"), ("3", 1, "low")]
    content = "".join(
        line % (id, "a", "a", left) + line % (id, "b", "b", json.dumps(right)) for id, left, right in rows
    )
    write("samples.jsonl", content)
    found = comity("contract", "suggest", "f", "a.T", "b.T", "--events", "samples.jsonl", "--paired")
    assert "level_codes: {low: 1, high: 3}" in found.out
    assert "level: \"lookup('level_codes', level)\"" in found.out
    assert "level_codes:" not in comity("contract", "suggest", "f", "a.T", "b.T", "--events", "samples.jsonl").out


def test_suggest_refuses_a_type_that_is_not_published(comity, write):
    write("f/a.yaml", "domain: a\ntypes: {T: {attributes: {x: int}}, U: {attributes: {x: int}}}\npublish: [U]")
    write("f/b.yaml", "domain: b\ntypes: {T: {attributes: {x: int}}}")
    result = comity("contract", "suggest", "f", "a.T", "b.T")
    assert result.code == 2
    assert "add T to `publish` in the file of a" in result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("house_a.FireDetected", "house_b.Brandt"), "unknown-type"),
        (("house_a.FireDetected", "fire.FireAlarm"), "contract-of-contracts"),
        (("house_a.FireDetected", "house_a.WaterLeak"), "one-domain-contract"),
        ((*PAIR, "--name", "fire"), "bad-name"),
        ((*PAIR, "--name", "a b"), "bad-name"),
        ((*PAIR, "--events", "nowhere"), "no-such-file"),
    ],
)
def test_suggest_refuses_what_makes_no_contract(comity, houses, arguments, code):
    result = comity("contract", "suggest", houses, *arguments, "--format", "json")
    assert result.code == 2
    assert json.loads(result.err)["errors"][0]["code"] == code
