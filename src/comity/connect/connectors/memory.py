"""A source in memory whose items are records and faults, for tests and examples."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from comity.connect.port import Batch, Capability, Connector, Position, Record, Setting
from comity.errors import Retryable


class Trouble(Enum):
    """Items of a memory source that are no records."""

    CRASH = "crash"
    """The source fails once here; open it again to go on."""
    PAUSE = "pause"
    """There is nothing now, once."""
    END = "end"
    """There is nothing ever after."""


CRASH, PAUSE, END = Trouble.CRASH, Trouble.PAUSE, Trouble.END
GARBAGE = b"\xff\x00 no event at all"
"""A record that is not even text."""

Item = bytes | Trouble


class MemoryOptions(BaseModel):
    """The options of `memory`. In files, an item is an event, a text as it stands, or `crash`, `pause` or `end`."""

    model_config = ConfigDict(extra="forbid")

    items: list[dict[str, Any] | str] = Field(default_factory=list)
    live: bool = False
    can_replay: bool = True
    pause_s: float = Field(default=0.01, ge=0)


class MemorySource:
    """Items one after the other. The position is how many were passed.

    Without `can_replay` it is like a broker: when it is opened again, it goes on after what was acknowledged.

    >>> source = MemorySource([b"{}", PAUSE, b"[]"])
    >>> source.open()
    >>> len(source.next_batch(10).records), source.next_batch(10).records, source.next_batch(10).position
    (1, (), 3)
    """

    def __init__(
        self,
        items: Iterable[Item] = (),
        *,
        live: bool = False,
        can_replay: bool = True,
        pause_s: float = 0.01,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.capability = Capability(can_replay=can_replay, ordered=True, live=live, durable=True)
        self.items = list(items)
        self.acknowledged: Position = None
        self._passed_troubles: set[int] = set()
        self._at = 0
        self._pause_s, self._clock = pause_s, clock

    def open(self, position: Position = None) -> None:
        self._at = (position if self.capability.can_replay else self.acknowledged) or 0

    def next_batch(self, max_records: int) -> Batch | None:
        records: list[Record] = []
        while self._at < len(self.items) and len(records) < max_records:
            item = self.items[self._at]
            if isinstance(item, Trouble):
                if records:
                    break
                if item is END:
                    return None
                if self._at not in self._passed_troubles:
                    return self._meet(item)
                self._at += 1
            else:
                self._at += 1
                records.append(Record(item, "memory", self._at))
        if records:
            return Batch(tuple(records), self._at)
        return self._nothing_now() if self.capability.live else None

    def acknowledge(self, position: Position) -> None:
        self.acknowledged = position

    def close(self) -> None:
        """Nothing to do: the items stay, so that it can be opened again."""

    def _meet(self, trouble: Trouble) -> Batch:
        self._passed_troubles.add(self._at)
        self._at += 1
        if trouble is CRASH:
            raise Retryable("the memory source fails here, as it was told to", code="told-to-fail")
        return self._nothing_now()

    def _nothing_now(self) -> Batch:
        return Batch((), self._at, self._clock() + self._pause_s)


def _item(written: dict[str, Any] | str) -> Item:
    if isinstance(written, dict):
        return json.dumps(written).encode()
    words = {one.value: one for one in Trouble}
    return words.get(written) or written.encode()


def _source(options: MemoryOptions, setting: Setting) -> MemorySource:
    items = [_item(one) for one in options.items]
    return MemorySource(items, live=options.live, can_replay=options.can_replay, pause_s=options.pause_s)


CONNECTOR = Connector(
    kind="memory",
    capability=Capability(can_replay=True, ordered=True, durable=True),
    options=MemoryOptions,
    main_option="items",
    source=_source,
)
