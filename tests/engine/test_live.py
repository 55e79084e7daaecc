"""The live engine: what it tells over scripts of pushes, times, changes and restarts, against the reference."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.scripts import Change, Push, Restart, Script, Tell, texts, told_by_engine, told_by_reference

from comity.engine import LiveEngine, Notification, run
from comity.engine.live import STORED, Pace
from comity.engine.outcome import LateEvent
from comity.errors import Misuse, Permanent
from comity.event import Event, Rejected
from comity.event.formats.jsonlines import decode, encode
from comity.federation import Federation, load
from comity.plan import Plan, compile_plan
from comity.testing.federations import federation_texts, load_texts
from comity.testing.records import good_events, lines

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
COMPOSITES: dict[str, dict[str, Any]] = {
    "spreading": {
        "domain": "fire_station",
        "on": "Incident a ; Incident b within 10 min",
        "where": "a.where_inside = b.where_inside and b.temperature > 60 degC",
    },
    "hotter": {
        "domain": "fire_station",
        "on": "Incident a ; Incident b within 10 min",
        "where": "b.temperature > a.temperature + 20 and a.level >= 2",
        "duplicates": "first",
    },
    "unanswered": {
        "domain": "house_a",
        "on": "FireDetected f ; not WaterLeak w within 5 min",
        "where": "f.room = w.room",
    },
    "quiet": {"domain": "house_a", "on": "not WaterLeak w within 4 min"},
    "third": {"domain": "house_a", "on": "(WaterLeak w)[3] & FireDetected f within 30 min"},
}
SIMPLE: dict[str, dict[str, Any]] = {
    "warm": {"domain": "fire_station", "on": "Incident", "where": "temperature > 40 degC"},
    "attic": {"domain": "house_a", "on": "FireDetected", "where": "room = 'attic'"},
    "leaks": {"domain": "house_a", "on": "WaterLeak"},
}
BEGIN = datetime(2026, 1, 10, tzinfo=UTC)
LATENESS = timedelta(minutes=2)
PACE = Pace(LATENESS, timedelta(days=30))


def plan_of(folder: Path, names: list[str]) -> Plan:
    """The two houses with these profiles beside their own."""
    profiles = {name: {**SIMPLE, **COMPOSITES}[name] for name in names}
    beside = {"profiles": profiles} if profiles else {}
    target = folder / "-".join(["plan", *sorted(names)])
    if not target.exists():
        for file in EXAMPLE.rglob("*.yaml"):
            copy = target / file.relative_to(EXAMPLE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(file.read_text())
        if beside:
            (target / "profiles" / "more.yaml").write_text(yaml.safe_dump(beside))
    return compile_plan(load(target))


def some_lines(chance: Random, count: int, disorder_s: int) -> list[bytes]:
    """Fires and leaks in both houses, every 20 seconds or so, some again, some that no contract can map."""
    rooms = ("hall", "attic")
    found: list[tuple[int, bytes]] = []
    for number in range(count):
        at = 20 * number + chance.randint(0, 15)
        time = (BEGIN + timedelta(seconds=at)).isoformat().replace("+00:00", "Z")
        severity = chance.choice(("niedrig", "mittel", "hoch", "unbekannt"))
        place = {"floor": 0, "room": chance.choice(rooms)}
        type, data = chance.choice(
            [
                ("house_a.FireDetected", {"room": chance.choice(rooms), "heat": float(chance.randint(100, 300))}),
                ("house_a.WaterLeak", {"room": chance.choice(rooms), "litres": 1.5}),
                ("house_b.Brand", {"place": place, "celsius": float(chance.randint(30, 150)), "severity": severity}),
                ("house_b.Brand", {"place": place}),
            ]
        )
        record = {"id": str(number), "source": type.split(".")[0], "type": type, "time": time, "data": data}
        for _ in range(chance.choice((1, 1, 1, 2))):
            found.append((at + chance.randint(0, disorder_s), json.dumps(record).encode()))
    return [line for _, line in sorted(found, key=lambda one: one[0])]


def script_of(chance: Random, records: list[bytes], plans: list[Plan], *, times: list[datetime]) -> Script:
    """The records in pieces, with changes, restarts and times in between."""
    script: list[Any] = []
    at = 0
    while at < len(records):
        size = chance.choice((1, 1, 2, 7))
        script.append(Push(tuple(records[at : at + size])))
        at += size
        happens = chance.random()
        if happens < 0.1:
            script.append(Change(chance.choice(plans)))
        elif happens < 0.2:
            script.append(Restart())
        elif happens < 0.25 and times:
            script.append(Tell(chance.choice(times)))
    return script


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[Plan]:
    folder = tmp_path_factory.mktemp("plans")
    chance = Random(5)
    names = [*SIMPLE, *COMPOSITES]
    subsets = [names, [], list(SIMPLE), *([one for one in names if chance.random() < 0.5] for _ in range(5))]
    return [plan_of(folder, subset) for subset in subsets]


@settings(max_examples=40)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_what_a_script_means(plans: list[Plan], chance: Random) -> None:
    disorder = chance.choice((0, 60, 60, 400))  # the last one makes some late
    times = [BEGIN + timedelta(seconds=chance.randint(0, 900)) for _ in range(3)]
    records = some_lines(chance, chance.randint(5, 40), disorder)
    script = script_of(chance, records, plans, times=times if chance.random() < 0.5 else [])
    plan = chance.choice(plans)
    assert told_by_engine(plan, script, PACE) == told_by_reference(plan, script, LATENESS)


@settings(max_examples=30)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_what_generated_federations_mean_while_they_change(chance: Random) -> None:
    federations = [compile_plan(load_texts(given)) for given in variants(chance)]
    records = [
        line
        for plan in federations
        for line in lines(chance, good_events(chance, plan.types, 8), plan.types, 6)
        if len(line) < 20_000
    ]
    chance.shuffle(records)
    script = script_of(chance, records, federations, times=[])
    pace = Pace(LATENESS, timedelta(days=4_000_000))
    assert told_by_engine(federations[0], script, pace) == told_by_reference(federations[0], script, LATENESS)


def variants(chance: Random) -> list[dict[str, str]]:
    """A federation, the same with other profiles, with some profiles less, and another one."""
    first, other = dict(federation_texts(chance)), dict(federation_texts(chance))
    profiles = yaml.safe_load(first["profiles"])["profiles"] or {}
    fewer = {name: one for name, one in profiles.items() if chance.random() < 0.5}
    looser = {
        name: {key: value for key, value in one.items() if key != "where" or chance.random() < 0.5}
        for name, one in profiles.items()
    }
    return [first, *({**first, "profiles": yaml.safe_dump({"profiles": some})} for some in (fewer, looser)), other]


@settings(max_examples=20)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_in_all_what_a_run_over_stored_events_gives(plans: list[Plan], chance: Random) -> None:
    records = some_lines(chance, 30, 60)
    script = script_of(chance, records, [plans[0]], times=[])
    types = {one.qualified_name: one for one in plans[0].types}.get
    stored = run(plans[0], (decode(record, types, require_time=True) for record in records))
    assert told_by_engine(plans[0], script, PACE) == texts(stored)
