"""What a change of a federation breaks, found by loading the old mappings and profiles with the new types."""

from __future__ import annotations

import json

import pytest

from comity.errors import ComityError, Misuse
from comity.federation.difference import difference

HOUSE = {
    "domain": "house",
    "types": {
        "Fire": {"attributes": {"room": "string", "heat": "float degF"}},
        "Leak": {"attributes": {"room": "string"}},
    },
}
STATION = {
    "domain": "station",
    "types": {"Incident": {"attributes": {"where": "string", "temperature": "float degC"}}},
}
CONTRACT = {
    "contract": "fire",
    "types": {"Alarm": {"attributes": {"room": "string", "temperature": "float kelvin", "note": "string?"}}},
    "members": {"house": {"type": "Fire", "map": {"room": "room", "temperature": "heat"}}},
    "observers": {"station": {"type": "Incident", "map": {"where": "room", "temperature": "temperature"}}},
}
PROFILES = {
    "profiles": {
        "hot": {"domain": "station", "on": "Incident", "where": "temperature > 60 degC"},
        "direct": {"domain": "station", "on": "fire.Alarm", "where": "temperature > 333 and room = 'attic'"},
        "in_degrees": {"domain": "station", "on": "fire.Alarm", "where": "temperature > 60 degC"},
    }
}
FILES = {"house.yaml": HOUSE, "station.yaml": STATION, "fire.yaml": CONTRACT, "profiles.yaml": PROFILES}
ALARM = {"room": "string", "temperature": "float kelvin", "note": "string?"}


def _contract(attributes, **more):
    return {**CONTRACT, "types": {"Alarm": {"attributes": attributes}}, **more}


@pytest.fixture
def compare(tmp_path):
    """The difference between the federation above and one with other files; None takes a file away."""

    def write(folder, files):
        for name, data in files.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if data is not None:
                path.write_text(data if isinstance(data, str) else json.dumps(data))

    def compare(**files):
        write("old", {"federation.yaml": {"federation": "city"}, **FILES})
        write("new", {"federation.yaml": {"federation": "city"}, **FILES, **{f"{k}.yaml": v for k, v in files.items()}})
        return difference(tmp_path / "old", tmp_path / "new")

    return compare


def _changed(found):
    return {(one.code, str(one.effect)) for one in found.changes}


def _broken(found):
    return {(one.role, one.name, one.mended) for one in found.broken}


def test_difference_of_equal_federations(compare):
    found = compare()
    assert (found.changes, found.broken, found.versions, found.breaks) == ((), (), (), False)


def test_difference_of_an_additive_change(compare):
    found = compare(fire=_contract({**ALARM, "level": "int?"}, version=2))
    assert _changed(found) == {("attribute-added", "additive")}
    assert not found.breaks
    assert [(one.old, one.new, one.suggested) for one in found.versions] == [(1, 2, 2)]


def test_difference_of_a_removed_attribute_names_everybody_who_used_it(compare):
    found = compare(fire=_contract({"room": "string", "note": "string?"}))
    assert _changed(found) == {("attribute-removed", "breaking")}
    assert _broken(found) == {
        ("member", "house", False),
        ("observer", "station", False),
        ("profile", "direct", False),
        ("profile", "in_degrees", False),
        ("profile", "hot", False),  # it fits, but its observer does not
    }
    assert "has no attribute 'temperature'" in found.broken[0].reason
    assert found.breaks


def test_difference_of_a_removed_attribute_that_nobody_uses_still_asks_for_a_migration(compare):
    found = compare(fire=_contract({"room": "string", "temperature": "float kelvin"}))
    assert found.broken == ()
    assert found.breaks


def test_difference_of_a_unit_finds_bare_numbers_only(compare):
    found = compare(fire=_contract({**ALARM, "temperature": "float degC"}))
    assert _changed(found) == {("unit-changed", "breaking")}
    assert [(one.role, one.name) for one in found.broken] == [("profile", "direct")]
    assert found.broken[0].reason == "its bare number for temperature was in kelvin, and now is in degC"


def test_difference_of_a_unit_finds_constants_of_members(compare):
    constant = {"house": {"type": "Fire", "map": {"room": "room", "temperature": "300"}}}
    FILES["fire.yaml"] = {**CONTRACT, "members": constant}
    try:
        found = compare(fire=_contract({**ALARM, "temperature": "float degC"}, members=constant))
    finally:
        FILES["fire.yaml"] = CONTRACT
    assert ("member", "house") in {(one.role, one.name) for one in found.broken}


