"""How much quicker two executors are than one, where every event is delivered.

    python benchmarks/executors.py [--events N] [--batches N] [--forms FORM …] [--repeat N] [--quick] [--out FILE]

A cluster on this machine has two workers, each of which is held to one core with all that it starts. A session has an
executor on one of them, the next session on both. Each does what `delivery.py` does: a batch run that delivers all
events, and a stream that delivers them in batches, both from an empty results folder. A run warms up, the best of the
others counts, by the clock, because it is what more executors are for. The driver is held to no core. On a machine with
two of them the two executors share theirs with it and one executor does not, so the figures are lower bounds there.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from delivery import DeliveryCase, write_work
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table
from timed import take_times
from workload_pipeline import write_events

from comity.pipeline.session import spark_session, stop_session
from comity.testing.cluster import LocalCluster

GOAL = 1.7
"""How many times as quick two executors are to be as one."""
_CONFIG = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "1g",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.files.minPartitionNum": "8",
    "spark.sql.shuffle.partitions": "4",
}


@dataclass(slots=True)
class ExecutorCase(DeliveryCase):
    """A job that delivers, on so many executors."""

    executors: int = 1


def main() -> None:
    arguments = _arguments()
    folder = Path(arguments.folder or tempfile.gettempdir()) / "comity-benchmark-delivery"
    folder.mkdir(parents=True, exist_ok=True)
    cores = sorted(os.sched_getaffinity(0))
    with LocalCluster(worker_count=2, cores=1, memory_mb=1536) as cluster:
        for worker, core in zip(cluster.workers, (cores[0], cores[-1]), strict=True):
            _hold(worker.process.pid, core)
        cases = [case for number in (1, 2) for case in _take(cluster.url, number, folder, arguments)]
    _show(cases, arguments)
    if arguments.out:
        _write(arguments.out, cases, arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--forms", nargs="+", default=["parquet", "jsonl"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.events, arguments.repeat = 100_000, 1
    return arguments


def _hold(process: int, core: int) -> None:
    """Hold a process to a core, with all of its threads, and what these start from now on."""
    for thread in os.listdir(f"/proc/{process}/task"):
        os.sched_setaffinity(int(thread), {core})


def _take(master: str, executors: int, folder: Path, arguments: argparse.Namespace) -> list[ExecutorCase]:
    spark = spark_session(master, config={**_CONFIG, "spark.cores.max": str(executors)})
    try:
        tables, lines = write_events(spark, arguments.events, folder)
        files = {"parquet": tables, "jsonl": lines}
        cases = [
            case
            for form in arguments.forms
            for case in _cases(spark, form, files[form], folder, arguments.batches, executors)
        ]
        take_times(cases, 1)
        for case in cases:
            case.forget()
        take_times(cases, arguments.repeat)
        assert _executor_count(spark) == executors, "not as many executors as were asked for"
    finally:
        stop_session(spark)
    return cases


def _cases(
    spark: SparkSession, form: str, files: list[str], folder: Path, batches: int, executors: int
) -> list[ExecutorCase]:
    work = write_work(spark, form, files, 1.0, folder)
    found = [work.case("batch", partial(work.run_batch)), work.stream_case(batches, 0, None)]
    return [
        ExecutorCase(one.name, form, one.job, one.share, one.delivered, before=one.before, executors=executors)
        for one in found
    ]


def _executor_count(spark: SparkSession) -> int:
    """Those that Spark has, without the driver."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _show(cases: Sequence[ExecutorCase], arguments: argparse.Namespace) -> None:
    table = Table(title=f"{arguments.events:,} events, all delivered, streams of {arguments.batches} batches")
    for name in ("input", "job", "one executor: s", "two: s", "times as quick", "goal"):
        table.add_column(name, justify="left" if name in ("input", "job", "goal") else "right")
    one, two = ([case for case in cases if case.executors == number] for number in (1, 2))
    for alone, both in zip(one, two, strict=True):
        times = alone.best / both.best
        goal = f"≥ {GOAL}: {'met' if times >= GOAL else 'missed'}"
        table.add_row(alone.form, alone.name, f"{alone.best:.1f}", f"{both.best:.1f}", f"{times:.2f}", goal)
    Console(width=120).print(table)


def _write(path: Path, cases: Sequence[ExecutorCase], arguments: argparse.Namespace) -> None:
    names = ("name", "form", "executors", "delivered", "seconds")
    found = [{name: getattr(case, name) for name in names} for case in cases]
    about = {"rows": arguments.events, "batches": arguments.batches}
    path.write_text(json.dumps(about | {"cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
