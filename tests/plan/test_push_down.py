"""What sources filter out changes nothing for anybody: the same notifications with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import event as noted
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.connect.connectors.memory.source import Filters, MemorySource
from comity.connect.port import FOR_EVERYTHING, Ask, TypeAsk
from comity.connect.specs import SourceSpec
from comity.engine import run
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.federation import Federation, load
from comity.plan import compile_plan
from comity.plan.asks import asked_of, asks
from comity.plan.explain import explain
from comity.plan.stages import Plan
from comity.plan.why import why
from comity.testing.federations import SOURCE_DOMAINS, federation_texts, load_texts
from comity.testing.records import good_events, lines


def given_by(source: MemorySource, ask: Ask) -> list[bytes]:
    """Everything that a source gives when it is asked so."""
    source.open(None, ask)
    batch = source.next_batch(1_000_000)
    return [] if batch is None else [record.line for record in batch.records]


def notified(plan: Plan, federation: Federation, given: Sequence[bytes]) -> list[tuple[object, ...]]:
    records = [decode(line, federation.find_type) for line in given]
    found = [one for one in run(plan, records) if not isinstance(one, Rejected)]
    return [(one.subscriber, one.profile, one.event) for one in found]


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from(["terms", "tags", "rows"]))
def test_notifications_are_the_same_with_and_without_push_down(seed: int, filters: Filters) -> None:
    chance = Random(seed)
    federation = load_texts(federation_texts(chance))
    plan = compile_plan(federation)
    sent: list[bytes] = []
    asked: list[bytes] = []
    for domain in SOURCE_DOMAINS:
        types = [one for one in plan.types if one.namespace == domain]
        if types:
            own = lines(chance, good_events(chance, types, 25), types, 5)
            ask = asked_of(SourceSpec("feed", domain, "memory", {"filters": filters}), plan)
            sent += given_by(MemorySource(own), FOR_EVERYTHING)
            asked += given_by(MemorySource(own, filters=filters), ask)
    noted(f"{'some' if len(asked) < len(sent) else 'nothing'} is filtered out")
    before, after = notified(plan, federation, sent), notified(plan, federation, asked)
    assert [one for one in after if not is_odd(one)] == [one for one in before if not is_odd(one)]
    assert all(one in after for one in before), "lost"


def is_odd(notification: tuple[object, ...]) -> bool:
    """What is wrong in an attribute that nobody reads is not sent, so such an event is not rejected for it."""
    event = notification[2]
    return isinstance(event, Event) and event.id.startswith("odd")


HOUSE = """\
domain: house
types:
  Fire: {attributes: {room: string, heat: float degC, smoke: int?, note: string?}}
  Leak: {attributes: {litres: float litre}}
sources:
  sensors: {memory: {filters: FILTERS}}
"""
STATION = """\
domain: station
types:
  Incident: {attributes: {place: string, temperature: float degC}}
"""
CONTRACT = """\
contract: fire
types:
  Alarm: {attributes: {room: string, temperature: float degC}}
members:
  house: {type: Fire, map: {room: room, temperature: heat}}
observers:
  station: {type: Incident, map: {place: room, temperature: temperature}}
"""
PROFILES = """\
profiles:
  hot: {domain: station, on: Incident, where: temperature > 60 degC}
  warm_attic: {domain: station, on: Incident, where: temperature > 30 degC and place = 'attic'}
"""
SILENCE = """\
profiles:
  quiet: {domain: station, on: not Incident f within 1 h}
"""


def federation(folder: Path, filters: str, profiles: str = PROFILES) -> Federation:
    files = {"house": HOUSE.replace("FILTERS", filters), "station": STATION, "contract": CONTRACT, "profiles": profiles}
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load(folder)


@pytest.mark.parametrize(
    ("filters", "native"),
    [
        ("terms", "heat > 30.0"),  # no `or`: the box around both
        ("tags", None),  # no order: everything
        ("rows", 'heat > 60.0 | (heat > 30.0 & room = "attic")'),
    ],
)
def test_asked_of_says_what_the_dialect_can(tmp_path: Path, filters: str, native: str | None) -> None:
    found = federation(tmp_path, filters)
    (source,) = found.sources
    (fire,) = asked_of(source, compile_plan(found)).types or ()
    assert fire == TypeAsk("house.Fire", native, ("heat", "room"))


def test_asked_of_leaves_out_types_that_nobody_wants(tmp_path: Path) -> None:
    found = federation(tmp_path, "rows", "profiles:\n  none: {domain: house, on: Fire, where: 'false'}\n")
    assert asked_of(found.sources[0], compile_plan(found)) == Ask(())


def test_asked_of_asks_for_all_attributes_where_somebody_sees_the_event_itself(tmp_path: Path) -> None:
    found = federation(tmp_path, "rows", "profiles:\n  all: {domain: house, on: Fire, where: heat > 1 degC}\n")
    assert asked_of(found.sources[0], compile_plan(found)) == Ask((TypeAsk("house.Fire", "heat > 1.0"),))


def test_asked_of_a_source_without_filters(tmp_path: Path) -> None:
    found = federation(tmp_path, "none")
    assert asked_of(found.sources[0], compile_plan(found)) == FOR_EVERYTHING


def test_a_silence_needs_every_event(tmp_path: Path) -> None:
    """It begins with the first event of any type, and ends with the last."""
    found = federation(tmp_path, "rows", SILENCE)
    plan = compile_plan(found)
    assert asked_of(found.sources[0], plan) == FOR_EVERYTHING
    (asked,) = [one for one in asks(plan, found.sources) if one.source is not None]
    assert [str(reason) for reason in asked.ask.reasons] == ["[silence-needs-every-event]"]


def test_explain_and_why_tell_the_ask_that_is_used(tmp_path: Path) -> None:
    found = federation(tmp_path, "rows")
    plan, text = compile_plan(found), 'heat > 60.0 | (heat > 30.0 & room = "attic")'
    told = explain(plan, sources=found.sources).as_dict()["sources"][0]
    assert (told["source"], told["language"], told["asked"]["native"]) == ("house.sensors", "memory-rows", text)
    assert told["asked"]["attributes"] == ["heat", "room"]
    line = (
        b'{"id":"1","source":"/a","type":"house.Fire","time":"2026-11-15T18:00:00Z","data":{"room":"hall","heat":40}}'
    )
    event = decode(line, found.find_type)
    (asked,) = why(plan, "hot", event, sources=found.sources).asked
    assert (asked.native, asked.sends) == (text, False)
