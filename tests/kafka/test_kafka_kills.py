"""A stream from a topic into a topic among kills: nothing is lost, and readers of what is committed see nothing twice.

The driver, its Java, its workers and all of them together are killed at moments that a seed decides. The same command
goes on after each, and what is in the topic at the end is compared with what `chaos.expected` says.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random

import pytest

from tests.integration.chaos import PROFILES, Plant, differences, encoded, expected, told_by
from tests.integration.disturbed import CODES, Running, disturb, wait_until
from tests.integration.test_chaos import NIGHTLY, SEED
from tests.kafka.broker import Kafka
from tests.kafka.jars import CONNECTOR, jars
from tests.kafka.test_topics import topics

KILLS = 40 if NIGHTLY else 2
VICTIMS = ("driver", "java", "all", "workers")
PLANT = """\
domain: plant
types:
  Sensed: {{attributes: {{machine: string, level: float}}}}
  Cleared: {{attributes: {{machine: string}}}}
sources:
  line: {{kafka: {{topics: {topic}, servers: "{servers}", records_per_batch: 20}}}}
"""


@pytest.mark.slow
@pytest.mark.spark
def test_topics_among_kills_lose_and_repeat_nothing(kafka: Kafka, tmp_path: Path) -> None:
    chance, come, gone = Random(SEED), kafka.topic(), topics(kafka)
    plant = Plant(tmp_path, chance)
    plant.federation.mkdir(parents=True)
    (plant.federation / "plant.yaml").write_text(PLANT.format(topic=come, servers=kafka.servers))
    (plant.federation / "profiles.yaml").write_text(PROFILES)
    connector = "spark.jars=" + ",".join(str(jar) for jar in jars(CONNECTOR))
    address = f"kafka://{kafka.servers}/{gone}"
    options = ("--results", "kafka", "--out", address, "--state", str(plant.out), "--spark-config", connector)
    started = [Running.of(plant, *options)]
    try:
        for number in range(KILLS):
            if started[-1].is_over():
                started.append(Running.of(plant, *options))
            kill_in_a_round(kafka, come, plant, started[-1], number, VICTIMS[number % len(VICTIMS)])
        started[-1].end()
        started.append(Running.of(plant, *options, "--until-empty"))
        assert started[-1].wait() == 0, "".join(started[-1].errors)
    finally:
        for one in started:
            one.end()
    wanted = expected(plant.sent)
    assert len(wanted) > 8 * KILLS
    assert differences(wanted, told_by(json.loads(one.value() or b"") for one in kafka.messages(gone))) == []
    refused = [json.loads(one.value() or b"") for one in kafka.messages(f"{gone}.rejected")]
    assert [one["faults"][0]["code"] for one in refused] == ["bad-json"] * 2 * KILLS


def kill_in_a_round(kafka: Kafka, topic: str, plant: Plant, running: Running, number: int, victim: str) -> None:
    """Send twice, with events that were sent before among them, and kill somewhere in the batches of it."""
    batches = len(running.said)
    for part in ("a", "b"):
        repeated = plant.sent[-2:]
        lines = encoded("jsonl", [*plant.draw(number, part, 12), *repeated], None).splitlines()
        for line in (*lines, b"{broken"):
            kafka.send(topic, [line], partition=plant.chance.randrange(4))
        if part == "a" and plant.chance.random() < 0.7:
            wait_until(lambda: running.is_over() or len(running.said) > batches)
    time.sleep(plant.chance.uniform(0, 2))
    disturb(running, victim)
    if None not in CODES[victim]:
        assert running.wait() in CODES[victim], "".join(running.errors)
    assert not any("Traceback" in line for line in running.errors), "".join(running.errors)
