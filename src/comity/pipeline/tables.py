"""Results with types: which their columns have, and a run over stored events as one batch of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from comity.connect.commits import Commit
from comity.connect.delivered import EARLIER
from comity.connect.destination import Destination
from comity.connect.folder import CHECKPOINT, REJECTED, Results
from comity.connect.tables.parts import TableLayout
from comity.connect.target import FolderTarget, TableTarget, Target
from comity.connect.topics.target import TopicTarget
from comity.event.types import AttributeType
from comity.event.window import Window
from comity.pipeline.batch import PlanBatch
from comity.pipeline.checkpoint import plan_id, stream_id
from comity.pipeline.deliver import by_bucket
from comity.pipeline.detect.buckets import BucketDetection, StoredTime
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.detect.reports import told_rows
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Tables
from comity.pipeline.told import attributes_of
from comity.pipeline.write import BatchWriter, BatchWriting
from comity.plan.stages import Summary
from comity.plan.ways import Way, Ways


def attributes_of_profiles(ways: Ways) -> dict[str, Mapping[str, AttributeType]]:
    """The attributes that notifications of each profile have, of whatever type they are."""
    found: dict[str, list[Way]] = {}
    for tests in ways.tests.values():
        for test in tests:
            if test.profile is not None:
                found.setdefault(test.profile, []).append(ways.ways[test.way])
    return {profile: attributes_of(own) for profile, own in found.items()}


def deliver_into(prepared: PreparedPlan, tables: Tables, window: Window, staging: Path, target: Target) -> Summary:
    """Deliver what is in tables of stored events, as one batch, which counts when this returns."""
    target.take_profiles(lambda: attributes_of_profiles(prepared.work.ways))
    buckets = bucket_count(prepared.spark)
    today = datetime.now(UTC).date().isoformat()
    writer = BatchWriter(target.parts(staging, EARLIER), target.keys, Commit(), EARLIER, today)
    writing = BatchWriting(writer, buckets)
    together = by_bucket(buckets)

    def detect(hits: DataFrame, seen: Extracted) -> None:
        detection = BucketDetection(prepared.patterns.shared, buckets, StoredTime())
        writing.write(together(told_rows(prepared.patterns, hits, detection, seen), F.col("profile").isNotNull()))

    batch = PlanBatch(prepared, tables, window, detect if prepared.plan.patterns else None, together=together)
    figures = batch.stage(lambda outcomes, _: writing.write(outcomes))
    after = writing.after.having_seen(figures.newest)
    target.publish(EARLIER, writing.done.files, [*prepared.plan.subscribers, REJECTED], after, is_again=False)
    return writing.done.summary(prepared.plan, figures)


def typed_files_of(to: Destination, subscribers: Callable[[], Iterable[str]]) -> FolderTarget | None:
    """The files with types that a stream writes, if it is to."""
    return FolderTarget(to.folder, Results.PARQUET, subscribers, layout=TableLayout({})) if to.is_typed else None


def topics_of(to: Destination, targets: Callable[[], Iterable[str]]) -> TopicTarget:
    """The topics that a stream writes."""
    assert to.topics is not None, "it was asked for topics"
    return TopicTarget(to.folder, to.topics, targets, partial(plan_id, to.folder / CHECKPOINT))


def tables_of(to: Destination) -> TableTarget:
    """The tables that a stream writes."""
    assert to.tables is not None, "it was asked for tables"
    layout = TableLayout({} if to.is_typed else None)
    checkpoint = to.folder / CHECKPOINT
    return TableTarget(to.tables, layout, partial(stream_id, checkpoint), partial(plan_id, checkpoint))
