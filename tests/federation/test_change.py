"""Changes of profiles: what is in the files stays as it is, what is wrong is never seen, and no change is lost."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.document import parse_document
from comity.errors import Faults, Misuse, Place, Retryable
from comity.federation import load
from comity.federation.change import add, listed, locked, remove, replace_file
from comity.federation.layout import scalar, with_fields, with_profiles, without_profile
from comity.federation.new_profile import NewProfile, read_new_profiles
from comity.federation.watch import WatchedFederation
from comity.limits import limited

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
NEW = NewProfile("cellar", "fire_station", "Incident", "where_inside = 'cellar'")


@pytest.fixture
def city(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "city", ignore=shutil.ignore_patterns("events")))


def codes(error: Misuse) -> list[str]:
    return [one.code for one in error.errors] if isinstance(error, Faults) else [error.code]


LAYOUTS = {
    "block": "# head\nprofiles:   # all\n    # first\n    a:\n        on: T   # why\n        where: x > 1\n# end\n",
    "gaps": "profiles:\n  a: {on: T, where: x > 1}\n\n  # second\n  b:\n    where: |\n      x > 1\n      and y > 2\n"
    "    on: T\n\n\n# end",
    "flow": "profiles: {a: {on: T, where: x > 1}, # c\n  b: {on: 'T',}, }\ndescription: d\n",
    "all flow": "{profiles: {a: {on: T}}}",
    "empty": "profiles: {} # none yet\n# end\n",
    "null": "profiles:\n# end\n",
    "no profiles": "# nothing here yet\n",
    "nothing": "",
    "no line end": "profiles:\n  a:\n    on: T",
    "other keys": "profiles:\n  a:\n    on: T\n  # about b\n  b: {on: T}\ndescription: text\n",
    "odd brace": "profiles:\n  a: {on: T,\n  where: x > 1\n  }\ndescription: d\n",
}
ENTRY = {"domain": "d", "on": "T", "where": "name = 'a: b' # no comment"}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_add_changes_nothing_but_the_new_entry(text: str) -> None:
    changed = with_profiles(text, "p.yaml", {"new": ENTRY, "next": {"on": "T"}})
    before = (parse_document(text).data or {}).get("profiles") or {}
    assert parse_document(changed).data["profiles"] == {**before, "new": ENTRY, "next": {"on": "T"}}
    missing = [line for line in text.split("\n") if "#" in line and line.split("#")[1] not in changed]
    assert not missing
    for name in before:
        changed = without_profile(changed, "p.yaml", name)
    assert parse_document(changed).data["profiles"] == {"new": ENTRY, "next": {"on": "T"}}


@pytest.mark.parametrize(
    "text", [LAYOUTS["block"], LAYOUTS["other keys"], LAYOUTS["gaps"], LAYOUTS["no line end"] + "\n"]
)
def test_remove_undoes_add(text: str) -> None:
    assert without_profile(with_profiles(text, "p.yaml", {"new": ENTRY}), "p.yaml", "new") == text


@pytest.mark.parametrize("text", [LAYOUTS["block"], LAYOUTS["gaps"], LAYOUTS["flow"], LAYOUTS["odd brace"]])
def test_replace_keeps_the_comments_of_the_entry(text: str) -> None:
    changed = with_fields(text, "p.yaml", "a", {"where": "y < 2", "description": "new"})
    entry = parse_document(changed).data["profiles"]["a"]
    assert (entry["on"], entry["where"], entry["description"]) == ("T", "y < 2", "new")
    assert changed.count("#") == text.count("#")


def test_add_in_block_layout_is_what_a_person_would_write() -> None:
    assert with_profiles(LAYOUTS["block"], "p.yaml", {"b": {"on": "T"}}) == LAYOUTS["block"].replace(
        "# end", "    b:\n      on: T\n# end"
    )


def test_remove_takes_the_comment_directly_above() -> None:
    text = "profiles:\n  # kept\n\n  # about a\n  a: {on: T}\n  # about b\n  b: {on: T}\n"
    assert without_profile(text, "p.yaml", "a") == "profiles:\n  # kept\n\n  # about b\n  b: {on: T}\n"
    assert without_profile(text, "p.yaml", "b") == "profiles:\n  # kept\n\n  # about a\n  a: {on: T}\n"


def test_remove_of_the_last_one_leaves_a_file_that_can_be_added_to() -> None:
    emptied = without_profile("# head\nprofiles: # all\n  a: {on: T}\n", "p.yaml", "a")
    assert emptied == "# head\nprofiles: {} # all\n"
    assert with_profiles(emptied, "p.yaml", {"b": {"on": "T"}}) == "# head\nprofiles: # all\n  b:\n    on: T\n"


@pytest.mark.parametrize("text", ["profiles:\n  ? a\n  : on: T\n", "profiles: !!map\n  a: {on: T}\n"])
def test_a_layout_that_nobody_foresaw_is_left_alone(text: str) -> None:
    change = with_profiles if "?" in text else without_profile
    with pytest.raises(Misuse) as caught:
        change(text, "p.yaml", {"b": {"on": "T"}} if "?" in text else "a")  # type: ignore[operator]
    assert caught.value.code == "unknown-layout"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_scalar_reads_as_the_text(text: str) -> None:
    assert parse_document(f"k: {scalar(text)}").data == {"k": text}
    assert parse_document(f"{{k: {scalar(text, flow=True)}}}").data == {"k": text}


def test_scalar_refuses_what_yaml_cannot_hold() -> None:
    with pytest.raises(Misuse) as caught:
        scalar("half of a pair: \ud800")
    assert caught.value.code == "bad-character"


def test_add_is_taken_up_by_a_running_federation(city: Path) -> None:
    watched = WatchedFederation(city)
    assert "cellar" not in watched.current().profiles
    change = add(city, [NEW])
    assert "cellar" not in watched.current().profiles
    change.apply()
    assert watched.current().profiles["cellar"].text == NEW.where
    remove(city, ["cellar"]).apply()
    assert "cellar" not in watched.current().profiles
    same = (EXAMPLE / "profiles" / "fire_station.yaml").read_bytes()
    assert (city / "profiles" / "fire_station.yaml").read_bytes() == same


def test_a_change_of_equal_size_moves_the_time_even_if_the_clock_stands(city: Path) -> None:
    path = city / "profiles" / "fire_station.yaml"
    later = path.stat().st_mtime_ns + 10**12
    os.utime(path, ns=(later, later))
    watched = WatchedFederation(city)
    watched.current()
    replace_file(path, path.read_bytes().replace(b"level >= 2", b"level >= 3"))
    assert path.stat().st_mtime_ns > later
    assert watched.current().profiles["serious_fires"].text.endswith(">= 3")


def test_add_makes_the_file_of_the_domain(city: Path) -> None:
    add(city, [NewProfile("leaks", "house_a", "WaterLeak", "litres > 1 litre")]).apply()
    text = "profiles:\n  leaks:\n    domain: house_a\n    on: WaterLeak\n    where: litres > 1 litre\n"
    assert (city / "profiles" / "house_a.yaml").read_text() == text


@pytest.mark.parametrize(
    ("profile", "code"),
    [
        (NewProfile("a", "fire_station", "Incident", "levle > 1"), "unknown-attribute"),
        (NewProfile("a", "fire_station", "Incident", "level >"), "syntax"),
        (NewProfile("a", "fire_station", "Incidnt"), "unknown-type"),
        (NewProfile("a", "station", "Incident"), "unknown-domain"),
        (NewProfile("a", "../station", "Incident"), "unknown-domain"),
        (NewProfile("a b", "fire_station", "Incident"), "bad-name"),
        (NewProfile("serious_fires", "fire_station", "Incident"), "duplicate-profile"),
        (NewProfile("a", "fire_station", "Incident", "address = '\x85\ud800'"), "bad-character"),
    ],
)
def test_add_refuses_what_does_not_fit(city: Path, profile: NewProfile, code: str) -> None:
    before = {path: path.read_bytes() for path in city.rglob("*.yaml")}
    with pytest.raises(Misuse) as caught:
        add(city, [NEW, profile])
    assert codes(caught.value) == [code]
    assert {path: path.read_bytes() for path in city.rglob("*.yaml")} == before


def test_add_refuses_what_may_cost_too_much(city: Path) -> None:
    with limited(max_profile_cost=500), pytest.raises(Faults) as caught:
        add(city, [NewProfile("dear", "fire_station", "Incident", "address matches '.*a.*b.*'")])
    assert codes(caught.value) == ["profile-too-costly"]
    assert "dear" in str(caught.value)


def test_faults_point_into_the_file_that_profiles_come_from(city: Path) -> None:
    text = (
        "profiles:\n  a: {domain: fire_station, on: Incident}\n"
        "  b:\n    domain: fire_station\n    on: Incident\n    where: level > 1 and levle > 2\n"
    )
    with pytest.raises(Faults) as caught:
        add(city, read_new_profiles(text, "new.yaml"), source=("new.yaml", text))
    (error,) = caught.value.errors
    assert (str(error.place).split(" ")[0], error.code) == ("new.yaml:6:26", "unknown-attribute")


def test_faults_of_options_show_the_line(city: Path) -> None:
    with pytest.raises(Faults) as caught:
        add(city, [NewProfile("a", "fire_station", "Incident", "level > 1 and levle > 2")])
    (error,) = caught.value.errors
    assert error.place is not None
    assert str(error.place.file).endswith("fire_station.yaml")
    assert "levle" in str(error.excerpt)


def test_add_into_a_file_that_is_no_part_of_the_federation(city: Path) -> None:
    for file, code in (
        ("../p.yaml", "outside-federation"),
        ("p.txt", "outside-federation"),
        ("domains/house_a.yaml", "not-a-profile-file"),
    ):
        with pytest.raises(Misuse) as caught:
            add(city, [NEW], file=Path(file))
        assert caught.value.code == code
    add(city, [NEW], file=Path("more/new.yml")).apply()
    assert "cellar" in load(city).profiles


def test_replace_changes_a_profile_in_its_place(city: Path) -> None:
    change = add(city, [NewProfile("main_street", "fire_station", "Incident", "level > 2")], replacing=True)
    assert [line for line in change.diff().splitlines() if line[:1] in "+-"][2:] == [
        "-    where: address like '% Main Street, %'",
        "+    where: level > 2",
    ]


def test_remove_all_or_nothing(city: Path) -> None:
    with pytest.raises(Faults) as caught:
        remove(city, ["main_street", "serious_fire"])
    assert caught.value.errors[0].hint == "did you mean `serious_fires`?"
    remove(city, ["main_street", "serious_fires", "main_street"]).apply()
    assert not load(city).profiles


def test_listed_knows_where_profiles_stand(city: Path) -> None:
    found = listed(city, load(city))
    assert [(one.profile.name, one.place.line, one.cost.total > 0) for one in found] == [
        ("serious_fires", 2, True),
        ("main_street", 7, True),
    ]


def test_line_ends_and_byte_order_mark_stay(city: Path) -> None:
    path = city / "profiles" / "fire_station.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    path.chmod(0o640)
    before = path.read_bytes()
    add(city, [NEW]).apply()
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") == before.count(b"\n") + 4
    assert path.stat().st_mode & 0o777 == 0o640


def _add_many(folder: Path, first: int, count: int) -> None:
    for number in range(first, first + count):
        with locked(folder):
            add(folder, [NewProfile(f"p{number}", "fire_station", "Incident", f"level > {number}")]).apply()


def test_two_processes_lose_no_change(city: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_add_many, args=(city, first, 5)) for first in (0, 100)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(load(city).profiles) == 12
    assert not list(city.rglob("*.partial"))


def test_the_lock_is_not_waited_for_forever(city: Path) -> None:
    with locked(city), limited(profile_lock_timeout_ms=100), pytest.raises(Retryable) as caught, locked(city):
        pass
    assert caught.value.code == "federation-locked"


@pytest.mark.parametrize(
    "text",
    [
        "profiles:\n  a:\n    on: A x ; B y   # both\n    # how many\n    limit: 5\n    where: x.v > 1\n  b: {on: T}\n",
        "profiles: {a: {limit: 5, on: A x ; B y, where: x.v > 1}, b: {on: T}}",
        "profiles:\n  a: {on: A x ; B y, where: x.v > 1, limit: 5}\n  b: {on: T}\n",
        "profiles:\n  a:\n    limit: 5\n    on: A x ; B y\n    where: x.v > 1\n  b: {on: T}\n",
    ],
)
def test_fields_are_dropped_in_every_layout(text: str) -> None:
    changed = with_fields(text, "p.yaml", "a", {"on": "T", "version": 2}, ["limit", "duplicates"])
    assert parse_document(changed).data["profiles"] == {
        "a": {"on": "T", "where": "x.v > 1", "version": 2},
        "b": {"on": "T"},
    }


def test_new_profiles_are_read_as_text_and_as_rdl() -> None:
    text = "profile hot\non Heat h ; Heat i within 5 min # soon\nduplicates first, h last\nties by event.sequence\n"
    (found,) = read_new_profiles(text, "new.txt", "house")
    assert found.fields == {
        "domain": "house",
        "on": "Heat h ; Heat i within 5 min",
        "where": "true",
        "duplicates": "first, h last",
        "ties": "event.sequence",
    }
    (rule,) = read_new_profiles("rule hot onEvent Heat h; where h.value > 25;", "new.rdl", "house")
    assert (rule.on, rule.where) == ("Heat h", "h.value > 25")


def test_a_profile_of_one_event_as_a_pattern_is_added_as_one(city: Path) -> None:
    text = "profile hot\non Incident h\nwhere h.level > 2\nlimit 5\n"
    change = add(city, read_new_profiles(text, "new.txt", "fire_station"))
    assert list(change.federation.composites) == ["hot"]
    assert change.costs["hot"].total > 0


def test_text_profiles_are_listed_and_not_removed_from_here(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "city"))
    text = folder / "profiles" / "fire_station.txt"
    text.write_text("profile spreading\non Incident a ; Incident b within 1 h\n")
    listed_last = listed(folder, load(folder))[-1]
    assert (listed_last.profile.name, listed_last.place) == ("spreading", Place(str(text), 1, 1))
    assert listed_last.written.on == "Incident a ; Incident b within 1 h"
    with pytest.raises(Faults) as found:
        remove(folder, ["spreading"])
    assert [(one.code, one.place) for one in found.value.errors] == [("not-a-profile-file", Place(str(text), 1, 1))]


def test_faults_of_profiles_for_federations_inside_point_into_the_file_they_came_from(tmp_path: Path) -> None:
    city = Path(shutil.copytree(EXAMPLE.parent / "active_city", tmp_path / "city"))
    text = (
        "profiles:\n"
        "  good: {domain: house_27, on: neighborBreakIn}\n"
        "  bad: {domain: house_27, on: neighborBreakIn, where: houseNumm = 3}\n"
        "  outer: {domain: police, on: Burglary, where: rooom = 'x'}\n"
    )
    for new, expected in (
        (text, [("unknown-attribute", 3)]),
        (text.replace("houseNumm", "houseNum"), [("unknown-attribute", 4)]),
    ):
        with pytest.raises(Faults) as caught:
            add(city, read_new_profiles(new, "new.yaml"), source=("new.yaml", new))
        assert [(one.code, one.place and one.place.line) for one in caught.value.errors] == expected
    good = text.replace("houseNumm", "houseNum").replace("rooom", "room")
    changed = add(city, read_new_profiles(good, "new.yaml"), source=("new.yaml", good))
    assert {"good", "bad", "outer"} <= changed.federation.profiles.keys()
