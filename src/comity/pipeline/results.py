"""Outcomes on their way into a results folder, and what can be read back from one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from comity.connect.folder import REJECTED, Results
from comity.event.reasons import ReasonCounts
from comity.pipeline.deliver import IDENTITY

_OPEN_WRITERS = "spark.sql.maxConcurrentOutputFileWriters"
_LINE = (
    "specversion string, id string, source string, type string, time timestamp, subject string, sequence string, "
    "mode string, typeversion string, profile string, data string"
)


def write_results(outcomes: DataFrame, staging: Path, results: Results, mode: str) -> None:
    """Write outcomes into `staging`, apart by where they go."""
    if results is Results.JSONL:
        with _open_writers(outcomes.sparkSession):
            outcomes.select("to", "line").write.partitionBy("to").mode(mode).text(str(staging))
        return
    kept = outcomes.cache()
    try:
        refused = kept.filter(F.col("to") == REJECTED).select("to", "line")
        refused.write.partitionBy("to").mode(mode).text(str(staging))
        told = kept.filter(F.col("to") != REJECTED).select("to", "day", F.from_json("line", _LINE).alias("event"))
        columns = ["profile", "id", "source", "type", "time", "subject", "sequence", "mode", "typeversion", "data"]
        table = told.select("to", "day", *(f"event.{name}" for name in columns))
        table.write.partitionBy("day", "to").mode("append").parquet(str(staging))
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


def told_in(folder: Path, results: Results, spark: SparkSession) -> DataFrame:
    """The identities of the notifications in a folder that was staged."""
    return _told(folder, results, spark).select(*IDENTITY)


def count_profiles(folder: Path, results: Results, spark: SparkSession) -> dict[str, int]:
    """How many notifications of each profile a staged folder holds."""
    rows = _told(folder, results, spark).groupBy("profile").count().collect()
    return {row["profile"]: row["count"] for row in rows}


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
    if results is Results.PARQUET:
        files = [str(path) for path in folder.glob("day=*/to=*/*.parquet")]
        if not files:
            return spark.createDataFrame([], "profile string, source string, id string, time timestamp")
        return spark.read.parquet(*files).select("profile", "source", "id", "time")
    files = [str(path) for path in folder.glob("to=*") if path.name != f"to={REJECTED}"]
    if not files:
        return spark.createDataFrame([], "profile string, source string, id string, time timestamp")
    event = F.from_json("value", "profile string, source string, id string, time timestamp")
    return spark.read.text(files).select(event.alias("event")).select("event.*")
