"""`kafka`, on Spark: topics whose partitions the executors read, all at once; Spark notes how far.

Nothing of it passes the driver but the offsets. A value is one event as JSON, unless `columns` say where its parts are.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from comity.connect.frames import CAPABILITY, FrameOptions, FrameSource, Text, as_read
from comity.connect.port import Connector, Setting

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
_PLACE = ("concat(topic, '/', partition)", "offset")


class KafkaInOptions(FrameOptions):
    """Which topics, and from whom."""

    servers: Text
    """`host:port`, several with commas between them."""
    topics: Text | list[Text] | None = None
    pattern: Text | None = None
    """A regular expression for the names of the topics, in place of `topics`."""
    start: Text = "earliest"
    """Where a stream begins when it is new: `earliest`, `latest`, or offsets as JSON, in Spark's form."""
    records_per_batch: int | None = Field(default=None, ge=1)
    """How many records of a stream are in a batch at the most."""

    @model_validator(mode="after")
    def _check_topics(self) -> KafkaInOptions:
        if bool(self.topics) == (self.pattern is not None):
            raise ValueError("one of `topics` and `pattern` is needed")
        return self


def _source(given: KafkaInOptions, setting: Setting) -> FrameSource:
    names = [given.topics] if isinstance(given.topics, str) else given.topics or []
    common = as_read(given, setting)
    chosen = {"subscribePattern": given.pattern} if given.pattern else {"subscribe": ",".join(names)}
    more: dict[str, Any] = {"kafka.bootstrap.servers": given.servers, **chosen}
    if "headers" in str(given.columns):
        more["includeHeaders"] = "true"
    stream = {"startingOffsets": given.start}
    if given.records_per_batch is not None:
        stream["maxOffsetsPerTrigger"] = str(given.records_per_batch)
    topics = f"topics like {given.pattern}" if given.pattern else f"topic{'s'[: len(names) > 1]} {', '.join(names)}"
    return FrameSource(
        **common
        | {"options": {**common["options"], **more}, "lines": given.lines or (None if given.columns else "value")},
        format="kafka",
        stream_options=stream,
        place=_PLACE,
        package=PACKAGE,
        about=f"{topics} at {given.servers}, by the executors, all partitions at once",
    )


CONNECTOR = Connector(kind="kafka", capability=CAPABILITY, options=KafkaInOptions, frames=_source)
