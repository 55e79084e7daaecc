"""The examples: what each subscriber receives, in its own words and units, from both runners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from comity.engine import run
from comity.engine.outcome import Notification
from comity.event import read_events
from comity.event.formats.jsonlines import Rejected
from comity.federation import load
from comity.pipeline.run import run_on_spark
from comity.plan import compile_plan
from comity.testing.outcomes import outcomes_in, outcomes_of

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("active_city", "bus_location", "meta_auction", "two_houses")


def outcomes(name: str) -> list[Notification | Rejected]:
    federation = load(EXAMPLES / name)
    events = read_events(EXAMPLES / name / "events", federation.find_type, require_time=True)
    return list(run(compile_plan(federation), events))


def received(name: str, profile: str) -> list[dict[str, Any]]:
    told = (one for one in outcomes(name) if isinstance(one, Notification) and one.profile == profile)
    return [dict(one.event.data) for one in sorted(told, key=lambda one: str(one.event.time))]


def test_the_police_observe_burglaries_of_every_street() -> None:
    assert received("active_city", "burglaries") == [
        {"address": "25 South Street, Cambridge", "room": "lounge"},
        {"address": "27 South Street, Cambridge", "room": "attic"},
        {"address": "3 Durbin Lane, Cambridge", "room": "cellar"},
        {"address": "8 Village Avenue, Cambridge", "room": "bedroom"},
        {"address": "1 Parkside, Cambridge", "room": "garage"},
    ]
    assert len(received("active_city", "burglaries_in_south_street")) == 2


def test_a_house_observes_the_buses_of_the_city_in_minutes() -> None:
    assert received("active_city", "next_bus") == [
        {"line": "7", "stop": "South Street", "in_minutes": 4.0},
        {"line": "2", "stop": "South Street", "in_minutes": 1.5},
    ]
    assert [one["eta"] for one in received("active_city", "line_7")] == [9.0, 4.0, 7.5]


def test_neighbours_watch_over_each_other() -> None:
    assert received("active_city", "neighbourhood_watch") == [
        {"houseNum": 25, "street": "South Street", "room": "lounge"}
    ]
    assert received("active_city", "doorbell_next_door") == [{}]
    assert received("active_city", "arrivals_next_door") == [{"personName": "the plumber", "roomName": "hall"}]
    assert [one["address"] for one in received("active_city", "all_fires")] == [
        "25 South Street, Cambridge",
        "27 South Street, Cambridge",
    ]


def test_what_a_street_cannot_map_is_rejected_once() -> None:
    (rejected,) = [one for one in outcomes("active_city") if isinstance(one, Rejected)]
    assert json.loads(rejected.raw)["data"]["streetAndNumber"] == "Village Avenue eight"


def test_a_filter_on_a_joined_text_crosses_to_its_parts_and_back() -> None:
    assert received("bus_location", "bus_7788_in_main_street") == [
        {"BusLine": "7788", "Time": "9:05 am", "LocationName": "Main Street, Bedford"},
        {"BusLine": "7788", "Time": "1:27 pm", "LocationName": "Main Street, London"},
    ]
    cities = [one["Location"]["City"] for one in received("bus_location", "anything_in_london")]
    assert cities == ["London"] * 3


def test_the_source_is_asked_for_parts_of_a_joined_text() -> None:
    plan = compile_plan(load(EXAMPLES / "bus_location"))
    asked = {
        route.source.qualified_name: str(delivery.wanted)
        for route in plan.routes
        for delivery in route.deliveries
        if delivery.profile == "bus_7788_in_main_street"
    }
    for wanted in (asked["city_buses.BusLocation"], asked["coaches.CoachStop"]):
        assert "Arithmetic" not in wanted, "the concatenation is gone"


def test_money_is_converted_at_the_rate_of_the_event() -> None:
    found = {one["lot"]: one["price"] for one in received("meta_auction", "light_and_cheap")}
    # 125 USD are 96.59 GBP on the first day and 88.54 GBP on the second; 145 USD are too much on both.
    assert found == {
        "vase": pytest.approx(93.5),
        "lamp": pytest.approx(125 / 1.10 * 0.85),
        "clock": pytest.approx(125 / 1.20 * 0.85),
        "fan": pytest.approx(17_000 / 160 * 0.85),
    }


def test_delivery_is_in_the_context_that_the_profile_names() -> None:
    (chair,) = received("meta_auction", "for_the_american_partner")
    assert chair == {
        "lot": "chair",
        "price": pytest.approx(99.0),
        "weight": pytest.approx(13.2277, rel=1e-4),
        "from": "DEU",
    }


@pytest.mark.spark
@pytest.mark.parametrize("name", NAMES)
def test_spark_gives_what_the_engine_gives(name: str, spark: SparkSession, tmp_path: Path) -> None:
    plan = compile_plan(load(EXAMPLES / name))
    files = [str(path) for path in sorted((EXAMPLES / name / "events").glob("*.jsonl"))]
    run_on_spark(plan, files, tmp_path / "out", spark)
    assert outcomes_in(tmp_path / "out", plan.subscribers) == outcomes_of(outcomes(name))
