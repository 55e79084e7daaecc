"""Federation files: what loads, and that every fault is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.errors import Faults, Misuse
from comity.federation import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"

HOUSE = """\
domain: house
types:
  Fire:
    attributes:
      room: string
      heat: float degF
"""
STATION = """\
domain: station
types:
  Incident:
    attributes:
      place: string
      temperature: float degC
"""
CONTRACT = """\
contract: fire
types:
  Alarm:
    attributes:
      room: string
      temperature: float kelvin
members:
  house:
    type: Fire
    map:
      room: room
      temperature: heat
observers:
  station:
    type: Incident
    map:
      place: room
      temperature: temperature
"""
PROFILES = """\
profiles:
  hot:
    domain: station
    on: Incident
    where: temperature > 60 degC
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(Faults) as caught:
        load(folder)
    return [
        f"{Path(str(error.place.file)).name}:{error.place.line}:{error.place.column} {error.code}"
        for error in caught.value.errors
    ]


def test_load_the_example() -> None:
    federation = load(EXAMPLE)
    assert federation.name == "two_houses"
    assert set(federation.domains) == {"house_a", "house_b", "fire_station"}
    assert set(federation.contracts["fire"].members) == {"house_a", "house_b"}
    assert federation.find_type("house_b.Brand") is not None
    assert federation.find_type("Brand") is None


def test_load_a_small_one(tmp_path: Path) -> None:
    federation = load(write(tmp_path, house=HOUSE, station=STATION, contract=CONTRACT, profiles=PROFILES))
    assert federation.profiles["hot"].type.qualified_name == "station.Incident"


def test_load_reports_all_faults_of_all_files_at_once(tmp_path: Path) -> None:
    contract = CONTRACT.replace("temperature: heat", "temperature: heet").replace("type: Incident", "type: Incidents")
    profiles = PROFILES.replace("> 60 degC", "> 60 km")
    write(tmp_path, house=HOUSE, station=STATION, contract=contract, profiles=profiles, other="what: 1\n")
    assert faults_of(tmp_path) == [
        "other.yaml:1:1 unknown-file",
        "contract.yaml:12:20 unknown-attribute",
        "contract.yaml:15:11 unknown-type",
        "profiles.yaml:5:12 incompatible-units",
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("contract", "  house:\n", "  hause:\n", "contract.yaml:8:3 unknown-domain"),
        ("contract", "      room: room\n", "", "contract.yaml:10:5 unmapped"),
        ("contract", "place: room", "place: room +", "contract.yaml:17:20 syntax"),
        ("contract", "members:", "membres:", "contract.yaml:7:1 unknown-key"),
        ("profiles", "domain: station", "domain: stat", "profiles.yaml:3:13 unknown-domain"),
        ("profiles", "on: Incident", "on: Fire", "profiles.yaml:4:9 unknown-type"),
        (
            "profiles",
            "where: temperature > 60 degC",
            "where: temprature > 60 degC",
            "profiles.yaml:5:12 unknown-attribute",
        ),
        ("house", "float degF", "float degX", "house.yaml:6:19 unknown-unit"),
        ("house", "room: string", "room: strin", "house.yaml:5:13 unknown-kind"),
    ],
)
def test_load_points_at_the_fault(tmp_path: Path, file: str, old: str, new: str, fault: str) -> None:
    files = {"house": HOUSE, "station": STATION, "contract": CONTRACT, "profiles": PROFILES}
    assert old in files[file]
    files[file] = files[file].replace(old, new, 1)
    found = faults_of(write(tmp_path, **files))
    place, code = fault.split()
    assert any(one.split()[0] == place for one in found), found
    assert found[0].endswith(code) or any(one == fault for one in found), found


def test_load_refuses_duplicates(tmp_path: Path) -> None:
    write(tmp_path, a=HOUSE, b=HOUSE, station=STATION, contract=CONTRACT, again=CONTRACT, p=PROFILES, q=PROFILES)
    assert {one.split()[1] for one in faults_of(tmp_path)} == {
        "duplicate-domain",
        "duplicate-contract",
        "duplicate-profile",
    }


def test_load_refuses_what_is_no_federation(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="not a directory"):
        load(tmp_path / "nowhere")
    with pytest.raises(Misuse, match="no YAML file"):
        load(tmp_path)


def test_load_keeps_the_name_rejected_for_itself(tmp_path: Path) -> None:
    write(tmp_path, house=HOUSE.replace("domain: house", "domain: rejected"))
    assert faults_of(tmp_path) == ["house.yaml:1:9 reserved-name"]


def test_load_keeps_the_name_dead_letters_for_itself(tmp_path: Path) -> None:
    write(tmp_path, house=HOUSE.replace("domain: house", "domain: dead-letters"))
    assert faults_of(tmp_path) == ["house.yaml:1:9 reserved-name"]


RULES = """\
rule climbing
onEvent Incident a, Incident b;
where b.temperature > a.temperature;
"""
BLOCK = "profile twice on Incident a ; Incident b within 5 min where b.temperature > 60 degC\n"


def small(folder: Path) -> Path:
    return write(folder, house=HOUSE, station=STATION, contract=CONTRACT, profiles=PROFILES)


@pytest.mark.parametrize("name", ["profiles/station.rdl", "profiles/station/rules.rdl", "station/deep/rules.rdl"])
def test_load_reads_rules_for_the_domain_that_the_path_names(tmp_path: Path, name: str) -> None:
    small(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(RULES)
    found = load(tmp_path)
    assert found.composites["climbing"].domain == "station"
    assert found.composites["climbing"].bound.operand_names == ("a", "b")


def test_load_reads_blocks_of_text_and_leaves_notes_alone(tmp_path: Path) -> None:
    small(tmp_path)
    (tmp_path / "station.txt").write_text(BLOCK)
    (tmp_path / "README.txt").write_text("Two domains.\nThe profile of a fire: see there.\n")
    assert list(load(tmp_path).composites) == ["twice"]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("rules.rdl", RULES, "rules.rdl: whose profiles these are is not known"),
        ("station.rdl", RULES.replace("Incident a", "Incidnt a"), "station.rdl:1:1: unknown type"),
        ("station.txt", "x\n" + BLOCK, "station.txt:1:1: "),
        ("station.txt", "simple: temperature > 1\n" + BLOCK, "station.txt:1:1: in a federation the profile 'simple'"),
        ("station.txt", BLOCK.replace("twice", "hot"), "station.txt:1:1: there are two profiles 'hot'"),
        ("station.txt", BLOCK.replace("b.temperature", "b.heat"), "station.txt:1:61 (b.heat): "),
    ],
)
def test_load_points_at_the_fault_of_a_text(tmp_path: Path, name: str, text: str, fault: str) -> None:
    small(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(Faults) as found:
        load(tmp_path)
    assert [str(one).startswith(str(tmp_path / fault)) for one in found.value.errors] == [True], found.value
