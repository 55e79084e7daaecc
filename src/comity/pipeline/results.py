"""Outcomes on their way into a results folder: staged apart by where they go, and what can be read back of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from comity.connect.folder import REJECTED, Results
from comity.event.reasons import ReasonCounts
from comity.limits import limits
from comity.pipeline.batch import BatchFigures
from comity.pipeline.deliver import IDENTITY
from comity.plan.stages import Plan, Summary

_OPEN_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"
_LINE = (
    "specversion string, id string, source string, type string, time timestamp, subject string, sequence string, "
    "mode string, typeversion string, profile string, data string"
)


@dataclass(slots=True)
class StagedOutcomes:
    """The outcomes of a run over stored events, which Spark writes as they are published: a folder for each target."""

    plan: Plan
    folder: Path
    results: Results
    rejected: int = field(default=0, init=False)
    delivered: Counter[str] = field(default_factory=Counter, init=False)

    def write(self, outcomes: DataFrame, mode: str) -> None:
        """Write and count outcomes; of more of the same batch, those that are not there yet."""
        if mode == "append":
            told = _told(self.folder, self.results, outcomes.sparkSession)
            outcomes = outcomes.join(told, list(IDENTITY), "left_anti")
        self._write(outcomes, mode)

    def add(self, notifications: DataFrame) -> None:
        """Write and count notifications which no earlier ones can be equal to, each once."""
        self._write(notifications.dropDuplicates(list(IDENTITY)), "append")

    def _write(self, outcomes: DataFrame, mode: str) -> None:
        done = Observation()
        profiles = () if self._has_many_profiles else self.plan.profiles
        counts = [_count(F.col("profile") == name).alias(f"profile {name}") for name in profiles]
        write_outcomes(
            outcomes.observe(done, _count(F.col("to") == REJECTED).alias("rejected"), *counts),
            self.folder,
            self.results,
            mode,
        )
        found = done.get
        self.rejected += int(found["rejected"])
        self.delivered.update({name: int(found[f"profile {name}"]) for name in profiles})

    def summary(self, figures: BatchFigures, spark: SparkSession) -> Summary:
        """What was written, for each profile and each reason."""
        delivered = self._count_profiles(spark) if self._has_many_profiles else self.delivered
        reasons = read_reasons(self.folder, spark) if self.rejected else ReasonCounts()
        return Summary(
            figures.records,
            self.rejected,
            {name: delivered[name] for name in self.plan.profiles},
            matched=figures.matched,
            rejected_by_code=dict(reasons.counts),
            rejected_examples=reasons.examples,
        )

    @property
    def _has_many_profiles(self) -> bool:
        """Whether they are too many to be counted one by one while they are written."""
        return len(self.plan.profiles) > limits().max_column_profiles

    def _count_profiles(self, spark: SparkSession) -> Counter[str]:
        rows = _told(self.folder, self.results, spark).groupBy("profile").count().collect()
        return Counter({row["profile"]: row["count"] for row in rows})


def _count(test: Column) -> Column:
    return F.count(F.when(test, True))


def write_outcomes(outcomes: DataFrame, folder: Path, results: Results, mode: str) -> None:
    """Write outcomes into a folder, apart by where they go."""
    if results is Results.JSONL:
        with _open_writers(outcomes.sparkSession):
            outcomes.select("to", "line").write.partitionBy("to").mode(mode).text(str(folder))
        return
    kept = outcomes.cache()
    try:
        refused = kept.filter(F.col("to") == REJECTED).select("to", "line")
        refused.write.partitionBy("to").mode(mode).text(str(folder))
        told = kept.filter(F.col("to") != REJECTED).select("to", "day", F.from_json("line", _LINE).alias("event"))
        columns = ["profile", "id", "source", "type", "time", "subject", "sequence", "mode", "typeversion", "data"]
        table = told.select("to", "day", *(f"event.{name}" for name in columns))
        table.write.partitionBy("day", "to").mode("append").parquet(str(folder))
    finally:
        kept.unpersist()


@contextmanager
def _open_writers(spark: SparkSession) -> Iterator[None]:
    """A writer for each subscriber, as long as they are few: lines are not sorted by subscriber then.

    Writers of Parquet hold too much for that.
    """
    before = spark.conf.get(_OPEN_WRITERS) or "0"
    spark.conf.set(_OPEN_WRITERS, "16")
    try:
        yield
    finally:
        spark.conf.set(_OPEN_WRITERS, before)


def read_reasons(folder: Path, spark: SparkSession) -> ReasonCounts:
    """Why the records were rejected that a staged folder holds."""
    lines = spark.read.text(str(folder / f"to={REJECTED}"))
    code = F.get_json_object("value", "$.faults[0].code").alias("code")
    rows = lines.groupBy(code).agg(F.count("*").alias("count"), F.min("value").alias("example")).collect()
    found = ReasonCounts()
    for row in rows:
        found.add(
            {row["code"]: row["count"]}, {row["code"]: {"file": None, "line": None, **json.loads(row["example"])}}
        )
    return found


def _told(folder: Path, results: Results, spark: SparkSession) -> DataFrame:
    """The identities of the notifications in a folder that was staged."""
    schema = ", ".join(f"{name} string" for name in IDENTITY)
    if results is Results.PARQUET:
        files = [str(path) for path in folder.glob("day=*/to=*/*.parquet")]
        return spark.read.parquet(*files).select(*IDENTITY) if files else spark.createDataFrame([], schema)
    files = [str(path) for path in folder.glob("to=*") if path.name != f"to={REJECTED}"]
    if not files:
        return spark.createDataFrame([], schema)
    return spark.read.text(files).select(F.from_json("value", schema).alias("event")).select("event.*")
