"""What a federation offers, and who sees what."""

from __future__ import annotations

import pytest

from comity.errors import Misuse
from comity.federation import load
from comity.federation.discovery import discover

FILES = {
    "federation.yaml": "federation: city",
    "house.yaml": """
domain: house
description: A house.
types:
  Fire:
    attributes:
      heat: {kind: float, unit: degC, concept: Temperature}
      place: {kind: struct, attributes: {room: string}}
  Secret: {attributes: {code: string}}
publish: [Fire]
sources: {sensors: {files: events}}
""",
    "station.yaml": "domain: station\ntypes: {Incident: {attributes: {degrees: float degF}}}",
    "fire.yaml": """
contract: fire
version: 2
authority: station
types: {Alarm: {attributes: {heat: float degC}}}
members: {house: {type: Fire, map: {heat: heat}}}
observers: {station: {type: Incident, map: {degrees: heat}}}
earlier: [{version: 1, types: {Alarm: {attributes: {heat: float kelvin}}}, upgrade: {heat: heat}}]
""",
}


@pytest.fixture
def federation(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return load(tmp_path)


def test_discover_tells_types_with_their_meaning(federation):
    (house,) = discover(federation, "house").as_dict()["domains"]
    assert [(one["name"], one["contracts"]) for one in house["types"]] == [("house.Fire", ["fire"])]
    assert house["types"][0]["attributes"] == {
        "heat": {"kind": "float", "unit": "degC", "concept": "Temperature"},
        "place": {"kind": "struct", "attributes": {"room": {"kind": "string"}}},
    }
    assert house["sources"] == [{"name": "sensors", "kind": "files"}]


def test_discover_hides_what_is_not_published(federation):
    told = discover(federation).as_dict()
    assert told["domains"][0]["withheld"] == ["Secret"]
    assert "code" not in str(told)


def test_discover_tells_contracts_and_who_sees_them(federation):
    told = discover(federation).as_dict()
    (contract,) = told["contracts"]
    assert (contract["kind"], contract["version"], contract["earlier"]) == ("global", 2, [1])
    assert (contract["authority"], contract["members"]) == ("station", {"house": ["house.Fire"]})
    assert contract["observers"] == {"station": ["station.Incident"]}
    sees = {one["name"]: one["sees"] for one in told["domains"]}
    assert sees == {"house": [], "station": [{"contract": "fire", "type": "fire.Alarm", "as": "station.Incident"}]}
    assert all(one["may_read"] == ["fire.Alarm"] for one in told["domains"])


def test_discover_inside_a_federation_inside_another(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "street" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("federation: city", "federation: street\nboundary: [fire]"))
    (tmp_path / "federation.yaml").write_text("federation: city")
    (tmp_path / "police.yaml").write_text("domain: police\ntypes: {Case: {attributes: {room: string}}}")
    found = discover(load(tmp_path))
    told = {one.name: (one.federation, one.may_read) for one in found.domains}
    assert told == {"police": (None, ()), "house": ("street", ("fire.Alarm",)), "station": ("street", ("fire.Alarm",))}
    assert [one.name for one in found.contracts] == ["street.fire"]
    assert discover(load(tmp_path), "police").contracts == ()


def test_discover_refuses_an_unknown_domain(federation):
    with pytest.raises(Misuse) as error:
        discover(federation, "huose")
    assert error.value.hint == "did you mean `house`?"
