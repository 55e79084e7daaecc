"""A part of a stream that runs at a server of Spark Connect, beside the driver: in a process of Python started there.

Such a server starts a process for what it is to do with the batches of a query, and hands them over with a session of
its own. What is sent there is data; the lock on the folder, the notes and the plan come to be in that process, live as
long as the query does, and go with it. A fault of ours comes back as a line in the text of Spark's error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from comity.errors import ComityError, Misuse, Permanent, Place, Retryable
from comity.limits import Limits, limited
from comity.pipeline.failure import spark_failures
from comity.pipeline.frame_stream import FrameStream

_KINDS: tuple[type[ComityError], ...] = (Misuse, Retryable, Permanent)
_MARK = re.compile(r"comity fault (?P<kind>\w+) (?P<told>[0-9a-f]+);")
"""In digits, since what stands around it may quote it."""


@dataclass
class AtServer:
    """Sent to the server, where `open` gives the stream when it is first needed."""

    open: Callable[[SparkSession], FrameStream]
    bounds: Limits
    _stream: FrameStream | None = field(default=None, init=False)

    def take(self, batch: DataFrame, number: int) -> None:
        """Take a batch, at the server. The folder is claimed with the first one."""
        with limited(**asdict(self.bounds)):
            try:
                if self._stream is None:
                    stream = self.open(batch.sparkSession)
                    stream.claim(batch.sparkSession)
                    self._stream = stream
                self._stream.take(batch, number)
            except ComityError as error:
                raise RuntimeError(as_line(error)) from error

    def run(self, spark: SparkSession, work: Callable[[FrameStream, SparkSession], None]) -> None:
        """Do something with the stream at the server, and wait until it is done; called from anywhere.

        A query over one row does it, which is the one way by which a server runs Python beside its driver.
        """
        row = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        writer = row.writeStream.foreachBatch(partial(_work_at_server, self.open, self.bounds, work))
        try:
            with spark_failures():
                writer.trigger(availableNow=True).start().awaitTermination()
        except ComityError as error:
            fault = fault_in(str(error.__cause__))
            if fault is not None:
                raise fault from error
            raise


def _work_at_server(
    open: Callable[[SparkSession], FrameStream],
    bounds: Limits,
    work: Callable[[FrameStream, SparkSession], None],
    batch: DataFrame,
    number: int,
) -> None:
    with limited(**asdict(bounds)):
        try:
            with closing(open(batch.sparkSession)) as stream:
                work(stream, batch.sparkSession)
        except ComityError as error:
            raise RuntimeError(as_line(error)) from error


def as_line(error: ComityError) -> str:
    """An error in a text that survives being quoted."""
    kind = next((one.__name__ for one in _KINDS if isinstance(error, one)), Permanent.__name__)
    told = json.dumps({**error.as_dict(), "excerpt": error.excerpt}).encode().hex()
    return f"{error}\ncomity fault {kind} {told};"


def fault_in(text: str) -> ComityError | None:
    """The error that a text tells of, if one does.

    >>> print(fault_in("Spark says: " + as_line(Misuse("no more", code="bad-usage", hint="take less"))))
    no more [bad-usage]
    hint: take less
    """
    found = _MARK.search(text)
    if found is None:
        return None
    kind = next(one for one in _KINDS if one.__name__ == found["kind"])
    told: dict[str, Any] = json.loads(bytes.fromhex(found["told"]))
    place = Place(*(told.get(name) for name in ("file", "line", "column", "path")))
    return kind(told["message"], code=told["code"], place=place, hint=told.get("hint"), excerpt=told.get("excerpt"))
