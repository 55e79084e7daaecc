"""A stream into Delta tables among kills: nothing is lost, nothing comes twice, and every batch is there once.

The driver, its Java, its workers and all of them together are killed at moments that a seed decides. The same stream
goes on after each, and what is in the tables at the end is compared with what `chaos.expected` says. Tables in an
object store are written on a way on which requests fail, are late, or are carried out without an answer, by chance.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.integration.chaos import PROFILES, Plant, Sent, differences, encoded, expected, told_by
from tests.integration.disturbed import CODES, Running, disturb, wait_until
from tests.integration.test_chaos import NIGHTLY, SEED
from tests.s3 import ObjectStore, Weather, faulty_way

from comity.storage.place import LocalStorage, Storage

KILLS = 60 if NIGHTLY else 3
VICTIMS = ("java", "driver", "workers", "all")
PLANT = """\
domain: plant
types:
  Sensed: {attributes: {machine: string, level: float}}
  Cleared: {attributes: {machine: string}}
sources:
  folder: {files: ../events}
"""
DELTA = ("--results", "delta")


def set_up(plant: Plant) -> None:
    plant.federation.mkdir(parents=True)
    plant.events.mkdir()
    (plant.federation / "plant.yaml").write_text(PLANT)
    (plant.federation / "profiles.yaml").write_text(PROFILES)


def put(plant: Plant, name: str, some: Sequence[Sent]) -> None:
    """A file of events, with a broken line, that appears as a whole."""
    partial = plant.events / f".{name}"
    partial.write_bytes(encoded("jsonl", some, None) + b"{broken\n")
    partial.rename(plant.events / name)


@pytest.mark.slow
@pytest.mark.spark
def test_tables_among_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    plant = Plant(tmp_path, Random(SEED))
    among_kills(plant, partial(Running.of, plant, *DELTA), KILLS)
    check(LocalStorage(plant.out), plant, KILLS)


@pytest.mark.slow
@pytest.mark.spark
def test_tables_in_a_store_that_fails_lose_and_repeat_nothing(s3: ObjectStore, tmp_path: Path) -> None:
    plant, kills = Plant(tmp_path, Random(SEED)), KILLS if NIGHTLY else 2
    out = f"{s3.bucket()}/alarms"
    with faulty_way(s3) as way:
        way.weather = Weather(Random(SEED), share=0.05, longest_delay_s=0.5)
        options = (*DELTA, "--state", str(plant.out), *way.store.options)
        among_kills(plant, partial(Running.of, plant, *options, out=out), kills)
        assert way.weather.befallen, "nothing failed"
    check(s3.storage(out), plant, kills)


def among_kills(plant: Plant, begin: Callable[..., Running], kills: int) -> None:
    """A stream that is killed so often, begun again each time, and ended when all is read."""
    set_up(plant)
    started = [begin()]
    try:
        for number in range(kills):
            if started[-1].is_over():
                started.append(begin())
            kill_in_a_round(plant, started[-1], number, VICTIMS[number % len(VICTIMS)])
        started[-1].end()
        started.append(begin("--until-empty"))
        assert started[-1].wait() == 0, "".join(started[-1].errors)
    finally:
        for one in started:
            one.end()


def kill_in_a_round(plant: Plant, running: Running, number: int, victim: str) -> None:
    """Write two files, with events of the file before in them, and kill somewhere in their batches."""
    batches = len(running.said)
    for part in ("a", "b"):
        repeated = plant.sent[-2:]
        put(plant, f"{number}-{part}.jsonl", [*plant.draw(number, part, 12), *repeated])
        if part == "a" and plant.chance.random() < 0.7:
            wait_until(lambda: running.is_over() or len(running.said) > batches)
    time.sleep(plant.chance.uniform(0, 2))
    disturb(running, victim)
    if None not in CODES[victim]:
        assert running.wait() in CODES[victim], "".join(running.errors)
    assert not any("Traceback" in line for line in running.errors), "".join(running.errors)


def check(place: Storage, plant: Plant, rounds: int) -> None:
    """What is in the tables."""
    wanted = expected(plant.sent)
    assert len(wanted) > 8 * rounds
    rows = rows_in(place, "notifications")
    assert differences(wanted, told_by({**row, "data": json.loads(row["data"])} for row in rows)) == []
    assert [row["code"] for row in rows_in(place, "rejected")] == ["bad-json"] * 2 * rounds


def rows_in(place: Storage, table: str) -> list[dict[str, Any]]:
    found = DeltaTable(f"{place.address}/{table}", storage_options=place.delta_options())
    return found.to_pyarrow_table().to_pylist()
