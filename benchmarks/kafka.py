"""What it costs to deliver from a topic, beside plain Spark that reads it, keeps as many, and writes these.

    python benchmarks/kafka.py [--events N] [--batches N] [--shares S …] [--repeat N] [--quick] [--servers HOST:PORT]

A broker on loopback (or the one at `--servers`) has a topic with events of some 250 bytes in four partitions. One
profile takes a share of them. A stream of some batches delivers these as lines in a folder, or into another topic,
where each part of a batch is a transaction. The floor is a streaming query of Spark's own in the same session: it reads
the topic, takes the JSON apart, keeps the same events, drops repeats of (source, id) in a batch, and writes lines as
text, or into a topic. It neither checks types nor remembers what it delivered, and writes into the topic at least once.

Processor time of driver, Java and workers is compared, since it holds on a machine that others use, too: the best of
some runs, which alternate, after one that warms up. That of the broker is not in it; it needs Maven once, for its jars.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from delivery import MASTER, MAX_PRESSURE
from processor_time import CpuCase
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from tests.kafka.broker import Kafka
from tests.kafka.jars import CONNECTOR, jars
from timed import take_times
from workload_pipeline import LINE_SCHEMA, plain_line, write_events, write_filters

from comity.connect.frames import FrameSource
from comity.connect.registry import frame_source
from comity.connect.specs import SourceSpec
from comity.connect.target import Target
from comity.connect.topics.place import Topics
from comity.connect.topics.target import TopicTarget
from comity.event.owners import Owners
from comity.federation import load
from comity.federation.receivers import receivers
from comity.federation.watch import WatchedFederation
from comity.pipeline.session import spark_session, stop_session
from comity.pipeline.stream import StreamRun
from comity.plan.stages import Summary

ROOT = Path(__file__).parents[1]
SHARES = (0.1, 1.0)


@dataclass(slots=True)
class TopicCase(CpuCase):
    """A stream, from its beginning until all is read; `form` is where its results go."""

    share: float
    events: int

    @property
    def us_each(self) -> float:
        """For each event that is read."""
        return self.best_cpu.total * 1e6 / self.events


@dataclass(slots=True)
class Work:
    """A topic of events, and the profile that takes a share of them."""

    spark: SparkSession
    kafka: Kafka
    topic: str
    events: int
    batches: int
    share: float
    folder: Path
    delivered: int = field(default=0, init=False)

    @property
    def federation(self) -> Path:
        return self.folder / f"federation-{self.share:g}"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def per_batch(self) -> str:
        return str(-(-self.events // self.batches))

    def cases(self) -> Iterator[TopicCase]:
        write_filters(self.federation, [f"pressure <= {MAX_PRESSURE * self.share:.6f}"])
        for to in ("folder", "topic"):
            yield self._case("plain Spark", to, partial(self.run_floor, to))
            yield self._case("comity", to, partial(self.run_stream, to))

    def _case(self, name: str, to: str, job: partial[None]) -> TopicCase:
        clear = partial(shutil.rmtree, self.out, ignore_errors=True)
        return TopicCase(name, to, job, self.share, self.events, before=clear)

    def run_floor(self, to: str) -> None:
        reader = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.kafka.servers)
        reader = reader.option("subscribe", self.topic).option("startingOffsets", "earliest")
        events = reader.option("maxOffsetsPerTrigger", self.per_batch).load()
        gone = self.kafka.topic() if to == "topic" else None

        def write(batch: DataFrame, number: int) -> None:
            event = F.from_json(F.col("value").cast("string"), LINE_SCHEMA).alias("event")
            kept = batch.select(event).select("event.*").filter(self._is_wanted())
            lines = kept.dropDuplicates(["source", "id"]).select("source", "id", plain_line().alias("value"))
            if gone is None:
                lines.select("value").write.text(str(self.out / "lines" / str(number)))
            else:
                keyed = lines.select(F.concat_ws("|", "source", "id").alias("key"), "value")
                settings = {"kafka.bootstrap.servers": self.kafka.servers, "topic": gone}
                keyed.write.format("kafka").options(**settings).save()

        query = events.writeStream.foreachBatch(write).option("checkpointLocation", str(self.out / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()

    def run_stream(self, to: str) -> None:
        told: list[Summary] = []
        run = StreamRun(
            WatchedFederation(self.federation),
            out=self.out,
            owners=Owners.of([("plant.line", "plant")]),
            sources=(self._source(),),
            target=self._target() if to == "topic" else None,
            on_batch=lambda number, summary: told.append(summary),
        )
        try:
            query = run.start(self.spark, [], trigger_s=0, until_empty=True, files_per_batch=1)
            query.awaitTermination()
        finally:
            run.close()
        assert len(told) >= self.batches, told
        delivered = sum(sum(one.delivered.values()) for one in told)
        assert sum(one.records for one in told) == self.events, told
        assert self.delivered in (0, delivered), (self.delivered, delivered)
        self.delivered = delivered

    def _source(self) -> FrameSource:
        options = {"topics": self.topic, "servers": self.kafka.servers, "records_per_batch": int(self.per_batch)}
        return frame_source(SourceSpec("line", "plant", "kafka", options), self.folder)

    def _target(self) -> Target:
        name = self.kafka.topic()
        self.kafka.topic(name=f"{name}.rejected")
        targets = receivers(load(self.federation))
        return TopicTarget(self.out, Topics(self.kafka.servers, name), lambda: targets)

    def _is_wanted(self) -> Column:
        return F.col("data.pressure") <= MAX_PRESSURE * self.share


@contextmanager
def broker_beside(servers: str | None) -> Iterator[Kafka]:
    """A broker that is no child of this process, so that its time does not count as ours."""
    if servers is not None:
        yield Kafka(servers)
        return
    jars("broker")
    command = ["setsid", "--fork", sys.executable, "-m", "tests.kafka.broker"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield Kafka(process.stdout.readline().strip())
        process.stdin.close()


def main() -> None:
    arguments = _arguments()
    folder = Path(arguments.folder or tempfile.gettempdir()) / "comity-benchmark-kafka"
    folder.mkdir(parents=True, exist_ok=True)
    connector = {"spark.jars": ",".join(str(jar) for jar in jars(CONNECTOR))}
    with broker_beside(arguments.servers) as kafka:
        spark = spark_session(MASTER, config=connector)
        try:
            topic = _filled(spark, kafka, arguments.events, folder)
            cases = [
                case for share in arguments.shares for case in _work(spark, kafka, topic, share, arguments, folder)
            ]
            _take(cases, arguments.repeat)
            _show(cases, arguments)
            if arguments.out:
                _write(arguments.out, cases, arguments)
        finally:
            stop_session(spark)
            shutil.rmtree(folder / "out", ignore_errors=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--servers")
    parser.add_argument("--folder")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.events, arguments.repeat = 100_000, 1
    return arguments


def _filled(spark: SparkSession, kafka: Kafka, events: int, folder: Path) -> str:
    """A topic with all events."""
    _, lines = write_events(spark, events, folder)
    topic = kafka.topic()
    settings = {"kafka.bootstrap.servers": kafka.servers, "topic": topic}
    spark.read.text(lines).repartition(8).write.format("kafka").options(**settings).save()
    return topic


def _work(
    spark: SparkSession, kafka: Kafka, topic: str, share: float, arguments: argparse.Namespace, folder: Path
) -> Iterator[TopicCase]:
    return Work(spark, kafka, topic, arguments.events, arguments.batches, share, folder).cases()


def _take(cases: Sequence[TopicCase], runs: int) -> None:
    take_times(cases, 1)
    for case in cases:
        case.forget()
    take_times(cases, runs)


def _write(path: Path, cases: Sequence[TopicCase], arguments: argparse.Namespace) -> None:
    names = ("name", "form", "share", "seconds")
    found = [
        {name: getattr(case, name) for name in names} | {"cpu_seconds": [asdict(one) for one in case.cpu]}
        for case in cases
    ]
    about = {"events": arguments.events, "master": MASTER, "batches": arguments.batches}
    path.write_text(json.dumps(about | {"cases": found}, indent=1) + "\n")


def _show(cases: Sequence[TopicCase], arguments: argparse.Namespace) -> None:
    table = Table(title=f"{arguments.events:,} events in a topic, streams of {arguments.batches} batches, {MASTER}")
    names = (
        "delivered",
        "into a",
        "job",
        "wall s",
        "CPU s",
        "driver",
        "JVM",
        "workers",
        "CPU µs each",
        "of plain Spark",
    )
    for name in names:
        table.add_column(name, justify="left" if name in ("into a", "job") else "right", no_wrap=True)
    for case in cases:
        floor = next(one for one in cases if (one.name, one.form, one.share) == ("plain Spark", case.form, case.share))
        cpu = case.best_cpu
        spent = [f"{seconds:.2f}" for seconds in (case.best, cpu.total, cpu.driver, cpu.jvm, cpu.workers)]
        share = f"{floor.best_cpu.total / cpu.total:.0%}"
        table.add_row(f"{case.share:.0%}", case.form, case.name, *spent, f"{case.us_each:.1f}", share)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
