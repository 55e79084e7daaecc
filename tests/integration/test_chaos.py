"""A stream among kills, a full disk and broken files: nothing is lost, nothing comes twice, and what is broken is told.

The driver, its Java, its workers and all of them together are killed at moments that a seed decides, and the disk
becomes full, for which the system's bound on the size of files stands in, as it needs no rights. On a cluster inside
the driver's Java executors are lost and tasks stall, so that Spark begins doubles of them, too. The same stream goes on
after each, and what is in its folder at the end is compared with what `chaos.expected` says.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.integration.chaos import Plant, Sent, differences, expected
from tests.integration.disturbed import stream_among_faults

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
KILLS = 50 if NIGHTLY else 5
SEED = int(os.environ.get("COMITY_CHAOS_SEED", "13"))
SEEDS = range(SEED, SEED + 4) if NIGHTLY else (SEED,)
"""Each has a stream of its own, which is checked for itself."""
CLUSTER = (
    *("--master", "local-cluster[2,1,1024]"),
    *("--spark-config", "spark.speculation=true"),
    *("--spark-config", "spark.speculation.interval=50ms"),
    *("--spark-config", "spark.speculation.quantile=0.1"),
    *("--spark-config", "spark.speculation.minTaskRuntime=0ms"),
)
"""Two executors with a core each, and a Spark that begins doubles of slow tasks soon."""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_in_chaos_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    stream_among_faults(tmp_path, seed, ("driver", "java", "workers", "disk", "all"), KILLS)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.alone
@pytest.mark.nightly
@pytest.mark.parametrize("results", ["parquet", "jsonl"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_on_executors_that_are_lost_loses_and_repeats_nothing(seed: int, results: str, tmp_path: Path) -> None:
    victims = ("executor", "stalled", "workers", "java", "driver")
    stream_among_faults(tmp_path, seed, victims, KILLS, *CLUSTER, "--results", results)


def test_the_check_of_the_chaos_test_can_fail(tmp_path: Path) -> None:
    """The canary: a loss and a repetition are noticed, in each profile."""
    plant = Plant(tmp_path, Random(1))
    for number in range(5):
        plant.draw(number, "a", 40)
    wanted = expected(plant.sent)
    for profile in ("high", "rising", "unanswered"):
        one = next(each for each in wanted if each[0] == profile)
        assert differences(wanted, wanted - Counter([one])) == [f"lost: {one}"]
        assert differences(wanted, wanted + Counter([one])) == [f"too much: {one}"]
    assert differences(wanted, wanted) == []


def test_what_is_expected_of_few_events() -> None:
    sent = [
        Sent("a", "Sensed", 0, "m", 1.0),
        Sent("b", "Sensed", 3, "m", 7.0),
        Sent("c", "Cleared", 8, "m"),
        Sent("d", "Sensed", 4, "n", 9.0),
        Sent("d", "Sensed", 4, "n", 9.0),
    ]
    assert expected(sent) == Counter(
        {("high", ("b",)): 1, ("high", ("d",)): 1, ("rising", ("a", "b")): 1, ("unanswered", ("d",)): 1}
    )
