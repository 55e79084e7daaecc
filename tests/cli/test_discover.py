import json
from pathlib import Path

HOUSES = Path(__file__).parents[2] / "examples" / "two_houses"


def test_discover_lists_domains_and_contracts(comity):
    result = comity("discover", HOUSES)
    assert result.code == 0
    assert "  offers FireDetected  goes to fire\n    room: string\n    heat: float degF\n" in result.out
    assert "  sees fire.FireAlarm as Incident\n" in result.out
    assert "contract fire  What a house tells the city about a fire.\n" in result.out
    assert "  member house_b  Brand\n  observer fire_station  Incident\n" in result.out


def test_discover_one_domain_as_json(comity):
    told = json.loads(comity("discover", HOUSES, "--domain", "fire_station", "--format", "json").out)
    assert [one["name"] for one in told["domains"]] == ["fire_station"]
    assert [one["name"] for one in told["contracts"]] == ["fire"]


def test_discover_says_what_is_kept_back(comity, write):
    write("f/a.yaml", "domain: a\ntypes: {T: {attributes: {x: int}}, U: {attributes: {secret: int}}}\npublish: [T]\n")
    out = comity("discover", "f").out
    assert "  keeps to itself U\n" in out
    assert "secret" not in out


def test_discover_of_an_unknown_domain(comity):
    result = comity("discover", HOUSES, "--domain", "fire_statoin")
    assert result.code == 2
    assert "did you mean `fire_station`?" in result.err
