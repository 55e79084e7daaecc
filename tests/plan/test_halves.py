"""A plan in halves: what one half tells and the other takes up is what the whole plan gives."""

from __future__ import annotations

import pytest
from tests.conftest import ROOT

from comity.engine import Notification
from comity.engine.live import STORED, LiveEngine
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.files import read_events
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Lookup, walk
from comity.federation import load
from comity.limits import limited
from comity.plan import Plan, compile_plan
from comity.plan.halves import network_filters, publications, receiving_half

ALARM = {"spot": "string?", "heat": "float degF", "level": "int?"}


def _plan(where: str, spot: str = "spot", level: str = "1", **tables: object) -> Plan:
    """A plant that measures in degrees Celsius, and an office that wants to hear of heat."""
    seen = {"spot": spot, "heat": "heat", "level": level}
    return compile_plan(
        load(
            {
                "domains": {
                    "plant": {"types": {"Reading": {"attributes": {"room": "string", "heat": "float degC"}}}},
                    "office": {"types": {"Alarm": {"attributes": ALARM}}},
                },
                "contracts": {
                    "heat": {
                        "types": {"Heat": {"attributes": {"spot": "string", "heat": "float degC"}}},
                        "members": {"plant": {"type": "Reading", "map": {"spot": "room", "heat": "heat"}}},
                        "observers": {"office": {"type": "Alarm", "map": seen}},
                        **tables,
                    }
                },
                "profiles": {"hot": {"domain": "office", "on": "Alarm", "where": where}},
            }
        )
    )


def test_a_subscriber_asks_for_contract_types_in_their_units() -> None:
    half = receiving_half(_plan("heat > 212 and spot = 'hall'"), "office")
    (asked,) = network_filters(half)
    assert asked.startswith("event.type = 'heat.Heat' and heat > 100 and ")
    assert asked.endswith(" and spot = 'hall'")


def test_a_table_of_the_federation_becomes_what_a_broker_knows() -> None:
    half = receiving_half(_plan("spot = 'up'", "lookup('floors', spot)", tables={"floors": {"attic": "up"}}), "office")
    assert network_filters(half) == ("event.type = 'heat.Heat' and spot = 'attic'",)


def test_what_only_a_federation_knows_is_asked_for_by_type_alone() -> None:
    floors = {"floors": {"hall": 1, "attic": 3}}
    with limited(max_simplified_nodes=3):  # or the table would become cases
        plan = _plan("level * 100 > heat / 1 degF", level="lookup('floors', spot)", tables=floors)
        half = receiving_half(plan, "office")
    assert any(isinstance(part, Lookup) for part in walk(half.routes[0].deliveries[0].wanted))
    assert network_filters(half) == ("event.type = 'heat.Heat'",)


def test_nobody_else_s_profiles_are_in_a_half() -> None:
    assert receiving_half(_plan("heat > 212"), "plant").routes == ()


def test_a_profile_that_wants_some_members_only_is_refused() -> None:
    """What comes from a network does not say whose it was, and what is out of scope must not be delivered."""
    house = {"types": {"Fire": {"attributes": {"heat": "int"}}}}
    members = {name: {"type": "Fire", "map": "same"} for name in ("north", "south")}
    plan = compile_plan(
        load(
            {
                "domains": {"north": house, "south": house, "station": house},
                "contracts": {
                    "fire": {
                        "types": {"Alarm": {"attributes": {"heat": "int"}}},
                        "members": members,
                        "observers": {"station": {"type": "Fire", "map": "same"}},
                    }
                },
                "profiles": {
                    "all": {"domain": "station", "on": "Fire"},
                    "some": {"domain": "station", "on": "Fire", "scope": ["north"]},
                },
            }
        )
    )
    with pytest.raises(Misuse, match="some members only") as refused:
        receiving_half(plan, "station")
    assert refused.value.code == "origin-not-told"


def _notified(engine: LiveEngine, events: list[Event]) -> set[tuple[str, str, str]]:
    found = (one for event in events for one in engine.push(event))
    return {(one.profile, one.event.id, str(one.event.data)) for one in found if isinstance(one, Notification)}


@pytest.mark.parametrize("name", ["active_city", "two_houses", "bus_location", "meta_auction"])
def test_both_halves_together_give_what_the_whole_gives(name: str) -> None:
    folder = ROOT / "examples" / name
    federation = load(folder)
    plan = compile_plan(federation)
    events = [one for one in read_events(folder / "events", federation.find_type) if isinstance(one, Event)]
    told = [
        made
        for event in events
        for one in publications(plan)
        if one.source.qualified_name == event.type and isinstance(made := one.of(event), Event)
    ]
    found: set[tuple[str, str, str]] = set()
    for subscriber in plan.subscribers:
        half = receiving_half(plan, subscriber)
        asked = [bind_text(text, Scope()) for text in network_filters(half)]
        arriving = [event for event in told if any(holds(one, event) for one in asked)]
        own = [event for event in events if event.type.startswith(f"{subscriber}.")]
        found |= _notified(LiveEngine(half, STORED), [*own, *arriving])
    assert found == _notified(LiveEngine(plan, STORED), events) != set()
