"""The results folder as an outbox: what was published goes to the subscribers' sinks, once, across crashes.

`send` blocks while a sink is slow or down, within the limits of the retry policy, so a stream that calls it at the end
of each batch is held back. What a sink does not take is put under `dead-letters/`. Each sink has its own progress and
its own thread: one that is down delays nobody else's notifications. A sink that is new gets everything that is there.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from comity.connect.courier import Courier, Note, Settled
from comity.connect.dead_letters import append_dead_letters
from comity.connect.identity import key_digest
from comity.connect.port import Message, Sink
from comity.connect.progress import KeyLog, KnownKeys, SinkProgress, sink_progress
from comity.connect.published import PublishedBatch, published_batches, read_messages
from comity.connect.registry import open_sink
from comity.connect.retry import RetryPolicy
from comity.connect.specs import SinkSpec
from comity.errors import ComityError, Retryable
from comity.limits import limits

_READ_MESSAGES, _READ_BYTES = 2_000, 8_388_608

Sinks = Mapping[str, Mapping[str, Sink]]
"""The sinks of each subscriber, by name."""


@dataclass(frozen=True, slots=True)
class DeliveryEvent:
    """Something that happened at a sink, for logs and metrics."""

    kind: Literal["taken", "dead-letter", "retry", "down", "up"]
    subscriber: str
    sink: str
    count: int = 0
    reason: str | None = None
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class SinkCount:
    """How many notifications a sink took, and how many became dead letters. `complete` says that none are left."""

    subscriber: str
    sink: str
    taken: int
    dead_letters: int
    complete: bool


def open_sinks(specs: Iterable[SinkSpec], base: Path) -> dict[str, dict[str, Sink]]:
    """The sinks of a federation, by subscriber and name. Relative paths in their options begin at `base`."""
    found: dict[str, dict[str, Sink]] = {}
    for spec in specs:
        found.setdefault(spec.domain, {})[spec.name] = open_sink(spec, base)
    return found


class Outbox:
    """Sends what is published in a results folder. The first `send` after a crash goes on where the last one was.

    `clock` gives seconds since 1970. `on_event` is called by one thread at a time. With `parallel=1` sinks are sent to
    one after the other, which makes a run repeatable.

    >>> import tempfile
    >>> from comity.connect.connectors.memory.sink import MemorySink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out, sink = Path(folder), MemorySink()
    ...     (out / "house_a").mkdir()
    ...     line = '{"profile": "fires", "source": "/a", "id": "1", "time": "2026-01-31T12:00:00Z"}'
    ...     _ = (out / "house_a/part-00000.jsonl").write_text(line)
    ...     Outbox(out, {"house_a": {"screen": sink}}).send()[0].taken
    1
    """

    def __init__(
        self,
        out: Path,
        sinks: Sinks,
        *,
        policy: RetryPolicy | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], object] | None = None,
        chance: Callable[[], float] | None = None,
        on_event: Callable[[DeliveryEvent], None] = lambda event: None,
        parallel: int | None = None,
        in_flight: int | None = None,
        priorities: Mapping[str, int] | None = None,
    ) -> None:
        self.out = out
        self.priorities = dict(priorities or {})
        """By profile; 0 for those that are not in it. Within a batch a higher one goes first."""
        self.sinks = sinks
        self._stopping, self._sending = threading.Event(), threading.Lock()
        self._policy = policy or RetryPolicy.from_limits()
        self._clock, self._sleep = clock, sleep or self._stopping.wait
        self._chance = chance or random.Random().random
        self._on_event, self._telling = on_event, threading.Lock()
        self._parallel = parallel or limits().max_parallel_sinks
        self._in_flight = in_flight or limits().max_messages_in_flight
        self._settled: dict[tuple[str, str], tuple[object, ...]] = {}
        self._couriers = {(who, name): self._courier(who, name) for who, own in sinks.items() for name in own}

    def send(self) -> list[SinkCount]:
        """Offer everything that is published and not settled yet; gives what each sink took."""
        with self._sending:
            return self._send_to_all()

    def _send_to_all(self) -> list[SinkCount]:
        if self._parallel == 1 or len(self._couriers) <= 1:
            return [self._send_to(*pair) for pair in self._couriers]
        with ThreadPoolExecutor(min(self._parallel, len(self._couriers)), "comity-sink") as pool:
            waiting = [pool.submit(self._send_to, *pair) for pair in self._couriers]
            try:
                return [one.result() for one in waiting]
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Make `send` end soon, from any thread; what was not settled is sent by the next outbox on this folder."""
        self._stopping.set()

    def finish(self) -> None:
        """Stop, and wait for what is being sent."""
        self.stop()
        with self._sending:
            pass

    def close(self) -> None:
        """Stop, wait for what is being sent, and let go of all sinks."""
        self.stop()
        with self._sending:
            for own in self.sinks.values():
                for sink in own.values():
                    sink.close()

    def _send_to(self, subscriber: str, sink: str) -> SinkCount:
        courier = self._couriers[subscriber, sink]
        courier.begin()
        counting = _Counting(subscriber, sink, self._tell)
        try:
            with sink_progress(self.out, subscriber, sink, give_up=self._stopping.is_set) as progress:
                complete = self._send_batches(courier, progress, counting)
        except Retryable:
            if not self._stopping.is_set():
                raise
            complete = False  # it was stopped while it waited for another process
        return counting.total(complete=complete)

    def _send_batches(self, courier: Courier, progress: SinkProgress, counting: _Counting) -> bool:
        found = published_batches(self.out, counting.subscriber)
        waiting = [batch for batch in found if not progress.is_done(batch.series, batch.number)]
        for batch in waiting:
            fingerprint = batch.fingerprint()
            if self._settled.get(counting.pair) != fingerprint:
                if not self._send_batch(courier, progress, batch, counting):
                    return False
                self._settled[counting.pair] = fingerprint
            # A stream that dies while it publishes its last batch publishes it again, and then there may be more in it.
            if batch is not waiting[-1] or batch.series != "batch":
                progress.finish(batch.series, batch.number)
        return True

    def _send_batch(self, courier: Courier, progress: SinkProgress, batch: PublishedBatch, counting: _Counting) -> bool:
        log, known = progress.begin(batch.series, batch.number)
        note = _noting(progress.dead_letters, log, courier, counting)
        try:
            for chunk in _chunks(self._by_priority(batch, counting.subscriber), known):
                if isinstance(chunk, Settled):
                    note([chunk])
                elif not courier.carry(chunk, note):
                    return False
            return True
        finally:
            log.close()

    def _by_priority(self, batch: PublishedBatch, subscriber: str) -> Iterator[Message | Settled]:
        """The messages of a batch, read once for each priority that occurs in it, so that memory stays bounded."""
        if not self.priorities:
            yield from read_messages(batch.files, subscriber)
            return
        levels = {self._priority(one) for one in read_messages(batch.files, subscriber)}
        for level in sorted(levels, reverse=True):
            yield from (one for one in read_messages(batch.files, subscriber) if self._priority(one) == level)

    def _priority(self, one: Message | Settled) -> int:
        profile = one.message.profile if isinstance(one, Settled) else one.profile
        return self.priorities.get(profile, 0)

    def _courier(self, subscriber: str, sink: str) -> Courier:
        def tell_retry(error: ComityError, wait_s: float) -> None:
            self._tell(DeliveryEvent("retry", subscriber, sink, reason=error.message, wait_s=wait_s))

        return Courier(
            self.sinks[subscriber][sink],
            self._policy,
            self._clock,
            self._sleep,
            self._chance,
            self._stopping.is_set,
            tell_retry,
            self._in_flight,
        )

    def _tell(self, event: DeliveryEvent) -> None:
        with self._telling:
            self._on_event(event)


