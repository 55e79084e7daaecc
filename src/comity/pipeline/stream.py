"""The Spark runner on a stream: a growing folder of events, delivered once, across restarts and changes of profiles.

Spark hands over the new files as numbered batches, and the same batch again after a crash. A batch is worked out in a
staging folder and then published under its number, so that doing it again replaces it. What earlier batches delivered
is kept by the day of the event: the same event has the same time, so a batch looks only at the days it has events of.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from comity.connect.folder import REJECTED, publish_batch
from comity.errors import Misuse, Place
from comity.federation.watch import WatchedFederation
from comity.pipeline.failure import spark_failures
from comity.pipeline.run import deliveries
from comity.pipeline.wrap import wrap_typed
from comity.plan.compile import compile_plan
from comity.plan.stages import Summary

_KEPT_FOLDER = ".delivered"
_CHECKPOINT_FOLDER = ".checkpoint"


@dataclass(slots=True)
class StreamRun:
    """A federation on a stream. `on_batch` is told what each batch did."""

    federation: WatchedFederation
    out: Path
    on_batch: Callable[[int, Summary], None] = lambda number, summary: None

    def start(
        self, spark: SparkSession, events: Path, *, trigger_s: float, until_empty: bool, files_per_batch: int
    ) -> StreamingQuery:
        """Begin, or go on where an earlier run on the same results folder ended."""
        if not events.is_dir():
            raise Misuse("a stream is read from a folder of event files", code="not-a-folder", place=Place(str(events)))
        lines = (
            spark.readStream.option("maxFilesPerTrigger", files_per_batch)
            .option("pathGlobFilter", "*.jsonl*")
            .option("lineSep", "\n")
            .text(str(events))
            .select("value", F.col("_metadata.file_path").alias("file"))
        )
        writer = lines.writeStream.foreachBatch(self.take_batch).option(
            "checkpointLocation", str(self.out / _CHECKPOINT_FOLDER)
        )
        trigger = {"availableNow": True} if until_empty else {"processingTime": f"{trigger_s} seconds"}
        with spark_failures():
            return writer.trigger(**trigger).start()

    def take_batch(self, lines: DataFrame, number: int) -> None:
        """Deliver one batch; doing it again changes nothing."""
        plan = compile_plan(self.federation.current())
        wrapped = wrap_typed(lines, plan.types, require_time=True)
        outcomes = deliveries(wrapped, plan).cache()
        try:
            fresh = self._without_delivered(outcomes, number)
            staging = self.out / f".batch-{number}"
            fresh.select("to", "line").write.partitionBy("to").mode("overwrite").text(str(staging))
            self._keep_delivered(fresh, number)
            counts = {
                (row["to"], row["profile"]): row["count"] for row in fresh.groupBy("to", "profile").count().collect()
            }
        finally:
            outcomes.unpersist()
        publish_batch(staging, self.out, number, [*plan.subscribers, REJECTED])
        self.on_batch(number, _summary(counts))

    def _without_delivered(self, outcomes: DataFrame, number: int) -> DataFrame:
        """What no earlier batch delivered; rejected records are all kept."""
        days = [row["day"] for row in outcomes.select("day").distinct().collect() if row["day"] is not None]
        kept = [
            str(path)
            for day in days
            for path in (self.out / _KEPT_FOLDER / f"day={day}").glob("batch=*")
            if int(path.name.removeprefix("batch=")) < number
        ]
        if not kept:
            return outcomes
        before = outcomes.sparkSession.read.parquet(*kept).select("key")
        return outcomes.join(before, "key", "left_anti")

    def _keep_delivered(self, fresh: DataFrame, number: int) -> None:
        """Note what this batch delivers, in place of what an attempt at it may have noted."""
        for stale in (self.out / _KEPT_FOLDER).glob(f"day=*/batch={number}"):
            shutil.rmtree(stale)
        delivered = fresh.filter(F.col("profile").isNotNull()).withColumn("batch", F.lit(number))
        keys = delivered.select("key", "day", "batch")
        keys.write.partitionBy("day", "batch").mode("append").parquet(str(self.out / _KEPT_FOLDER))


def _summary(counts: dict[tuple[str, str | None], int]) -> Summary:
    delivered = {profile: count for (_, profile), count in counts.items() if profile is not None}
    rejected = sum(count for (to, _), count in counts.items() if to == REJECTED)
    return Summary(sum(delivered.values()) + rejected, rejected, delivered)
