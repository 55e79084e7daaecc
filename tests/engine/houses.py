"""The two houses with more profiles, simple and composite ones, and events for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import yaml

from comity.federation import load
from comity.plan import Plan, compile_plan

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


def plan_of(folder: Path, names: list[str]) -> Plan:
    """The plan of the two houses with these profiles beside their own."""
    return compile_plan(load(houses(folder / "-".join(["plan", *sorted(names)]), names)))


def houses(target: Path, names: Iterable[str]) -> Path:
    """The folder, which has the files of the two houses now, with these profiles beside their own."""
    for file in EXAMPLE.rglob("*.yaml"):
        copy = target / file.relative_to(EXAMPLE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(file.read_text())
    profiles = {name: {**SIMPLE, **COMPOSITES}[name] for name in names}
    (target / "profiles" / "more.yaml").write_text(yaml.safe_dump({"profiles": profiles}))
    return target


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
        line = json.dumps(record).encode()
        found += [(at + chance.randint(0, disorder_s), line) for _ in range(chance.choice((1, 1, 1, 2)))]
    return [line for _, line in sorted(found, key=lambda one: one[0])]
