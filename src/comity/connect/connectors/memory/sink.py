"""`memory`: a sink that keeps messages in this process, and fails on demand. For tests and trials.

Faults are inputs: one for each message that is offered, in turn; when they are used up the sink works.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from comity.connect.port import Capability, Connector, Message, NotTaken, Refused, Setting

_CAPABILITY = Capability(ordered=True)


class SinkFault(StrEnum):
    """What happens to the next message that is offered."""

    NONE = "none"
    """It is taken."""
    BUSY = "busy"
    """It is not taken now."""
    REFUSE = "refuse"
    """It is never taken."""
    LOSE_ANSWER = "lose-answer"
    """It is taken, and the answer says that it was not."""
    CRASH = "crash"
    """It is taken, and the sender dies before the answer."""


class SenderKilled(BaseException):
    """Stands for the death of the sender; no handler of errors catches it."""


class MemorySinkOptions(BaseModel):
    """How it fails: the first `fail_first` offers, or all of them while `down`; each offer takes `delay_s`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fail_first: int = Field(default=0, ge=0)
    down: bool = False
    delay_s: float = Field(default=0.0, ge=0)


class MemorySink:
    """Keeps what it took in `taken`.

    >>> sink = MemorySink([SinkFault.BUSY])
    >>> message = Message("house_a", "fires", '["fires","/a","1"]', b"{}")
    >>> sink.deliver([message])
    Traceback (most recent call last):
    comity.connect.port.NotTaken: the sink is busy [sink-busy]
    >>> sink.deliver([message])
    >>> len(sink.taken)
    1
    """

    capability = _CAPABILITY

    def __init__(
        self,
        faults: Iterable[SinkFault] = (),
        *,
        down: bool = False,
        delay_s: float = 0.0,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.taken: list[Message] = []
        self.offers = 0
        self.down = down
        self.is_closed = False
        self._faults = iter(faults)
        self._delay_s, self._sleep = delay_s, sleep

    def deliver(self, messages: Sequence[Message]) -> None:
        """Take messages in their order, unless a fault is due."""
        for number, message in enumerate(messages):
            self.offers += 1
            if self._delay_s:
                self._sleep(self._delay_s)
            self._take(message, number, SinkFault.BUSY if self.down else next(self._faults, SinkFault.NONE))

    def close(self) -> None:
        """Nothing is let go: what was taken can still be looked at."""
        self.is_closed = True

    def _take(self, message: Message, number: int, fault: SinkFault) -> None:
        if fault is SinkFault.BUSY:
            raise NotTaken("the sink is busy", code="sink-busy", taken=number)
        if fault is SinkFault.REFUSE:
            raise Refused("the sink refuses this message", code="sink-refused", taken=number)
        self.taken.append(message)
        if fault is SinkFault.LOSE_ANSWER:
            raise NotTaken("the answer was lost", code="sink-busy", taken=number)
        if fault is SinkFault.CRASH:
            raise SenderKilled


def _open(options: MemorySinkOptions, setting: Setting) -> MemorySink:
    return MemorySink([SinkFault.BUSY] * options.fail_first, down=options.down, delay_s=options.delay_s)


CONNECTOR = Connector(kind="memory", capability=_CAPABILITY, options=MemorySinkOptions, sink=_open)
