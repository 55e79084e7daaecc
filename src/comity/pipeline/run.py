"""A run over stored events on Spark: one batch, published as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from comity.connect.claim import locked_folder
from comity.connect.folder import REJECTED, STAGING, Results, publish
from comity.connect.staged import StagedResults
from comity.event.owners import ANYBODY, Owners
from comity.event.window import Window
from comity.pipeline.batch import CandidateStaging, PlanBatch
from comity.pipeline.detect.federation import SparkPlanPatterns
from comity.pipeline.detect.patterns import bucket_count, candidates_beside, remove_staged
from comity.pipeline.doubts import Attempts, Doubts
from comity.pipeline.failure import spark_failures
from comity.pipeline.laps import Laps
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.pipeline.results import StagedOutcomes
from comity.plan.stages import Plan, Summary


def run_on_spark(
    plan: Plan,
    events: Sequence[str],
    out: Path,
    spark: SparkSession,
    *,
    now: datetime | None = None,
    results: Results = Results.JSONL,
    owners: Owners = ANYBODY,
) -> Summary:
    """Deliver the events of these files into a folder for each subscriber, and what is refused into `rejected`.

    Of files that are sources of domains, `owners` says of which.
    """
    with locked_folder(out):
        laps, staging = Laps(), out / STAGING
        window = Window.of_history(now or datetime.now(UTC))
        prepared = PreparedPlan(plan, spark)
        laps.end("compile")

        def attempt(doubts: Doubts) -> Summary:
            tables = Tables.of(spark, Inputs.of(events, doubts), owners)
            return _stage(prepared, tables, window, staging, results)

        try:
            with spark_failures():
                summary = Attempts(events, spark).run(attempt)
        finally:
            prepared.close()
            remove_staged(candidates_beside(staging))
        laps.end("run")
        publish(staging, out, [*plan.subscribers, REJECTED], results)
        laps.end("publish")
        return replace(summary, seconds=laps.seconds)


def _stage(prepared: PreparedPlan, tables: Tables, window: Window, staging: Path, results: Results) -> Summary:
    """Stage what the plan makes of all events, its patterns included."""
    buckets = bucket_count(prepared.spark)
    candidates = CandidateStaging(candidates_beside(staging), buckets) if prepared.plan.patterns else None
    batch = PlanBatch(prepared, tables, window, candidates)
    outcomes = StagedOutcomes(prepared.plan, staging, results)
    figures = batch.stage(outcomes.write)
    summary = outcomes.summary(figures, prepared.spark)
    if candidates is None:
        return summary
    files = prepared.patterns.detect_stored(candidates.folder, buckets, batch.extracted(figures).times)
    return _with_reports(prepared.patterns, files, summary, StagedResults(staging, results))


def _with_reports(
    patterns: SparkPlanPatterns, files: Sequence[str], summary: Summary, staged: StagedResults
) -> Summary:
    """Add what the patterns report to what was staged."""
    delivered = Counter(summary.delivered)
    try:
        for subscriber, profile, line in patterns.notifications(patterns.found(files)):
            delivered[profile] += 1
            staged.put(subscriber, line)
    finally:
        staged.close()
    return replace(summary, delivered=dict(delivered))
