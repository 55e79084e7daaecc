"""Composite profiles of a plan: what is explained about them, and what a source could detect itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from comity.engine.folder import run_into_folder
from comity.event.event import Event
from comity.expression.render import render
from comity.federation import Federation, load
from comity.language import EVERYTHING, Language
from comity.language.capability import PATTERNS
from comity.language.comity import COMITY
from comity.language.languages import LANGUAGES
from comity.language.parquet import PARQUET
from comity.pattern.text.render import render_pattern
from comity.plan import Plan, compile_plan
from comity.plan.asks import asks
from comity.plan.explain import Node, explain
from comity.plan.matching import choose_matching
from comity.plan.pattern_asks import PatternAsk, pattern_asks, serving
from comity.plan.why import why

HOUSE = """
domain: house
types:
  Heat: {attributes: {room: string, value: float, note: string?}}
  Vent: {attributes: {room: string}}
sources:
  sensors: {files: sensors}
"""
NEIGHBOUR = """
domain: neighbour
types:
  Smoke: {attributes: {where: string, density: float}}
sources:
  detectors: {files: detectors}
"""
CONTRACT = """
contract: alarms
types:
  Alarm: {attributes: {room: string, level: float}}
members:
  house: {type: Heat, map: {room: room, level: value * 2.0}}
  neighbour: {type: Smoke, map: {room: where, level: density}}
"""
HOT = "h.value > 30 and i.value > h.value and v.room = h.room and i.room = h.room"
PROFILES = f"""
profiles:
  hot: {{domain: house, on: Heat h ; not Vent v ; Heat i within 10 min, where: {HOT}}}
  alarm: {{domain: house, on: alarms.Alarm a ; Vent v, where: a.level > 5, own: true}}
  warm: {{domain: house, on: Heat, where: value > 20}}