class _Counting:
    """Counts what is settled at one sink, and tells it."""

    def __init__(self, subscriber: str, sink: str, tell: Callable[[DeliveryEvent], None]) -> None:
        self.subscriber, self.sink, self._tell = subscriber, sink, tell
        self._taken = self._dead = 0
        self._was_down = False

    @property
    def pair(self) -> tuple[str, str]:
        """Whose sink it is, and its name."""
        return self.subscriber, self.sink

    def count(self, taken: int, dead: Sequence[Settled], is_down: bool) -> None:
        """Take in what was settled now."""
        self._taken += taken
        self._dead += len(dead)
        reason = dead[0].failure.reason if dead and dead[0].failure else None
        if is_down != self._was_down:
            self._was_down = is_down
            self._tell(DeliveryEvent("down" if is_down else "up", self.subscriber, self.sink, reason=reason))
        if taken:
            self._tell(DeliveryEvent("taken", self.subscriber, self.sink, taken))
        if dead:
            self._tell(DeliveryEvent("dead-letter", self.subscriber, self.sink, len(dead), reason))

    def total(self, *, complete: bool) -> SinkCount:
        """Everything so far."""
        return SinkCount(self.subscriber, self.sink, self._taken, self._dead, complete)


def _noting(dead_letters: Path, log: KeyLog, courier: Courier, counting: _Counting) -> Note:
    def note(settled: Sequence[Settled]) -> None:
        dead = [one for one in settled if one.failure]
        if dead:  # before the log: what is in the log must be somewhere
            append_dead_letters(dead_letters, (one.as_dead_letter() for one in dead))
        log.add(one.message.key for one in settled)
        counting.count(len(settled) - len(dead), dead, courier.is_down)

    return note


def _chunks(messages: Iterable[Message | Settled], known: KnownKeys) -> Iterator[list[Message] | Settled]:
    """What is not known yet, in order, in lists of bounded length and size; a failure comes alone."""
    chunk: list[Message] = []
    size = 0
    for one in messages:
        message = one.message if isinstance(one, Settled) else one
        if key_digest(message.key) in known:
            continue
        if isinstance(one, Message):
            chunk.append(one)
            size += len(one.line)
        if chunk and (isinstance(one, Settled) or len(chunk) >= _READ_MESSAGES or size >= _READ_BYTES):
            yield chunk
            chunk, size = [], 0
        if isinstance(one, Settled):
            yield one
    if chunk:
        yield chunk
