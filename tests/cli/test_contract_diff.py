import json
import shutil
from pathlib import Path

import pytest

HOUSES = Path(__file__).parents[2] / "examples" / "two_houses"


@pytest.fixture
def change(tmp_path):
    """The example twice, the new one with texts of its contract changed."""
    for name in ("old", "new"):
        shutil.copytree(HOUSES, tmp_path / name)
    contract = tmp_path / "new" / "contracts" / "fire.yaml"

    def change(old, new):
        text = contract.read_text()
        assert old in text
        contract.write_text(text.replace(old, new))

    return change


def test_diff_of_the_same(comity, change):
    result = comity("contract", "diff", "old", "new")
    assert (result.code, result.out) == (0, "nothing changed\n")
    assert "nothing breaks" in result.err


def test_diff_of_an_additive_change(comity, change):
    change("      level: int\n", "      level: int\n      note: string?\n")
    result = comity("contract", "diff", "old", "new")
    assert result.code == 0
    assert "additive  fire.FireAlarm: note (string?) is new, and optional" in result.out
    assert "version   fire: make it version 2, it was 1" in result.out


def test_diff_of_a_breaking_change_that_breaks_nobody(comity, change, tmp_path):
    domain = tmp_path / "old" / "domains" / "house_a.yaml"
    domain.write_text(domain.read_text() + "  Bell:\n    attributes: {door: string, note: string}\n")
    (tmp_path / "new" / "domains" / "house_a.yaml").write_text(domain.read_text().replace("note: string", "note: int"))
    result = comity("contract", "diff", "old", "new")
    assert (result.code, result.out) == (0, "breaking  house_a.Bell: note was string, is int\n")
    assert "nobody in this federation breaks" in result.err


def test_diff_of_a_breaking_change_names_whom_it_breaks_and_what_to_do(comity, change):
    change("      level: int\n", "")
    result = comity("contract", "diff", "old", "new")
    assert result.code == 1
    assert "breaking  fire.FireAlarm: level (int) is gone" in result.out
    assert "broken    member house_a of the contract fire: FireAlarm has no attribute 'level'" in result.out
    assert "broken    observer fire_station of the contract fire: FireAlarm has no attribute 'level'" in result.out
    assert "broken    profile serious_fires: hears nothing any more of the contract fire" in result.out
    assert "make it version 2, and put version 1 under `earlier: [{version: 1," in result.out
    assert "would break" in result.err


def test_diff_as_json(comity, change):
    change("temperature: float kelvin", "temperature: float degC")
    result = comity("contract", "diff", "old", "new", "--format", "json")
    told = json.loads(result.out)
    assert (result.code, told["breaks"]) == (1, True)
    assert [one["code"] for one in told["changes"]] == ["unit-changed"]
    assert told["versions"] == [
        {"contract": "fire", "old": 1, "new": 1, "suggested": 2, "migrated": False, "breaks": True}
    ]


def test_diff_of_contract_files(comity, change, tmp_path):
    change("      level: int\n", "      level: int\n      note: string?\n")
    result = comity("contract", "diff", "old/contracts/fire.yaml", "new/contracts/fire.yaml")
    assert result.code == 0
    assert "note" in result.out


def test_diff_of_bad_input(comity, change, write):
    assert comity("contract", "diff", "old", "nowhere").code == 2
    write("new/domains/house_a.yaml", "domain: [")
    result = comity("contract", "diff", "old", "new")
    assert result.code == 2
    assert "house_a.yaml" in result.err
