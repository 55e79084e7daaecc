"""Plans: which routes a federation's profiles need."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from comity.event import Event
from comity.expression.render import render
from comity.federation import load
from comity.plan import compile_plan
from comity.plan.stages import profile_of
from comity.plan.ways import ways_of
from comity.plan.why import why
from comity.testing.composite_profiles import composite_profiles, texts_with_profiles
from comity.testing.federations import federation_texts, load_texts

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"


def test_compile_plan_leads_every_member_to_every_profile() -> None:
    plan = compile_plan(load(EXAMPLE))
    ways = {
        (route.source.qualified_name, route.contract): [one.profile for one in route.deliveries]
        for route in plan.routes
    }
    assert ways == {
        ("house_a.FireDetected", "fire"): ["serious_fires", "main_street"],
        ("house_b.Brand", "fire"): ["serious_fires", "main_street"],
        ("fire_station.Incident", None): ["serious_fires", "main_street"],
    }
    assert plan.subscribers == ("fire_station",)


def test_compile_plan_puts_profiles_into_the_terms_of_the_contract() -> None:
    plan = compile_plan(load(EXAMPLE))
    route = next(route for route in plan.routes if route.contract == "fire")
    conditions = {one.profile: render(one.condition) for one in route.deliveries}
    assert conditions["main_street"] == "street + ', ' + city like '% Main Street, %'"
    assert conditions["serious_fires"] == "temperature - 273.15 > 60 and level >= 2"


def test_compile_plan_follows_subtypes_and_contract_types(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(
        "domain: house\ntypes:\n"
        "  Alarm: {abstract: true, attributes: {room: string}}\n"
        "  Fire: {extends: Alarm, attributes: {}}\n"
        "  Flood: {extends: Alarm, attributes: {}}\n"
    )
    (tmp_path / "city.yaml").write_text(
        "contract: city\ntypes:\n  Emergency: {attributes: {where: string}}\n"
        "members:\n  house: {type: Alarm, map: {where: room}}\n"
    )
    (tmp_path / "profiles.yaml").write_text(
        "profiles:\n  all: {domain: house, on: city.Emergency, own: true}\n"
        "  own: {domain: house, on: Alarm, where: is Fire}\n"
    )
    plan = compile_plan(load(tmp_path))
    ways = sorted((route.source.name, route.contract or "", route.deliveries[0].profile) for route in plan.routes)
    assert ways == [("Fire", "", "own"), ("Fire", "city", "all"), ("Flood", "", "own"), ("Flood", "city", "all")]


def test_compile_plan_takes_the_nearest_mapping_for_a_subtype(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(
        "domain: house\ntypes:\n"
        "  Alarm: {attributes: {room: string}}\n"
        "  Fire: {extends: Alarm, attributes: {heat: int}}\n"
        "  Blaze: {extends: Fire}\n"
        "  Flood: {extends: Alarm}\n"
    )
    (tmp_path / "office.yaml").write_text("domain: office\ntypes: {}\n")
    (tmp_path / "city.yaml").write_text(
        "contract: city\nauthority: office\ntypes:\n  Emergency: {attributes: {where: string}}\n"
        "members:\n  house:\n  - {type: Alarm, map: {where: room}}\n  - {type: Fire, map: {where: room + ' burns'}}\n"
    )
    (tmp_path / "profiles.yaml").write_text("profiles: {all: {domain: office, on: city.Emergency}}\n")
    plan = compile_plan(load(tmp_path))
    mapped = {
        route.source.name: render(expression)
        for route in plan.routes
        for _, expression in (route.mediate.expressions if route.mediate else ())
    }
    assert mapped == {"Alarm": "room", "Flood": "room", "Fire": "room + ' burns'", "Blaze": "room + ' burns'"}
    assert len(plan.routes) == len(mapped)


OWN = {
    "a.yaml": "domain: a\ntypes: {T: {attributes: {x: int}}, Seen: {attributes: {x: int}}}\n",
    "b.yaml": "domain: b\ntypes: {T: {attributes: {x: int}}}\n",
    "both.yaml": (
        "contract: both\ntypes: {T: {attributes: {x: int}}}\n"
        "members: {a: {type: T, map: same}, b: {type: T, map: same}}\n"
        "observers: {a: {type: Seen, map: same}}\n"
    ),
}


@pytest.mark.parametrize(
    ("terms", "at_observer", "expected"),
    [
        ("", "", {"observed": ["b.T"], "read": ["b.T"]}),
        (", own: true", "", {"observed": ["a.T", "b.T"], "read": ["a.T", "b.T"]}),
        ("", ", own: true", {"observed": ["a.T", "b.T"], "read": ["b.T"]}),
        (", scope: [a]", "", {"observed": ["a.T"], "read": ["a.T"]}),
    ],
)
def test_compile_plan_keeps_a_domains_own_events_from_coming_back(
    tmp_path: Path, terms: str, at_observer: str, expected: dict[str, list[str]]
) -> None:
    profiles = f"profiles: {{observed: {{domain: a, on: Seen{terms}}}, read: {{domain: a, on: both.T{terms}}}}}\n"
    for name, text in {**OWN, "profiles.yaml": profiles}.items():
        (tmp_path / name).write_text(text.replace("{type: Seen, map: same", "{type: Seen, map: same" + at_observer))
    found: dict[str, list[str]] = {}
    for route in compile_plan(load(tmp_path)).routes:
        for delivery in route.deliveries if route.contract else ():
            found.setdefault(delivery.profile, []).append(route.source.qualified_name)
    assert {name: sorted(sources) for name, sources in found.items()} == expected


def test_own_events_are_within_reach_of_a_domain_without_a_contract(tmp_path: Path) -> None:
    for name, text in {**OWN, "profiles.yaml": "profiles: {local: {domain: a, on: T}}\n"}.items():
        (tmp_path / name).write_text(text)
    assert [(route.source.qualified_name, route.contract) for route in compile_plan(load(tmp_path)).routes] == [
        ("a.T", None)
    ]


def test_why_says_that_own_events_do_not_come_back(tmp_path: Path) -> None:
    for name, text in {**OWN, "profiles.yaml": "profiles: {observed: {domain: a, on: Seen}}\n"}.items():
        (tmp_path / name).write_text(text)
    reasons = why(compile_plan(load(tmp_path)), "observed", Event("1", "/a", "a.T", data={"x": 1}))
    assert (reasons.delivered, reasons.is_own) == (False, True)
    assert not why(compile_plan(load(tmp_path)), "observed", Event("1", "/b", "b.T", data={"x": 1})).is_own


@pytest.mark.parametrize("seed", range(12))
def test_patterns_know_whether_several_ways_lead_to_them_from_one_type(seed: int) -> None:
    chance = Random(seed)
    texts = federation_texts(chance)
    plan = compile_plan(load_texts(texts_with_profiles(texts, composite_profiles(chance, texts, 6))))
    ways: dict[str, dict[str, set[int]]] = {one.bound.name: {} for one in plan.patterns}
    for source, tests in ways_of(plan).tests.items():
        for test in tests:
            if test.profile is not None:
                ways[profile_of(test.profile)].setdefault(source, set()).add(test.way)
    several = {name: any(len(found) > 1 for found in own.values()) for name, own in ways.items()}
    assert {one.bound.name: one.bound.has_forms for one in plan.patterns} == several
