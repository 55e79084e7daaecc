"""`comity contract check` and `comity contract test`."""

import json

import pytest

HOUSE = """
domain: house
types:
  Fire:
    attributes: {street: string, number: int, heat: float degF, level: string, note: string?}
"""
STATION = """
domain: station
types:
  Alarm: {attributes: {address: string, heat: float degC}}
"""
CONTRACT = """
contract: fire
types:
  FireAlarm:
    attributes: {street: string, number: int, temperature: float kelvin, level: int, note: string?}
tables:
  levels: {low: 1, high: 3}
members:
  house:
    type: Fire
    map:
      street: street
      number: number
      temperature: heat
      level: lookup('levels', level)
      note: note
observers:
  station:
    type: Alarm
    map:
      address: street + ' ' + text(number)
      heat: temperature
"""


@pytest.fixture
def federation(write):
    write("f/house.yaml", HOUSE)
    write("f/station.yaml", STATION)
    write("f/fire.yaml", CONTRACT)
    return "f"


def checked(comity, *arguments):
    result = comity("contract", "check", *arguments, "--format", "json")
    return result.code, {one["role"]: one for one in json.loads(result.out)["mappings"]}


def test_check_tells_what_is_kept_and_lost(comity, federation):
    code, found = checked(comity, federation)
    assert code == 0
    member, observer = found["member"], found["observer"]
    assert (member["total"], member["lossless"]) == ("no", "up to rounding")
    assert "level in ('low', 'high')" in member["accepted_when"]
    assert 0 < member["relative_error"] < 1e-14
    assert member["inverse"]["number"] == "number"
    assert [one["attribute"] for one in observer["lost"]] == ["level", "note"]
    assert observer["lost"][0]["example"] is not None
    assert (observer["lossless"], observer["inverse"], observer["faithful"]) == ("no", None, False)


def test_check_prints_a_table(comity, federation):
    result = comity("contract", "check", federation)
    assert result.code == 0
    assert "contract fire, global: fire.FireAlarm\n  member house: house.Fire → fire.FireAlarm\n" in result.out
    assert "lost: level: nothing in the target depends on it, as with 7 and 8\n" in result.out
    assert "strictly rising in number" in result.out
    assert "2 mappings checked, 0 of them faithful" in result.err


def test_check_strict_leaves_with_1_when_something_is_lost(comity, federation, write):
    assert comity("contract", "check", federation, "--strict").code == 1
    write("f/fire.yaml", CONTRACT[: CONTRACT.index("observers")].replace("lookup('levels', level)", "number + 1"))
    assert comity("contract", "check", federation, "--strict").code == 1  # `level` of the house is lost
    write("f/house.yaml", HOUSE.replace("level: string, ", ""))
    assert comity("contract", "check", federation, "--strict").code == 0


def test_check_of_an_unknown_contract(comity, federation):
    result = comity("contract", "check", federation, "--contract", "fier")
    assert result.code == 2
    assert "there is no contract 'fier' [unknown-contract]" in result.err
    assert "fire" in result.err


def report_of(comity, *arguments):
    result = comity("contract", "test", *arguments, "--format", "json")
    (found,) = json.loads(result.out)["mappings"]
    return result.code, found


def test_test_sends_samples_both_ways(comity, federation):
    code, found = report_of(comity, federation, "--count", "300")
    assert (code, found["events"], found["back"], found["as_claimed"]) == (0, 300, "inverse", True)
    assert found["rounded"] > 10
    assert {one["attribute"] for one in found["rejected"]} == {"level", "temperature"}
    assert found["differences"] == []
    assert report_of(comity, federation, "--count", "300")[1] == found
    assert report_of(comity, federation, "--count", "300", "--seed", "1")[1] != found


def test_test_takes_events_of_files(comity, federation, write):
    data = {"street": "Elm", "number": 7, "heat": 86.0, "level": "high"}
    lines = [{"id": str(n), "source": "/h", "type": "house.Fire", "data": {**data, "number": n}} for n in range(3)]
    lines[2]["data"]["level"] = "other"
    write("e.jsonl", "\n".join(json.dumps(line) for line in [*lines, {"id": "x"}]))
    code, found = report_of(comity, federation, "--events", "e.jsonl")
    assert (code, found["events"], found["refused"]) == (0, 3, 1)
    result = comity("contract", "test", federation, "--events", "e.jsonl")
    assert "back through the derived inverse; 3 events, 1 rejected" in result.out
    assert "1 records are no events of the federation" in result.err


def test_test_goes_back_through_the_observer_when_there_is_no_inverse(comity, federation, write):
    text = CONTRACT.replace("street: street", "street: lower(street)").replace(
        "station:\n    type: Alarm", "house:\n    type: Fire"
    )
    observer = "    map: {street: street, number: number, heat: temperature, level: \"'low'\", note: note}\n"
    write("f/fire.yaml", text[: text.rindex("    map:")] + observer)
    code, found = report_of(comity, federation)
    assert (code, found["back"]) == (0, "house.Fire")
    reasons = {one["attribute"]: one["reason"] for one in found["differences"]}
    assert "capital letters" in reasons["street"]
    result = comity("contract", "test", federation)
    assert "back through the observer mapping to house.Fire" in result.out


WRONG = """
import comity

@comity.extension(takes=("string",), gives="string", total=True, lossless=True, inverse="back")
def there(text):
    return text.lower()

@comity.extension(takes=("string",), gives="string", total=True, lossless=True, inverse="there")
def back(text):
    return text
"""


def test_test_leaves_with_1_when_a_declaration_is_wrong(comity, federation, write):
    write("f/wrong.py", WRONG)
    text = CONTRACT[: CONTRACT.index("observers")].replace("street: street", "street: there(street)")
    write("f/fire.yaml", text.replace("tables:", "functions: {there: {file: wrong.py}}\ntables:"))
    code, found = report_of(comity, federation)
    assert (code, found["as_claimed"]) == (1, False)
    assert {one["attribute"] for one in found["differences"]} == {"street"}
    assert checked(comity, federation)[1]["member"]["declared"] == ["there"]


def test_test_without_events_in_the_file(comity, federation, write):
    write("e.jsonl", "")
    result = comity("contract", "test", federation, "--events", "e.jsonl")
    assert result.code == 2
    assert "[no-events]" in result.err


def test_test_tells_what_is_rejected_although_it_was_declared_total(comity, write):
    write("g/a.yaml", "domain: a\ntypes: {T: {attributes: {n: int}}}\n")
    body = "@comity.extension(takes=('int',), gives='int', total=True)\ndef twice(n):\n    return n * 2\n"
    write("g/own.py", f"import comity\n\n{body}")
    contract = "contract: c\ntypes: {U: {attributes: {n: int}}}\nfunctions: {twice: {file: own.py}}\n"
    write("g/c.yaml", f"{contract}members: {{a: {{type: T, map: {{n: twice(n)}}}}}}\n")
    result = comity("contract", "test", "g")
    assert result.code == 1
    assert "were said to be accepted" in result.out


def test_check_shows_two_values_that_an_attribute_does_not_tell_apart(comity, write):
    write("f/house.yaml", HOUSE)
    write("f/station.yaml", STATION)
    write("f/contract.yaml", CONTRACT.replace("street: street\n", "street: lower(street)\n"))
    out = comity("contract", "check", "f").out
    assert "loses something: 'a' and 'A' both give 'a'" in out
