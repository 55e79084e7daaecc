"""Federations written in Python: the same checks as for files, errors with paths, and back to YAML."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity import Faults, Misuse, Profile, compile_plan, load
from comity.document import parse_document, plain, write_yaml
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.testing.federations import federation_texts, write_texts

EXAMPLES = sorted(path.parent for path in (Path(__file__).parents[2] / "examples").glob("*/federation.yaml"))

NORTH = {"types": {"Fire": {"attributes": {"heat": "float degC", "room": "string"}}}}
SOUTH = {"types": {"Blaze": {"attributes": {"warmth": "float [degF]"}}}}
STATION = {"types": {"Alarm": {"attributes": {"kelvin": "float K"}}}}
FIRE = {
    "types": {"Fire": {"attributes": {"heat": "float degC"}}},
    "members": {
        "north": {"type": "Fire", "map": {"heat": "heat"}},
        "south": {"type": "Blaze", "map": {"heat": "warmth"}},
    },
    "observers": {"station": {"type": "Alarm", "map": {"kelvin": "heat"}}},
}
HOUSES = {
    "federation": "houses",
    "domains": {"north": NORTH, "south": SOUTH, "station": STATION},
    "contracts": {"fires": FIRE},
    "profiles": {"hot": {"domain": "station", "on": "Alarm", "where": "kelvin > 320"}},
}


def _with(**changes: object) -> dict[str, object]:
    return {**HOUSES, **changes}


def _faults(given: dict[str, object]) -> list[tuple[str, str | None]]:
    with pytest.raises(Misuse) as caught:
        load(given)
    errors = caught.value.errors if isinstance(caught.value, Faults) else [caught.value]
    return [(one.code, one.place.path if one.place else None) for one in errors]


def test_a_federation_from_a_mapping():
    federation = load(HOUSES)
    assert (federation.name, list(federation.domains)) == ("houses", ["north", "south", "station"])
    assert {route.source.qualified_name for route in compile_plan(federation).routes} >= {"north.Fire", "south.Blaze"}


def test_it_says_what_the_files_say(tmp_path):
    (tmp_path / "federation.yaml").write_text("federation: houses\n")
    for kind, entries in (("domain", HOUSES["domains"]), ("contract", HOUSES["contracts"])):
        for name, body in entries.items():
            (tmp_path / f"{name}.yaml").write_text(write_yaml({kind: name, **body}))
    (tmp_path / "profiles.yaml").write_text(write_yaml({"profiles": HOUSES["profiles"]}))
    from_files, from_code = load(tmp_path), load(HOUSES)
    assert from_files == from_code
    assert compile_plan(from_files).key == compile_plan(from_code).key


def test_objects_in_place_of_declarations():
    fire = EventType("Fire", "north", EVENT, {"heat": AttributeType(Kind.FLOAT, unit="degC")})
    as_objects = load(
        _with(
            domains={
                "north": Taxonomy("north", [fire]),
                "south": {"types": {"Blaze": {"attributes": {"warmth": AttributeType(Kind.FLOAT, unit="[degF]")}}}},
                "station": STATION,
            },
            contracts={"fires": {**FIRE, "types": {"Fire": EventType("Fire", "fires", EVENT, fire.own)}}},
            profiles=[Profile.of("hot", "kelvin > 320", on="Alarm", domain="station")],
        )
    )
    declared = load(_with(domains={**HOUSES["domains"], "north": {"types": {"Fire": FIRE["types"]["Fire"]}}}))
    assert as_objects == declared
    assert as_objects.domains["north"].taxonomy == Taxonomy("north", [fire])


def test_domains_as_a_list_of_taxonomies():
    fire = EventType("Fire", "north", EVENT, {"heat": AttributeType(Kind.FLOAT)})
    assert list(load({"domains": [Taxonomy("north", [fire])]}).domains) == ["north"]


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"domain": {}}, "unknown-key", "domain"),
        ({"domains": 7}, "bad-value", "domains"),
        ({"domains": {7: NORTH}}, "yaml-key", "domains"),
        ({"domains": {"north": {"types": {"Fire": {"attributes": {"heat": "flaot"}}}}}}, "unknown-kind", None),
        (
            {"profiles": {"hot": {"domain": "station", "on": "Alarm", "were": "true"}}},
            "unknown-key",
            "profiles.hot.were",
        ),
        ({"profiles": {"hot": {"domain": "stat", "on": "Alarm"}}}, "unknown-domain", "profiles.hot.domain"),
        (
            {"profiles": {"hot": {"domain": "station", "on": "Alarm", "scope": [object()]}}},
            "bad-value",
            "profiles.hot.scope[0]",
        ),
        ({"profiles": {"hot": {"domain": "station", "on": "Alarm", "priority": float("nan")}}}, "yaml-number", None),
        ({"rates": {"rows": [{"from": "EUR", "to": "USD", "rate": "much"}]}}, None, "rates.rows[0]"),
        ({"federations": {"street": 7}}, "bad-value", "federations.street"),
    ],
)
def test_faults_have_paths(change, code, path):
    found = _faults(_with(**change))
    assert any((code in (None, one)) and (path in (None, at)) for one, at in found), found


def test_a_fault_in_a_text_says_where_in_it():
    with pytest.raises(Faults) as caught:
        load(_with(profiles={"hot": {"domain": "station", "on": "Alarm", "where": "kelvin > 3 and\nheat > 1"}}))
    (error,) = caught.value.errors
    assert (error.place.line, error.place.column, error.place.path) == (2, 1, "profiles.hot.where")
    assert str(error).startswith("2:1 (profiles.hot.where): ")


def test_data_that_holds_itself_is_refused():
    endless: dict[str, object] = {}
    endless["inner"] = endless
    assert ("too-deep", "domains.north.inner") in _faults(_with(domains={"north": endless}))


def test_the_names_of_files_differ(tmp_path):
    types = {"types": {"A": {"attributes": {"x": "int"}}}}
    names = ("profiles", "rates", "federation", "codes", "North", "north")
    federation = load({"federation": "names", "domains": dict.fromkeys(names, types), "codes": {"x/../y": []}})
    assert load(federation.write(tmp_path / "out")) == federation
    assert len({path.name.casefold() for path in (tmp_path / "out").iterdir()}) == len(names) + 2


def test_federations_inside(tmp_path):
    street = {
        "domains": {"north": NORTH},
        "contracts": {"fires": {**FIRE, "members": {"north": FIRE["members"]["north"]}, "observers": {}}},
        "boundary": ["fires"],
    }
    outer = {
        "types": {"Fire": {"attributes": {"heat": "float degC"}}},
        "members": {"street": {"type": "fires.Fire", "map": "same"}},
    }
    city = load(
        {
            "federation": "city",
            "federations": {"street": street},
            "domains": {"station": STATION},
            "contracts": {"all": outer},
        }
    )
    assert (city.inside, city.domains["north"].federation) == (("street",), "street")
    assert load(city.write(tmp_path / "city")) == city


def test_files_that_it_names_are_copied(tmp_path):
    (tmp_path / "rates.csv").write_text("from,to,rate\nEUR,USD,1.1\n")
    federation = load(
        {"federation": "money", "domains": {"north": NORTH}, "rates": {"file": "rates.csv"}}, folder=tmp_path
    )
    out = federation.write(tmp_path / "deep" / "out")
    assert (out / "rates.csv").read_text() == "from,to,rate\nEUR,USD,1.1\n"
    assert load(out) == federation


def test_a_file_elsewhere_is_refused(tmp_path):
    (tmp_path / "rates.csv").write_text("from,to,rate\nEUR,USD,1.1\n")
    (tmp_path / "base").mkdir()
    federation = load({"domains": {"north": NORTH}, "rates": {"file": "../rates.csv"}}, folder=tmp_path / "base")
    with pytest.raises(Misuse) as caught:
        federation.write(tmp_path / "out")
    assert caught.value.code == "file-elsewhere"
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(Misuse) as caught:
        load(HOUSES).write(tmp_path)
    assert (caught.value.code, [path.name for path in tmp_path.iterdir()]) == ("not-empty", ["a.txt"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_written_and_read(example, tmp_path):
    federation = load(example)
    again = load(federation.write(tmp_path / "out"))
    assert again == federation
    assert compile_plan(again).key == compile_plan(federation).key


@settings(max_examples=10, deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_generated_federations_written_and_read(chance, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    federation = load(write_texts(federation_texts(chance), folder / "in"))
    again = load(federation.write(folder / "out"))
    assert again == federation
    assert compile_plan(again).key == compile_plan(federation).key


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_WORDS = st.sampled_from(
    [
        "on",
        "off",
        "yes",
        "No",
        "true",
        "True",
        "null",
        "~",
        "",
        "007",
        "1e3",
        ".5",
        "0x1F",
        "2026-01-31",
        "=",
        "<<",
        "a: b",
        "- a",
        "x\n",
        " x ",
    ]
)
_DATA = st.recursive(
    _SCALARS | _WORDS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | _WORDS, inner), max_leaves=20
)


@settings(max_examples=300, deadline=None)
@given(data=_DATA)
def test_yaml_is_read_as_it_was_written(data):
    read = parse_document(write_yaml(data)).data
    assert (read, repr(read)) == (data, repr(data))
    assert plain(data) == data
