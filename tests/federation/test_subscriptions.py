"""What profiles say beside their filter: scope, registration, delivery context, priority."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comity.engine.run import run
from comity.errors import Faults
from comity.event import Event
from comity.federation import load
from comity.federation.change import add
from comity.federation.new_profile import read_new_profiles
from comity.plan import compile_plan

FILES = {
    "a": "domain: a\ntypes: {Heat: {attributes: {value: float degF}}}\n",
    "b": "domain: b\ntypes: {Heat: {attributes: {value: float degF}}}\n",
    "c": "domain: c\ntypes: {Heat: {attributes: {value: float degC}}}\n",
    "contract": (
        "contract: heat\ntypes: {Heat: {attributes: {value: float degC}}}\n"
        "members: {a: {type: Heat, map: same}, b: {type: Heat, map: same}}\n"
        "observers: {c: {type: Heat, map: same}}\n"
    ),
}


def values(folder: Path, profile: str, *events: Event) -> list[object]:
    for name, text in {**FILES, "profiles": f"profiles: {{p: {{domain: c, on: Heat, {profile}}}}}\n"}.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return [one.event.data["value"] for one in run(compile_plan(load(folder)), events)]  # type: ignore[union-attr]


def heat(source: str, value: float, hour: int = 12, minute: int = 0, day: int = 1) -> Event:
    moment = datetime(2026, 5, day, hour, minute, tzinfo=UTC)
    return Event(f"{source}{value}{moment}", f"/{source}", f"{source}.Heat", moment, {"value": value})


def test_scope_names_the_domains_whose_events_are_wanted(tmp_path: Path) -> None:
    assert values(tmp_path, "scope: [b]", heat("a", 86.0), heat("b", 95.0)) == [35.0]


def test_scope_refuses_a_domain_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Faults, match="no domain or federation 'd'"):
        values(tmp_path, "scope: [d]")


@pytest.mark.parametrize(
    ("active", "hours"),
    [
        ("{from: 09:00, until: 18:00}", [9, 17]),
        ("{from: 18:00, until: 09:00}", [0, 8, 18, 23]),
        ("{until: 09:00}", [0, 8]),
        ("{from: 18:00}", [18, 23]),
        ("{from: '09:00', until: '17:30'}", [9, 17]),
        ("{from: 10:00+01:00, until: 19:00+01:00}", [9, 17]),
        ("{from: 23:00-10:00, until: 09:30Z}", [9]),
    ],
)
def test_active_is_the_part_of_the_day_with_a_registration(tmp_path: Path, active: str, hours: list[int]) -> None:
    events = [heat("a", 32.0 + 1.8 * hour, hour) for hour in (0, 8, 9, 17, 18, 23)]
    assert values(tmp_path, f"active: {active}", *events) == [pytest.approx(hour) for hour in hours]


def test_expires_ends_a_registration_for_ever(tmp_path: Path) -> None:
    events = [heat("a", 86.0, day=1), heat("a", 95.0, day=2)]
    assert values(tmp_path, "expires: 2026-05-02T12:00:00Z", *events) == [30.0]


def test_deliver_converts_what_the_subscriber_receives(tmp_path: Path) -> None:
    assert values(tmp_path, "where: value > 25 degC, deliver: {unit: kelvin}", heat("a", 86.0)) == [303.15]


def test_deliver_refuses_what_no_attribute_can_be(tmp_path: Path) -> None:
    with pytest.raises(Faults):
        values(tmp_path, "deliver: {unit: kg}")


def test_deliver_has_no_place_in_a_composite_profile(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    profile = "profiles: {p: {domain: c, on: Heat h ; Heat i within 5 min, deliver: {unit: kelvin}}}\n"
    (tmp_path / "profiles.yaml").write_text(profile, encoding="utf-8")
    with pytest.raises(Faults, match="composite"):
        load(tmp_path)


def test_a_profile_that_is_added_keeps_its_terms(tmp_path: Path) -> None:
    values(tmp_path, "where: value > 25 degC")
    terms = "{scope: [b], active: {from: 09:00, until: 18:00}, priority: 5, deliver: {unit: kelvin}, "
    text = f"profiles: {{q: {terms}expires: 2027-01-01T00:00:00Z, domain: c, on: Heat}}}}\n"
    change = add(tmp_path, read_new_profiles(text, "new.yaml"))
    added = change.federation.profiles["q"]
    assert (added.sources, added.priority, list(added.deliver)) == (frozenset({"b"}), 5, ["c.Heat"])
    (written,) = change.texts.values()
    assert "scope: [b]" in written
    assert "deliver: {unit: kelvin}" in written
    assert "09:00" in written


def test_deliver_keeps_what_a_type_below_adds(tmp_path: Path) -> None:
    text = """
domain: c
types:
  Heat: {attributes: {value: float degC}}
  Fire: {extends: Heat, attributes: {room: string, core: float degC}}
"""
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "p.yaml").write_text("profiles: {p: {domain: c, on: Heat, deliver: {unit: kelvin}}}", encoding="utf-8")
    data = {"value": 0.0, "room": "attic", "core": 100.0}
    event = Event("1", "/c", "c.Fire", datetime(2026, 3, 1, tzinfo=UTC), data)
    (told,) = run(compile_plan(load(tmp_path)), [event])
    assert told.event.type == "c.Fire"  # type: ignore[union-attr]
    assert told.event.data == {"value": 273.15, "room": "attic", "core": 373.15}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "terms",
    [
        "active: {from: 8, until: 18}",
        "active: {from: 08:00 CET}",
        "active: {from: 25:00}",
        "expires: 2026",
        "expires: soon",
        "expires: '9999-12-31T23:59:59-14:00'",
    ],
)
def test_times_that_could_mean_something_else_are_refused(tmp_path: Path, terms: str) -> None:
    with pytest.raises(Faults):
        values(tmp_path, terms)


@pytest.mark.parametrize("expires", ["2026-05-02", "2026-05-02T00:00:00", "2026-05-02T00:00:00Z"])
def test_expires_without_a_zone_is_in_utc(tmp_path: Path, expires: str) -> None:
    events = [heat("a", 86.0, hour=23, day=1), heat("a", 95.0, hour=0, day=2)]
    assert values(tmp_path, f"expires: {expires}", *events) == [30.0]
