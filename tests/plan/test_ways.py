"""Ways: what a runner has to do for a plan."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from comity.event import Event
from comity.expression.evaluate import holds
from comity.expression.tree import FALSE
from comity.federation import load
from comity.plan import Plan, compile_plan
from comity.plan.ways import Ways, ways_of
from comity.testing.federations import federation_texts, load_texts
from comity.testing.records import good_events
from comity.testing.reference import run_every_way

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"


def example() -> tuple[Plan, Ways]:
    plan = compile_plan(load(EXAMPLE))
    return plan, ways_of(plan)


def test_profiles_of_one_subscriber_share_a_way() -> None:
    _, found = example()
    shared = {test.profile: test.way for test in found.tests["house_a.FireDetected"] if test.profile}
    assert set(shared) == {"serious_fires", "main_street"}
    assert len(set(shared.values())) == 1


def test_what_mediation_may_not_complete_is_tested_first_and_has_a_way_to_nobody() -> None:
    _, found = example()
    first = found.tests["house_b.Brand"][0]
    assert first.profile is None
    assert found.ways[first.way].subscriber is None
    brand = Event("1", "/b", "house_b.Brand", data={"severity": "odd", "celsius": 1.0, "place": {"room": "hall"}})
    refused = found.ways[first.way].follow(brand)
    assert isinstance(refused, list)
    assert [fault.path for fault in refused] == ["level"]
    # The ways to subscribers leave it at that, so that it is told once.
    others = [found.ways[test.way].follow(brand) for test in found.tests["house_b.Brand"] if test.profile]
    assert others
    assert not any(others)


def test_a_way_ends_in_the_type_of_the_subscriber() -> None:
    _, found = example()
    targets = {(way.source.qualified_name, way.target.qualified_name) for way in found.ways if way.subscriber}
    assert targets == {
        ("house_a.FireDetected", "fire_station.Incident"),
        ("house_b.Brand", "fire_station.Incident"),
        ("fire_station.Incident", "fire_station.Incident"),
    }


def test_conditions_that_never_hold_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("domain: a\ntypes: {T: {attributes: {n: int}}}\n")
    (tmp_path / "p.yaml").write_text(
        "profiles:\n  never: {domain: a, on: T, where: n > 3 and n < 4}\n  some: {domain: a, on: T, where: n > 3}\n"
    )
    plan = compile_plan(load(tmp_path))
    found = ways_of(plan)
    assert [test.profile for test in found.tests["a.T"]] == ["some"]
    assert [delivery.wanted == FALSE for delivery in plan.routes[0].deliveries] == [True, False]


def test_ways_travel_to_other_processes() -> None:
    plan, found = example()
    arrived = pickle.loads(pickle.dumps(found))
    assert arrived == found
    event = Event("1", "/a", "house_a.FireDetected", data={"room": "hall", "heat": 212.0})
    assert [way.follow(event) for way in arrived.ways if way.source.name == "FireDetected"] == [
        way.follow(event) for way in found.ways if way.source.name == "FireDetected"
    ]
    assert plan.types


@given(chance=st.randoms(use_true_random=False))
def test_tests_and_ways_together_do_what_the_routes_do(chance: Random) -> None:
    plan = compile_plan(load_texts(federation_texts(chance)))
    found = ways_of(plan)
    for event in good_events(chance, plan.types, 8):
        told = []
        refused = 0
        for test in found.tests.get(event.type, ()):
            if holds(test.condition, event):
                seen = found.ways[test.way].follow(event)
                if isinstance(seen, Event):
                    assert test.profile is not None
                    told.append((test.profile, seen))
                else:
                    refused += bool(seen)
        meant = list(run_every_way(plan, [event]))
        assert told == [(one.profile, one.event) for one in meant if hasattr(one, "profile")]
        assert refused == sum(not hasattr(one, "profile") for one in meant)
