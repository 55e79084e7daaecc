"""Plans: which routes a federation's profiles need."""

from __future__ import annotations

from pathlib import Path

from comity.expression.render import render
from comity.federation import load
from comity.plan import compile_plan

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
        "profiles:\n  all: {domain: house, on: city.Emergency}\n  own: {domain: house, on: Alarm, where: is Fire}\n"
    )
    plan = compile_plan(load(tmp_path))
    ways = sorted((route.source.name, route.contract or "", route.deliveries[0].profile) for route in plan.routes)
    assert ways == [("Fire", "", "own"), ("Fire", "city", "all"), ("Flood", "", "own"), ("Flood", "city", "all")]