"""

Make = Callable[..., Federation]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(profiles: str = PROFILES) -> Federation:
        files = {"house": HOUSE, "neighbour": NEIGHBOUR, "contract": CONTRACT, "profiles": profiles}
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return load(tmp_path)

    return make


def texts(node: Node) -> list[str]:
    text, below = node
    return [text, *(line for part in below for line in texts(part))]


def test_a_tree_shows_the_pattern_its_operands_and_what_serves_them(make: Make) -> None:
    federation = make()
    found = explain(compile_plan(federation), "hot", sources=federation.sources)
    lines = texts(found.as_tree())
    for line in (
        "composite profile hot, for house",
        "; one after the other, within 10 min",
        "h: Heat where value > 30",
        "not",
        "house.Heat from house.sensors",
        "one trace for each key",
        "h.room = v.room = i.room",
        "i.value > h.value: tested for each occurrence of the whole pattern",
        "v: kept for 10 min",
        "conditions between operands are tested for single events [conditions-between-operands]",
        "house.sensors (none): nothing [no-patterns]",
        "operand h of profile hot, for house",
        "give to the pattern of hot",
        "deliver to results/house",
    ):
        assert line in lines, line
    assert not any("warm" in line or "alarm" in line for line in lines[4:])


def test_json_has_the_same_for_programs(make: Make) -> None:
    federation = make()
    found = explain(compile_plan(federation), sources=federation.sources).as_dict()
    hot, alarm = found["patterns"]
    assert (hot["profile"], hot["detection"]["how"], hot["key"]) == ("hot", "general", ["h.room = v.room = i.room"])
    assert hot["sources"][0]["reasons"][0]["code"] == "no-patterns"
    assert (alarm["bounded"], alarm["one_trace_because"]) == (False, "no equality ties a and v to each other")
    served = {
        one["operand"]: [(way["source"], way["contract"]) for way in one["served_by"]] for one in alarm["operands"]
    }
    assert served == {
        "a": [("house.sensors", "alarms"), ("neighbour.detectors", "alarms")],
        "v": [("house.sensors", None)],
    }
    deliveries = [one for source in found["sources"] for route in source["routes"] for one in route["deliveries"]]
    assert {one["operand"] for one in deliveries} == {"h", "v", "i", "a", None}
    assert {one["deliver"][0] for one in deliveries if one["operand"] == "a"} == {"the pattern of alarm"}


def test_mermaid_leads_from_operands_to_the_profile(make: Make) -> None:
    lines = explain(compile_plan(make()), "hot").as_mermaid().splitlines()
    assert '  house_Heat -- "value > 30" --> operand_hot_h' in lines
    assert any(line.startswith('  operand_hot_v["v: Vent"] -- "not" --> part_hot(') for line in lines)
    assert '  profile_hot -- "as comity.Report" --> to_results_house[["results/house"]]' in lines


def test_sources_are_asked_for_what_operands_want(make: Make) -> None:
    federation = make("profiles: {hot: {domain: house, on: Heat h ; Heat i, where: h.value > 3 and i.value > 9}}")
    (ask,) = asks(compile_plan(federation), federation.sources, language_of=lambda source: PARQUET)
    assert ask.ask.text == "value > 3.0"
    assert [part.want.profile for _, parts in ask.routes for part in parts] == ["hot/h", "hot/i"]


# What a source could detect itself


def asked(federation: Federation, profile: str, language: Language) -> dict[str, PatternAsk]:
    plan = compile_plan(federation)
    planned = plan.pattern(profile)
    assert planned is not None
    found = asks(plan, federation.sources, language_of=lambda source: language)
    return {one.source: one for one in pattern_asks(planned, serving(found))}


def capable(*patterns: str, base: Language = COMITY) -> Language:
    """An invented language."""
    capability = replace(base.capability, name="capable", patterns=frozenset(patterns))
    return Language(capability, render)


def codes(ask: PatternAsk) -> dict[str, str]:
    return {one.code: one.clause for one in ask.reasons}


def test_no_language_has_patterns_today() -> None:
    assert not [name for name, one in LANGUAGES.items() if one.capability.patterns]
    assert EVERYTHING.patterns == frozenset()


def test_a_source_that_has_all_operators_detects_the_whole_pattern(make: Make) -> None:
    found = asked(make(), "hot", capable(*PATTERNS))["house.sensors"]
    assert [render_pattern(part) for part in found.parts] == ["Heat h ; not Vent v ; Heat i within 10 min"]
    assert (found.reasons, found.operands) == ((), ("h", "v", "i"))


def test_what_a_language_lacks_is_named(make: Make) -> None:
    found = asked(make(), "hot", capable(";", "key"))["house.sensors"]
    assert found.parts == ()
    assert [one.clause for one in found.reasons] == ["not", "where"]
    assert {one.code for one in found.reasons} == {"pattern-not-supported"}


def test_operands_that_others_serve_too_are_left_here(make: Make) -> None:
    found = asked(make(), "alarm", capable(*PATTERNS))
    assert codes(found["neighbour.detectors"]) == {"operands-elsewhere": "a, v"}
    assert codes(found["house.sensors"])["operands-elsewhere"] == "a"


def profiles(on: str, where: str = "true", more: str = "") -> str:
    return f"profiles: {{p: {{domain: house, on: {on!r}, where: {where!r}, own: true{more}}}}}"


def test_a_part_is_detected_where_the_whole_cannot_be(make: Make) -> None:
    federation = make(profiles("alarms.Alarm a ; (Heat h & Vent v within 5 s) within 1 min"))
    found = asked(federation, "p", capable("&", ";"))["house.sensors"]
    assert [render_pattern(part) for part in found.parts] == ["Heat h & Vent v within 5 s"]
    assert codes(found)["operands-elsewhere"] == "a"
    consuming = make(profiles("alarms.Alarm a ; (Heat h & Vent v within 5 s)", more=", consume: delete"))
    found = asked(consuming, "p", capable("&", ";", "consume"))["house.sensors"]
    assert (found.parts, codes(found)["part-of-a-consumer"]) == ((), "Heat h & Vent v within 5 s")


def test_choice_and_consumption_are_of_the_whole(make: Make) -> None:
    federation = make(profiles("Heat h ; Vent v", more=", duplicates: first, consume: delete, limit: 5"))
    found = asked(federation, "p", capable(";", "duplicates"))["house.sensors"]
    assert [one.clause for one in found.reasons] == ["consume", "limit"]
    assert asked(federation, "p", capable(";", "duplicates", "consume", "limit"))["house.sensors"].parts


def test_a_filter_that_cannot_be_said_keeps_the_pattern_here(make: Make) -> None:
    federation = make(profiles("Heat h ; Vent v", "length(h.note) = 3"))
    found = asked(federation, "p", capable(*PATTERNS, base=PARQUET))["house.sensors"]
    assert codes(found) == {"operand-left-to-filter": "h"}


def test_values_that_a_mapping_computes_keep_the_pattern_here(make: Make) -> None:
    contract = CONTRACT.replace("  neighbour: {type: Smoke, map: {room: where, level: density}}\n", "")
    federation = make(profiles("alarms.Alarm a ; alarms.Alarm b", "a.room = b.room and a.level < b.level"))
    assert federation.folder is not None
    (federation.folder / "contract.yaml").write_text(contract, encoding="utf-8")
    found = asked(load(federation.folder), "p", capable(*PATTERNS))["house.sensors"]
    assert "a.level" in [one.clause for one in found.reasons if one.code == "over-mapping"]
    assert not any("room" in one.clause for one in found.reasons)


# Why, and counts


def why_of(plan: Plan, type: str, data: dict[str, Any], profile: str = "hot") -> Any:
    event = Event("1", "/s", type, datetime(2026, 1, 1, tzinfo=UTC), data)
    return why(plan, profile, event)


def test_why_tells_operand_by_operand(make: Make) -> None:
    plan = compile_plan(make())
    found = why_of(plan, "house.Heat", {"room": "attic", "value": 25.0})
    assert found.is_composite
    assert found.operands == ("i",)
    assert [(way.operand, way.clause.text, way.clause.holds) for way in found.ways] == [
        ("h", "value > 30", False),
        ("i", "true", True),
    ]
    assert found.ways[1].key == {"room": "attic"}
    assert why_of(plan, "neighbour.Smoke", {"where": "hall", "density": 1.0}).ways == ()


def test_why_tells_that_a_key_is_missing(make: Make) -> None:
    plan = compile_plan(make(profiles("Heat h ; Heat i", "h.note = i.note")))
    found = why_of(plan, "house.Heat", {"room": "attic", "value": 25.0}, "p")
    assert [(way.is_without_key, way.key) for way in found.ways] == [(True, {"note": None})] * 2
    assert not found.delivered


def test_operands_count_where_profiles_are_matched(make: Make) -> None:
    plan = compile_plan(make())
    assert plan.profiles == ("alarm", "hot", "warm")
    assert plan.subscriptions == ("alarm/a", "alarm/v", "hot/h", "hot/i", "hot/v", "warm")
    chosen = choose_matching(plan, of_lines=False)
    assert (chosen.profiles, chosen.reason) == (6, "6 profiles and operands, columns pay up to 256")


def test_a_run_counts_events_and_not_reports_as_matched(make: Make, tmp_path: Path) -> None:
    plan = compile_plan(make(profiles("Heat h ; Heat i within 1 h", "h.value > 1 and i.value > 1")))
    events = [
        Event(str(at), "/s", "house.Heat", datetime(2026, 1, 1, 12, at, tzinfo=UTC), {"room": "a", "value": float(at)})
        for at in range(5)
    ]
    summary = run_into_folder(plan, events, tmp_path / "out")
    assert (summary.delivered, summary.matched) == ({"p": 3}, 3)


def test_an_operand_of_every_type_takes_all_events_of_the_domain(make: Make) -> None:
    plan = compile_plan(make(profiles("Event e ; Vent v")))
    assert {route.source.name for route in plan.routes for one in route.deliveries if one.profile == "p/e"} == {
        "Heat",
        "Vent",
    }
