"""What the sources of a federation are asked for, what is left, and how it is explained."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comity.connect.specs import SourceSpec
from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.federation import Federation, load
from comity.language import Language
from comity.language.parquet import PARQUET
from comity.plan import compile_plan
from comity.plan.asks import SourceAsk, asks
from comity.plan.explain import Node, explain
from comity.plan.why import why

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"

HOUSE = """\
domain: house
types:
  Fire: {attributes: {room: string, heat: float degF, smoke: int?}}
  Leak: {attributes: {litres: float litre}}
sources:
  sensors: {files: events}
  door: {webhook: {port: 8099, path: /events}}
"""
STATION = """\
domain: station
types:
  Incident: {attributes: {place: string, temperature: float degC, risk: float?}}
sources:
  radio: {files: radio}
deliver:
  control_room: {webhook: {url: "http://127.0.0.1:9000/incidents"}}
"""
CONTRACT = """\
contract: fire
types:
  Alarm: {attributes: {room: string, temperature: float degC, risk: float?}}
members:
  house: {type: Fire, map: {room: room, temperature: heat, risk: "abs(float(smoke))"}}
observers:
  station: {type: Incident, map: {place: room, temperature: temperature, risk: risk}}
"""
PROFILES = """\
profiles:
  hot: {domain: station, on: Incident, where: temperature > 60 degC}
  attic: {domain: station, on: Incident, where: temperature > 30 degC and place = 'attic' and risk > 0.5}
"""


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    for name, text in {"house": HOUSE, "station": STATION, "contract": CONTRACT, "profiles": PROFILES}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load(tmp_path)


def parquet(source: SourceSpec | None) -> Language:
    return PARQUET


def asked(federation: Federation) -> dict[tuple[str, str], SourceAsk]:
    found = asks(compile_plan(federation), federation.sources, language_of=parquet)
    return {(one.name, one.type.name): one for one in found}


def lines(node: Node) -> list[str]:
    return [node[0], *(line for part in node[1] for line in lines(part))]


def test_asks_every_source_of_a_domain_for_each_wanted_type(federation: Federation) -> None:
    found = asked(federation)
    assert set(found) == {("house.sensors", "Fire"), ("house.door", "Fire"), ("station.radio", "Incident")}
    assert found["house.sensors", "Fire"].ask.text.startswith("(heat > 140.0")


def test_asks_in_the_terms_and_units_of_the_source(federation: Federation) -> None:
    text = asked(federation)["house.sensors", "Fire"].ask.text
    assert "room = 'attic'" in text
    assert "smoke IS NOT NULL" in text
    assert "heat > 140.0" in text


def test_asks_blames_the_mapping_for_what_it_computes(federation: Federation) -> None:
    ((_, parts),) = asked(federation)["house.sensors", "Fire"].routes
    (attic,) = [part for part in parts if part.want.profile == "attic"]
    assert [one.code for one in attic.reasons] == ["over-mapping", "weakened"]
    assert "abs(" in attic.reasons[0].clause


def test_asks_of_connectors_without_filters_are_for_everything(federation: Federation) -> None:
    for one in asks(compile_plan(federation), federation.sources):
        assert one.ask.asks_for_everything
        assert [reason.code for reason in one.ask.reasons] == ["source-has-no-filter"]
        for route, parts in one.routes:
            assert [part.residual for part in parts] == [delivery.wanted for delivery in route.deliveries]


def test_asks_the_files_of_the_run_where_a_domain_names_no_source() -> None:
    names = {(one.source, one.name) for one in asks(compile_plan(load(EXAMPLE)))}
    assert names == {(None, "the event files of the run")}


def test_explain_shows_the_stages_in_their_order(federation: Federation) -> None:
    found = explain(compile_plan(federation), "attic", sources=federation.sources, sinks=federation.sinks)
    node = next(part for part in found.as_tree()[1] if "house.sensors" in part[0])
    shown = "\n".join(lines(node))
    stages = ["asked for", "wrap as", "mediate to", "deduplicate", "match:", "observe as", "deliver to"]
    assert [shown.index(stage) for stage in stages] == sorted(shown.index(stage) for stage in stages)
    assert "deliver to results/station, control_room (webhook)" in shown
    assert "profile hot" not in shown


def test_explain_names_sources_that_nobody_needs(federation: Federation) -> None:
    more = (*federation.sources, SourceSpec("spare", "elsewhere", "stdin"))
    found = explain(compile_plan(federation), sources=more)
    assert "nobody wants events from elsewhere.spare (stdin)" in lines(found.as_tree())
    assert found.as_dict()["idle"] == ["elsewhere.spare"]


def test_explain_as_data_says_what_is_asked_and_what_is_left(federation: Federation) -> None:
    found = explain(compile_plan(federation), sources=federation.sources, language_of=parquet)
    radio = next(one for one in found.as_dict()["sources"] if one["source"] == "station.radio")
    assert (radio["kind"], radio["language"]) == ("files", "parquet")
    assert radio["asked"]["native"] == ("temperature > 60.0 OR (temperature > 30.0 AND place = 'attic' AND risk > 0.5)")
    (route,) = radio["routes"]
    assert {one["profile"]: one["residual"] for one in route["deliveries"]} == {
        "hot": "temperature > 60",
        "attic": "temperature > 30 and place = 'attic' and risk > 0.5",
    }


@pytest.mark.parametrize(("heat", "sends"), [(150.0, True), (100.0, False)])
def test_why_says_whether_the_source_would_send_the_event(federation: Federation, heat: float, sends: bool) -> None:
    fire = Event("1", "/s", "house.Fire", NOON, {"room": "hall", "heat": heat})
    found = why(compile_plan(federation), "hot", fire, sources=federation.sources, language_of=parquet)
    assert {one.source: one.sends for one in found.asked} == {"house.sensors": sends, "house.door": sends}
    assert found.delivered is sends


def test_what_a_source_is_asked_for_never_keeps_a_notification_away() -> None:
    federation = load(EXAMPLE)
    plan = compile_plan(federation)
    delivered = 0
    for path in sorted((EXAMPLE / "events").glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            record = decode(line, federation.find_type, require_time=True)
            for profile in federation.profiles:
                found = why(plan, profile, record, language_of=parquet)
                delivered += found.delivered
                assert not found.delivered or all(one.sends for one in found.asked)
    assert delivered > 2
