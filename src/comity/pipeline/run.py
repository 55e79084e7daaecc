"""A run over stored events on Spark: one batch, published as a whole."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from comity.connect.claim import locked_folder
from comity.connect.folder import REJECTED, STAGING, Results, publish
from comity.connect.frames import FrameSource
from comity.connect.target import Target
from comity.event.owners import ANYBODY, Owners
from comity.event.window import Window
from comity.pipeline.batch import PlanBatch
from comity.pipeline.detect.buckets import BucketDetection, StoredTime
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.detect.reports import told_rows
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.doubts import Attempts, Doubts
from comity.pipeline.failure import spark_failures
from comity.pipeline.laps import Laps
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.pipeline.results import StagedOutcomes
from comity.pipeline.sources import tables_of
from comity.pipeline.tables import deliver_into
from comity.plan.stages import Plan, Summary
from comity.storage.access import NO_ACCESS, StorageAccess


def run_on_spark(
    plan: Plan,
    events: Sequence[str],
    out: Path,
    spark: SparkSession,
    *,
    now: datetime | None = None,
    results: Results = Results.JSONL,
    owners: Owners = ANYBODY,
    target: Target | None = None,
    sources: Sequence[FrameSource] = (),
    access: StorageAccess = NO_ACCESS,
) -> Summary:
    """Deliver the events of these files into a folder for each subscriber, and what is refused into `rejected`.

    Of files that are sources of domains, `owners` says of which, and `access` how those in stores are reached. With a
    `target` results go there. `sources` are those that Spark reads by itself.
    """
    with locked_folder(out):
        laps, staging = Laps(), out / STAGING
        window = Window.of_history(now or datetime.now(UTC))
        prepared = PreparedPlan(plan, spark)
        laps.end("compile")

        def attempt(doubts: Doubts) -> Summary:
            tables = Tables.of(spark, Inputs.of(events, doubts, access), owners)
            if sources:
                tables = tables.beside(tables_of(spark, sources, plan.types))
            if target is not None:
                return deliver_into(prepared, tables, window, staging, target)
            return _stage(prepared, tables, window, staging, results)

        try:
            with spark_failures():
                summary = Attempts(events, spark, access=access).run(attempt)
        finally:
            prepared.close()
        laps.end("run")
        if target is None:
            publish(staging, out, [*plan.subscribers, REJECTED], results)
        shutil.rmtree(staging, ignore_errors=True)
        laps.end("publish")
        return replace(summary, seconds=laps.seconds)


def _stage(prepared: PreparedPlan, tables: Tables, window: Window, staging: Path, results: Results) -> Summary:
    """Stage what the plan makes of all events, its patterns included."""
    outcomes = StagedOutcomes(prepared.plan, staging, results)

    def detect(hits: DataFrame, seen: Extracted) -> None:
        patterns = prepared.patterns
        detection = BucketDetection(patterns.shared, bucket_count(prepared.spark), StoredTime())
        outcomes.add(told_rows(patterns, hits, detection, seen))

    batch = PlanBatch(prepared, tables, window, detect if prepared.plan.patterns else None)
    return outcomes.summary(batch.stage(outcomes.write), prepared.spark)
