"""A bucket of a batch in topics: a transaction, which ends with the mark of what was in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from comity.connect.commits import WrittenKeys
from comity.connect.folder import LATE, REJECTED
from comity.connect.notification import identity_of
from comity.connect.topics.marks import BucketMark, BucketMarks
from comity.connect.topics.place import Topics
from comity.limits import limits

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_Headers = list[tuple[str, str | bytes | None]]
_TYPE = ("content-type", "application/cloudevents+json")
_OVERHEAD_BYTES = 512
"""What a message has beside its key and its value, more or less."""
_USUAL_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class TopicParts:
    """Opens parts in workers, to which it is sent."""

    topics: Topics
    stream: str
    batch: int
    plan: str | None

    def open(self, bucket: int = 0, step: int = 0) -> TopicPart:
        """The part of a bucket, in one of the writings of a batch."""
        return TopicPart(self, bucket, step)

    def path(self, file: object) -> Path | None:
        """There are no files."""
        return None


class TopicPart:
    """A transaction. Whoever had begun one for this bucket is shut out when it is opened."""

    def __init__(self, parts: TopicParts, bucket: int, step: int) -> None:
        from confluent_kafka import Producer

        self.topics, self.step = parts.topics, step
        self.files: tuple[()] = ()
        self._marks = BucketMarks(parts.topics, parts.stream, bucket)
        self._failed: KafkaError | None = None
        self._sent = 0
        self._kept = ExitStack()
        self._producer = Producer(
            parts.topics.client(
                **{
                    "transactional.id": self._marks.name,
                    "transaction.timeout.ms": 1_000 * limits().max_transaction_s,
                    "linger.ms": 5,
                    "compression.type": "lz4",
                    **parts.topics.config,
                }
            )
        )
        self._most_bytes = int(parts.topics.config.get("message.max.bytes", _USUAL_BYTES)) - _OVERHEAD_BYTES
        with self.topics.failures():
            self._producer.init_transactions(limits().max_storage_s)
            self._group = self._kept.enter_context(self._marks.reader())
            self.mark: BucketMark = self._marks.last(self._group, parts.batch, parts.plan)
            self._producer.begin_transaction()

    @property
    def is_again(self) -> bool:
        """Whether an earlier attempt at this writing is there for good."""
        return self.step in self.mark.steps

    def put(self, to: str, line: bytes) -> None:
        """Take one line; what has no identity only in the first attempt, which had all of it."""
        if to in (REJECTED, LATE):
            if not self.is_again:
                self._send(self.topics.of(to), line, None, [("content-type", "application/json")])
            return
        identity = identity_of(line)
        key = identity.key.encode()
        if len(line) + len(key) > self._most_bytes:
            self._refuse(to, key, line)
        else:
            self._send(self.topics.of(to), line, key, [("subscriber", to), ("profile", identity.profile), _TYPE])

    def put_all(self, to: str, lines: pa.BinaryArray) -> None:
        """Take several."""
        for line in lines.to_pylist():
            self.put(to, line)

    def commit(self, keys: Sequence[WrittenKeys]) -> None:
        """Let it count: the messages, and the mark with the keys of what is in them."""
        try:
            with self.topics.failures():
                if self._sent or keys:
                    self._end(self.mark.having_done(self.step, keys))
                else:
                    self._producer.abort_transaction(limits().max_storage_s)
        finally:
            self._kept.close()

    def close(self) -> None:
        """Leave it without letting it count."""
        with self._kept, self.topics.failures():
            self._producer.abort_transaction(limits().max_storage_s)

    def _end(self, mark: BucketMark) -> None:
        patience = limits().max_storage_s
        offsets = [self._marks.offset(mark)]
        self._producer.flush(limits().max_transaction_s)
        self._raise_failed()
        self._producer.send_offsets_to_transaction(offsets, self._group.consumer_group_metadata(), patience)
        _again(lambda: self._producer.commit_transaction(patience))

    def _refuse(self, to: str, key: bytes, line: bytes) -> None:
        """A notification that no broker takes is told among the rejected records."""
        reason = f"{len(line)} bytes are more than a message may have"
        fault = {"path": "", "value": None, "reason": reason, "code": "sink-refused"}
        raw = line[: limits().max_rejected_chars].decode(errors="replace")
        record = {"subscriber": to, "key": key.decode(), "raw": raw, "faults": [fault]}
        self._send(self.topics.of(REJECTED), msgspec.json.encode(record), key, [("content-type", "application/json")])

    def _send(self, topic: str, value: bytes, key: bytes | None, headers: _Headers) -> None:
        with self.topics.failures():
            while True:
                try:
                    self._producer.produce(topic, value, key=key, headers=headers, on_delivery=self._note)
                    break
                except BufferError:  # more waits than the client has room for
                    self._producer.poll(0.1)
                    self._raise_failed()
            self._producer.poll(0)
        self._sent += 1

    def _note(self, error: KafkaError | None, message: Message) -> None:
        self._failed = self._failed or error

    def _raise_failed(self) -> None:
        if self._failed is not None:
            raise self.topics.told(self._failed)


_MOST_TRIES = 5


def _again(commit: Callable[[], None]) -> None:
    """A commit whose answer does not come is asked for again, which changes nothing if it was done."""
    from confluent_kafka import KafkaException

    for left in range(_MOST_TRIES - 1, -1, -1):
        try:
            return commit()
        except KafkaException as error:
            if not left or not error.args[0].retriable():
                raise
    return None