def _renamed(**more):
    return _contract(
        {"room": "string", "heat": "float kelvin", "note": "string?"},
        version=2,
        members={"house": {"type": "Fire", "map": {"room": "room", "heat": "heat"}}},
        observers={"station": {"type": "Incident", "map": {"where": "room", "temperature": "heat"}}},
        **more,
    )


EARLIER = {
    "version": 1,
    "types": {"Alarm": {"attributes": ALARM}},
    "upgrade": {"room": "room", "heat": "temperature", "note": "note"},
    "downgrade": {"room": "room", "temperature": "heat", "note": "note"},
}


def test_difference_of_a_renamed_attribute_that_the_new_version_mends(compare):
    found = compare(fire=_renamed())
    assert ("attribute-renamed", "breaking") in _changed(found)
    assert _broken(found) == {
        ("member", "house", True),
        ("observer", "station", True),
        ("profile", "direct", False),
        ("profile", "in_degrees", False),
    }
    assert found.breaks


def test_difference_with_a_migration_breaks_only_who_does_not_go_through_it(compare):
    on_old = {"profiles": {"hot": PROFILES["profiles"]["hot"]}}
    FILES["profiles.yaml"] = on_old
    try:
        found = compare(fire=_renamed(earlier=[EARLIER]))
        wrong = {
            **EARLIER,
            "types": {"Alarm": {"attributes": {**ALARM, "note": "int?"}}},
            "upgrade": {**EARLIER["upgrade"]},
        }
        del wrong["upgrade"]["note"], wrong["downgrade"]
        other = compare(fire=_renamed(earlier=[{**wrong, "downgrade": {"room": "room", "temperature": "heat"}}]))
    finally:
        FILES["profiles.yaml"] = PROFILES
    assert (found.broken, found.breaks) == ((), False)
    assert [one.migrated for one in found.versions] == [True]
    assert [one.migrated for one in other.versions] == [False]  # that was never version 1
    assert other.breaks


def test_difference_of_a_migration_without_a_way_back_breaks_observers(compare):
    one_way = {key: value for key, value in EARLIER.items() if key != "downgrade"}
    found = compare(fire=_renamed(earlier=[one_way]))
    assert ("observer", "station", True) in _broken(found)
    assert not [one for one in found.broken if one.role == "member"]


def test_difference_of_domain_types(compare):
    renamed = {**HOUSE, "types": {"Fire": {"attributes": {"room": "string", "temp": "float degF"}}}}
    found = compare(house=renamed)
    assert {"type-removed", "attribute-renamed"} <= {code for code, _ in _changed(found)}
    assert _broken(found) == {("member", "house", False)}
    assert found.breaks
    mended = {**CONTRACT, "members": {"house": {"type": "Fire", "map": {"room": "room", "temperature": "temp"}}}}
    found = compare(house=renamed, fire=mended)
    assert _broken(found) == {("member", "house", True)}
    assert not found.breaks  # the contract is as it was, and the member follows


def test_difference_of_a_domain_that_leaves(compare):
    found = compare(house=None, fire={**CONTRACT, "members": {}})
    assert {"domain-removed", "member-removed"} <= {code for code, _ in _changed(found)}
    assert ("member", "house", False) in _broken(found)


def test_who_takes_part_is_no_matter_of_versions(compare):
    left = compare(fire={**CONTRACT, "members": {}})
    assert _changed(left) == {("member-removed", "breaking")}
    assert [(one.contract, one.suggested, one.breaks) for one in left.versions] == [("fire", 1, False)]
    assert not left.breaks
    joined = {
        **CONTRACT["members"],
        "station": {"type": "Incident", "map": {"room": "where", "temperature": "temperature"}},
    }
    assert [one.suggested for one in compare(fire={**CONTRACT, "members": joined}).versions] == [1]


def test_difference_of_an_observer_that_leaves_silences_its_profiles(compare):
    found = compare(fire={**CONTRACT, "observers": {}})
    assert _changed(found) == {("observer-removed", "breaking")}
    assert _broken(found) == {("profile", "hot", False)}
    assert found.broken[0].reason == "hears nothing any more of the contract fire"


