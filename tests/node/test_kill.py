"""A node that is killed between store and notify, under load: what was acknowledged arrives, and nothing twice."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.conftest import PROFILE
from tests.node.clients import Listener, NodeProcess, Person, people, running

pytestmark = pytest.mark.slow
_KILLS, _PAIRS = (1_000, 20_000) if PROFILE == "nightly" else (20, 400)
_RULES = """\
rule each onEvent HeatEvent h1; where h1.value >= 0;
rule pair onEvent Temperature t1, Humidity h1 where (t1.value == h1.value)
"""


async def _publish(person: Person, number: int) -> None:
    """Publish three events together, again until they are acknowledged; the node says what time it is."""
    events = [
        {"id": f"{number}{type}", "source": "/k", "type": type, "data": data}
        for type, data in (
            ("HeatEvent", {"loc": 1, "value": float(number)}),
            ("Temperature", {"value": float(number)}),
            ("Humidity", {"value": float(number)}),
        )
    ]
    while True:
        with suppress(aiohttp.ClientError, OSError):
            found = await person.publish_all(events)
            assert {one["outcome"] for one in found} <= {"stored", "repeated"}
            return
        await asyncio.sleep(0.05)


async def _listen(person: Person, heard: list[dict[str, Any]], wanted: int) -> None:
    """Hear everything, whatever happens to the connection; what was heard is acknowledged now and then only."""
    seen: set[str] = set()
    while len(heard) < wanted:
        with suppress(aiohttp.ClientError, OSError, AssertionError):  # the connection is gone
            async with person.listening() as listener:
                await _hear(listener, heard, seen, wanted)
        await asyncio.sleep(0.05)


async def _hear(listener: Listener, heard: list[dict[str, Any]], seen: set[str], wanted: int) -> None:
    while len(heard) < wanted:
        said = await listener.next()
        if said["kind"] == "notification" and said["id"] not in seen:
            seen.add(said["id"])
            heard.append(said)
            if len(heard) % 7 == 0:
                await listener.acknowledge(said["position"] - 1)


async def _kill(process: NodeProcess, chance: random.Random, times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(chance.uniform(0.05, 0.5))
        await asyncio.to_thread(process.kill)
        await asyncio.to_thread(process.start)


def test_what_is_acknowledged_arrives_once_through_kills(tmp_path: Path) -> None:
    with running(tmp_path / "house", "lateness: 5 s\n") as process:
        asyncio.run(_run(process))


async def _run(process: NodeProcess) -> None:
    heard: list[dict[str, Any]] = []
    async with people(process.url, "ada", "sensors") as (ada, sensors):
        await ada.rule(_RULES)
        killing = asyncio.ensure_future(_kill(process, random.Random(7), _KILLS))
        listening = asyncio.ensure_future(_listen(ada, heard, 2 * _PAIRS))
        for number in range(_PAIRS):
            await _publish(sensors, number)
        await killing
        await listening
    told = sorted((one["rule"], *(event["data"]["value"] for event in one["events"])) for one in heard)
    singles = [("each", float(number)) for number in range(_PAIRS)]
    assert told == singles + [("pair", float(number), float(number)) for number in range(_PAIRS)]
