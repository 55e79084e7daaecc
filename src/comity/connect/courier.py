"""Carries messages to one sink: tries again by the policy, and stops insisting on a sink that is down.

A message that the sink cannot take now is offered again until the policy gives up on it. From then on the sink counts
as down: it gets single probes, the first one at once, the next after 1 message put aside, then 2, 4, 8 and so on, until
it takes one. So a sink that is down costs a number of attempts that grows with the logarithm of the messages, and one
that comes back misses at the most as many more as it had missed before. Later calls begin with a probe, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from comity.connect.dead_letters import DeadLetter
from comity.connect.port import Message, NotTaken, Refused, Sink
from comity.connect.retry import RetryPolicy
from comity.errors import ComityError, Misuse, Permanent, Retryable
from comity.event.times import format_timestamp
from comity.limits import limits

SINK_DOWN = "sink-down"
"""The code of a message that was put aside without an attempt."""

_QUICK_OFFER_S, _SLOW_OFFER_S = 0.25, 1.0


@dataclass(frozen=True, slots=True)
class SendFailure:
    """Why a message was not taken. Times are seconds since 1970; without an attempt there are none."""

    reason: str
    code: str
    attempts: int = 0
    first_tried_s: float | None = None
    last_tried_s: float | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """A message that is not offered again: taken, or failed for a reason."""

    message: Message
    failure: SendFailure | None = None

    def as_dead_letter(self) -> DeadLetter:
        """The record of a failure."""
        failure = self.failure or SendFailure("", "")
        return DeadLetter(
            key=self.message.key,
            reason=failure.reason,
            code=failure.code,
            attempts=failure.attempts,
            first_tried=shown_time(failure.first_tried_s),
            last_tried=shown_time(failure.last_tried_s),
            message=msgspec.Raw(self.message.line),
        )


Note = Callable[[Sequence[Settled]], None]
"""Is told in order what is settled, as soon as it is."""


@dataclass(slots=True)
class Courier:
    """One sink with its policy. `stopped` is asked before each offer; what is not settled then is left as it is."""

    sink: Sink
    policy: RetryPolicy
    clock: Callable[[], float]
    sleep: Callable[[float], object]
    chance: Callable[[], float] = field(default_factory=lambda: random.Random().random)
    stopped: Callable[[], bool] = lambda: False
    on_retry: Callable[[ComityError, float], None] = lambda error, wait_s: None
    in_flight: int = field(default_factory=lambda: limits().max_messages_in_flight)
    _down: ComityError | None = None
    _put_aside: int = 0
    _until_probe: int = 0
    _at_once: int = 1
    _pause: ComityError | None = None

    @property
    def is_down(self) -> bool:
        """Whether the sink is only probed."""
        return self._down is not None

    def begin(self) -> None:
        """A new round: a sink that was down is probed with the first message."""
        self._until_probe = 0

    def carry(self, messages: Sequence[Message], note: Note) -> bool:
        """Settle messages in their order; gives False if it was stopped before the end."""
        rest = list(messages)
        while rest and not self.stopped():
            settled = self._put_some_aside(rest) if self._down and self._until_probe else self._offer(rest)
            if settled:
                note(settled)
            del rest[: len(settled)]
        return not rest

    def _offer(self, rest: Sequence[Message]) -> list[Settled]:
        """Offer what is there until the first of it is settled, or it is stopped."""
        offered = rest[:1] if self._down else rest[: self._at_once]
        attempts, first_s = 0, self.clock()
        self._sit_out_pause()
        while not self.stopped():
            attempts += 1
            try:
                self.sink.deliver(offered)
            except (Retryable, Permanent, Misuse) as error:
                settled = self._after(error, offered, attempts, first_s)
                if settled:
                    return settled
            else:
                self._is_up()
                self._adapt(len(offered), self.clock() - first_s)
                return [Settled(message) for message in offered]
        return []

    def _sit_out_pause(self) -> None:
        """A sink that took some and then no more is left alone for as long as it says, or for the first delay."""
        error, self._pause = self._pause, None
        wait_s = self._wait_s(error, 1, 0.0) if error else None
        if error is not None and wait_s is not None:
            self.on_retry(error, wait_s)
            self.sleep(wait_s)

    def _adapt(self, offered: int, took_s: float) -> None:
        """Offer as many at once as take about a second, so that a slow sink can be stopped and repeats little."""
        if took_s > _SLOW_OFFER_S:
            self._at_once = max(1, offered // 2)
        elif took_s < _QUICK_OFFER_S and offered == self._at_once:
            self._at_once = min(offered * 2, self.in_flight)

    def _after(
        self, error: ComityError, offered: Sequence[Message], attempts: int, first_s: float
    ) -> list[Settled] | None:
        """What is settled by a failed offer; None, after a wait, if nothing is."""
        taken = [Settled(message) for message in offered[: getattr(error, "taken", 0)]]
        if isinstance(error, Refused):
            self._is_up()  # the fault is in the message
            return [*taken, *(self._failed(message, error, attempts, first_s) for message in offered[len(taken) :][:1])]
        if taken:  # these are noted first; then the next one starts with a fresh count
            self._is_up()
            self._pause = error
            return taken
        wait_s = self._wait_s(error, attempts, self.clock() - first_s)
        if wait_s is None:
            self._is_not_up(error)
            return [self._failed(offered[0], error, attempts, first_s)]
        self.on_retry(error, wait_s)
        self.sleep(wait_s)
        return None

    def _wait_s(self, error: ComityError, attempts: int, elapsed_s: float) -> float | None:
        if self._down or not isinstance(error, Retryable):
            return None
        after = error.retry_after_s if isinstance(error, NotTaken) else None
        return self.policy.wait_s(attempts, elapsed_s=elapsed_s, chance=self.chance(), retry_after_s=after)

    def _failed(self, message: Message, error: ComityError, attempts: int, first_s: float) -> Settled:
        return Settled(message, SendFailure(error.message, error.code, attempts, first_s, self.clock()))

    def _is_not_up(self, error: ComityError) -> None:
        self._at_once = 1
        self._down, self._until_probe = error, self._put_aside
        self._put_aside = max(1, self._put_aside * 2)

    def _put_some_aside(self, rest: Sequence[Message]) -> list[Settled]:
        aside = rest[: self._until_probe]
        self._until_probe -= len(aside)
        reason = f"the sink is down: {self._down.message if self._down else ''}"
        return [Settled(message, SendFailure(reason, SINK_DOWN)) for message in aside]

    def _is_up(self) -> None:
        self._down, self._put_aside, self._until_probe = None, 0, 0


def shown_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as RFC 3339.

    >>> shown_time(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    return None if seconds is None else format_timestamp(datetime.fromtimestamp(seconds, UTC))