def test_difference_of_new_members_types_contracts_and_profiles(compare):
    more = {**CONTRACT, "contract": "leak", "types": {"Leak": {"attributes": {"room": "string"}}}, "observers": {}}
    more["members"] = {"house": {"type": "Leak", "map": {"room": "room"}}}
    other = {**HOUSE, "domain": "house_2"}
    joined = {**CONTRACT["members"], "house_2": CONTRACT["members"]["house"]}
    profile = {"profiles": {"all": {"domain": "station", "on": "leak.Leak"}}}
    found = compare(leak=more, house_2=other, fire={**CONTRACT, "members": joined}, more=profile)
    assert _changed(found) == {
        ("domain-added", "additive"),
        ("contract-added", "additive"),
        ("member-added", "additive"),
        ("profile-added", "additive"),
    }
    assert not found.breaks


def test_difference_in_a_federation_inside_another(tmp_path):
    for folder in ("old", "new"):
        for name, data in {
            "federation.yaml": {"federation": "city"},
            "s/federation.yaml": {"federation": "street"},
        }.items():
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(data))
        for name, data in FILES.items():
            (tmp_path / folder / "s" / name).write_text(json.dumps(data))
    (tmp_path / "new/s/fire.yaml").write_text(json.dumps(_contract({"room": "string", "note": "string?"})))
    found = difference(tmp_path / "old", tmp_path / "new")
    assert ("member", "house", "street.fire") in {(one.role, one.name, one.contract) for one in found.broken}
    assert [one.contract for one in found.versions] == ["street.fire"]


def test_difference_finds_files_that_a_contract_names(compare, tmp_path):
    with_table = {**CONTRACT, "tables": {"t": {"file": "t.csv", "key": "a", "value": "b"}}}
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "t.csv").write_text("a,b\nx,1\n")
    FILES["fire.yaml"] = with_table
    try:
        found = compare(fire={**with_table, "types": _contract({**ALARM, "level": "int?"})["types"]})
    finally:
        FILES["fire.yaml"] = CONTRACT
    assert (_changed(found), found.broken) == ({("attribute-added", "additive")}, ())


def test_difference_of_two_files_of_one_contract(compare, tmp_path):
    compare()
    later = tmp_path / "later.yaml"
    later.write_text(json.dumps(_contract({"room": "string", "note": "string?"})))
    found = difference(tmp_path / "old/fire.yaml", later)
    assert ("observer", "station", False) in _broken(found)
    beside = tmp_path / "old/later.yaml"
    later.rename(beside)
    assert difference(tmp_path / "old/fire.yaml", beside) == found


def test_difference_refuses_what_is_no_federation(compare, tmp_path):
    compare()
    with pytest.raises(Misuse) as error:
        difference(tmp_path / "old", tmp_path / "old/fire.yaml")
    assert error.value.code == "bad-usage"
    with pytest.raises(Misuse) as error:
        difference(tmp_path / "old/house.yaml", tmp_path / "old/fire.yaml")
    assert error.value.code == "not-a-contract"
    lonely = tmp_path / "lonely.yaml"
    lonely.write_text(json.dumps(CONTRACT))
    with pytest.raises(Misuse) as error:
        difference(lonely, lonely)
    assert error.value.code == "no-federation"
    with pytest.raises(ComityError):
        difference(tmp_path / "old", tmp_path / "nowhere")
    with pytest.raises(ComityError) as failure:
        compare(house={**HOUSE, "types": {"Fire": {"attributes": {"heat": "flaot"}}}})
    assert str(tmp_path / "new/house.yaml") in str(failure.value)
    with pytest.raises(ComityError) as failure:
        compare(fire={**CONTRACT, "earlier": {"1": {}}})
    assert str(tmp_path / "new/fire.yaml:1:") in str(failure.value)


def test_a_mapping_that_is_written_in_another_way_did_not_change(compare):
    members = {"house": {"type": "Fire", "map": {"temperature": "(heat)", "room": "room"}}}
    assert compare(fire={**CONTRACT, "members": members}).changes == ()


def test_a_mapping_that_says_something_else_did(compare):
    members = {"house": {"type": "Fire", "map": {"room": "lower(room)", "temperature": "heat"}}}
    found = compare(fire={**CONTRACT, "members": members})
    assert [(one.code, one.path) for one in found.changes] == [("mapping-changed", "house")]
