"""What a transaction says about itself: of which batch it was, and which files of keys hold what was in it.

A mark is committed with the messages of its bucket, as the offset of a group of its own, so that both are there or
neither is. Whoever does a bucket again finds it, and sends only what is not among its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from comity.connect.commits import WrittenKeys
from comity.connect.topics.place import Topics
from comity.errors import Permanent, Place
from comity.limits import limits

if TYPE_CHECKING:
    from confluent_kafka import Consumer


class BucketMark(msgspec.Struct, frozen=True):
    """What of a batch a bucket has delivered for good.

    >>> mark = BucketMark(3, "a").having_done(0, [])
    >>> mark.steps, BucketMark.read(mark.written()) == mark
    ({0: []}, True)
    """

    batch: int
    plan: str | None = None
    """What tells the input of the batch from any other."""
    steps: dict[int, list[WrittenKeys]] = {}
    """By the writing of the batch, the keys of what was in it."""

    @classmethod
    def read(cls, text: str) -> BucketMark:
        return msgspec.json.decode(text, type=cls)

    @property
    def keys(self) -> list[WrittenKeys]:
        """Those of all writings, in their order."""
        return [one for step in sorted(self.steps) for one in self.steps[step]]

    def having_done(self, step: int, keys: Sequence[WrittenKeys]) -> BucketMark:
        """The same after more was delivered."""
        return BucketMark(self.batch, self.plan, {**self.steps, step: [*self.steps.get(step, []), *keys]})

    def written(self) -> str:
        """As a text."""
        return msgspec.json.encode(self).decode()


class BucketMarks:
    """The marks of one bucket of a stream."""

    def __init__(self, topics: Topics, stream: str, bucket: int) -> None:
        self.topics, self.stream, self.bucket = topics, stream, bucket

    @property
    def name(self) -> str:
        """Of its group, and of its transactions."""
        return f"comity-{self.stream}-{self.bucket}"

    @contextmanager
    def reader(self) -> Iterator[Consumer]:
        """A client that has its group, without being a member."""
        from confluent_kafka import Consumer

        settings = {"group.id": self.name, "isolation.level": "read_committed", "enable.auto.commit": False}
        consumer = Consumer(self.topics.client(**settings))
        try:
            yield consumer
        finally:
            consumer.close()

    def last(self, consumer: Consumer, batch: int, plan: str | None) -> BucketMark:
        """What is delivered of a batch; raises if somebody else is further, or at another batch of this number."""
        from confluent_kafka import TopicPartition

        with self.topics.failures():
            (found,) = consumer.committed([TopicPartition(*self._where)], limits().max_storage_s)
        fresh = BucketMark(batch, plan)
        mark = BucketMark.read(found.metadata) if found.offset >= 0 and found.metadata else fresh
        if mark.batch > batch or (mark.batch == batch and mark.plan != plan):
            hint = "one stream for one state: go on with the state of the one that runs, or with a new state"
            raise Permanent("another stream writes here", code="other-stream", place=self._place, hint=hint)
        return mark if mark.batch == batch else fresh

    def offset(self, mark: BucketMark) -> Any:
        """What is committed with a transaction."""
        from confluent_kafka import TopicPartition

        return TopicPartition(*self._where, max(mark.batch, -1) + 2, metadata=mark.written())

    @property
    def _where(self) -> tuple[str, int]:
        return self.topics.of("rejected"), 0

    @property
    def _place(self) -> Place:
        return Place(self.topics.address)
