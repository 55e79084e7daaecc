"""The detector on one core of Spark: stored files of lines and of rows, and a stream with its state."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession

from comity.pipeline.detect.run import detect_on_spark
from comity.pipeline.detect.stream import DetectStream
from comity.pipeline.session import spark_session, stop_session

from comity_detect import NAMESPACE, TAXONOMY, Run, bound, texts_of, write_lines  # isort: skip
from processor_time import cpu_until_now  # isort: skip
from workload_detect import (  # isort: skip
    TYPES,
    Events,
    brute_force_pairs,
    brute_force_profiles,
    draw_events,
    draw_profiles,
)

FILES = 20


def run_spark(count: int, folder: Path | None, profiles: int = 1) -> Iterator[tuple[str, Run, int]]:
    """For each way to run it: its name, what it took, and how many matches are right; pairs, or many profiles."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # Java and the workers inherit it
    events = draw_events(count)
    right = brute_force_pairs(events) if profiles == 1 else sum(brute_force_profiles(events, draw_profiles(profiles)))
    texts = texts_of("pair" if profiles == 1 else "many", events, profiles)
    home = Path(folder or tempfile.gettempdir()) / "comity-benchmark-detect"
    lines = [str(path) for path in write_lines(events, home / "lines", FILES)]
    rows = [str(path) for path in write_rows(events, home / "rows", FILES)]
    spark = spark_session("local[1]")
    try:
        for name, files in (("Comity on Spark, JSON Lines", lines), ("Comity on Spark, Parquet", rows)):
            _batch(spark, files[:2], events, texts)  # to load everything
            yield name, _batch(spark, files, events, texts), right
        yield "Comity on Spark, stream", _stream(spark, home, events, texts), right
    finally:
        stop_session(spark)
        shutil.rmtree(home, ignore_errors=True)


def _batch(spark: SparkSession, files: list[str], events: Events, texts: list[str]) -> Run:
    """From the files to the lines of the reports, in their order."""
    started, cpu = perf_counter(), cpu_until_now()
    reports = detect_on_spark(bound(texts), files, TAXONOMY, spark)
    reports.find()
    with open(os.devnull, "wb") as sink:
        for lines in reports.lines():
            sink.write(lines)
    seconds, used = perf_counter() - started, cpu_until_now() - cpu
    return Run(len(events), seconds, used.total, sum(reports.counts.values()))


def _stream(spark: SparkSession, home: Path, events: Events, texts: list[str]) -> Run:
    """All batches but the first, which loads everything; a last event far ahead completes what waits."""
    patterns = bound(texts)
    ahead = draw_events(1, 1)  # an event of another type, long after the others
    object.__setattr__(ahead, "times_ms", events.times_ms[-1:] + 10 * events.window_ms())
    object.__setattr__(ahead, "types", np.array([TYPES - 1], np.int8))
    write_lines(ahead, home / "ahead", 1)[0].rename(home / "lines" / "ahead.jsonl")
    done: list[tuple[float, float, int, int]] = []
    out = home / "out"
    stream = DetectStream(
        lambda: patterns,
        out=out,
        lateness_us=0,
        taxonomy=TAXONOMY,
        on_batch=lambda number, summary: done.append(
            (perf_counter(), cpu_until_now().total, summary.records, sum(summary.delivered.values()))
        ),
    )
    try:
        query = stream.start(spark, [home / "lines"], trigger_s=0, until_empty=True, files_per_batch=4)
        query.awaitTermination()
    finally:
        stream.close()
    # The last batch is the one event that completes the time of the others.
    seconds, used = (done[-1][at] - done[0][at] for at in (0, 1))
    records = sum(count for _, _, count, _ in done[1:])
    return Run(records, seconds, used, sum(count for _, _, _, count in done))


def write_rows(events: Events, folder: Path, files: int) -> list[Path]:
    """The events as files of Parquet, in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = pa.array([f"k{number}" for number in range(events.key_count)]).take(pa.array(events.keys))
    types = pa.array([one.qualified_name for one in TAXONOMY.types]).take(pa.array(events.types))
    times = pa.array(events.times_ms * 1000).cast(pa.timestamp("us", "UTC"))
    table = pa.table(
        {
            "id": pa.array(np.arange(len(events))).cast(pa.string()),
            "source": pa.array([NAMESPACE]).take(pa.array(np.zeros(len(events), np.int64))),
            "type": types,
            "time": times,
            "key": keys,
            "value": pa.array(events.values),
        }
    )
    paths = []
    size = -(-len(events) // files)
    for number in range(files):
        path = folder / f"{number:05d}.parquet"
        parquet.write_table(table.slice(number * size, size), path)
        paths.append(path)
    return paths
