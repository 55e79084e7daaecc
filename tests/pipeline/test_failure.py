"""What a user is told when Spark fails: the cause, not where it was noticed, and what to do."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from comity.errors import Permanent, Place, Retryable
from comity.pipeline.failure import cause_in, next_step, spark_failures


def full_disk(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        raise OSError(errno.ENOSPC, "No space left on device", "/data/state")
    yield from ()


def broken_state(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        try:
            raise ValueError("truncated")
        except ValueError as error:
            raise RuntimeError("/out/.patterns/00000003/1 cannot be read: truncated") from error
    yield from ()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("work", "cause", "step"),
    [(full_disk, "No space left on device: '/data/state'", "make room"), (broken_state, "/00000003/1 cannot", "-v")],
)
def test_what_a_worker_raised_in_a_batch_of_a_stream_is_told(
    spark: SparkSession, tmp_path: Path, work: Callable[..., Iterator[pa.RecordBatch]], cause: str, step: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a\n")

    def take(rows: object, number: int) -> None:
        spark.range(3).mapInArrow(work, "id long").collect()

    lines = spark.readStream.text(str(tmp_path / "in"))
    writer = lines.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Permanent) as failed, spark_failures():
        writer.trigger(availableNow=True).start().awaitTermination()
    assert failed.value.message.startswith("Spark stopped: ")
    assert cause in failed.value.message
    assert step in (failed.value.hint or "")


def store_away(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        raise Retryable("no answer", code="storage-failed", place=Place("s3a://lake/a"), hint="look whether")
    yield from ()


@pytest.mark.spark
def test_a_store_that_failed_for_a_worker_is_told_as_one_that_failed_for_us(spark: SparkSession) -> None:
    with pytest.raises(Retryable) as failed, spark_failures():
        spark.range(3).mapInArrow(store_away, "id long").collect()
    assert (failed.value.code, failed.value.message) == ("storage-failed", "s3a://lake/a: no answer")


JAVA_FULL = """\
An error occurred while calling o202.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/out/x. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:823)
\t... 1 more
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""
STREAM_TRACE = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error \
occurred in the user provided function in foreach batch sink. Reason: Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
py4j.protocol.Py4JJavaError: An error occurred while calling o312.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 6.0 failed 1 times
\tat org.apache.spark.Task.run(Task.scala:147)
Caused by: java.io.IOException: FAILED_TO_UNCOMPRESS(5)
"""
STREAM_FULL = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: File too large SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 1, runId = 2]
Current State: ACTIVE
"""
CRASHED = """\
An error occurred while calling o192.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 failed 1 times
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting 'x'.
\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1136)
Caused by: java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:398)
"""


@pytest.mark.parametrize(
    ("text", "cause", "step"),
    [
        (JAVA_FULL, "java.io.IOException: No space left on device", "make room"),
        (STREAM_TRACE, "java.io.IOException: FAILED_TO_UNCOMPRESS(5)", "-v"),
        (STREAM_FULL, "File too large", "ulimit"),
        (CRASHED, "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "a worker died"),
        ("Answer from Java side is empty", "Answer from Java side is empty", "Java process"),
        ("", "no reason given", "-v"),
    ],
)
def test_the_innermost_cause_and_its_next_step(text: str, cause: str, step: str) -> None:
    assert cause_in(text).startswith(cause)
    assert step in next_step(cause_in(text))
