"""A source in memory whose items are records and faults, for tests and examples; it filters, if it is told to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from comity.connect.connectors.memory.filters import DIALECTS, memory_filter
from comity.connect.port import FOR_EVERYTHING, Ask, Batch, Capability, Connector, Position, Record, Setting
from comity.errors import Retryable

if TYPE_CHECKING:
    from comity.language.language import Language


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
Filters = Literal["none", "terms", "tags", "rows"]
"""The dialects of its language of filters: see `filters`."""


class MemoryOptions(BaseModel):
    """The options of `memory`. In files, an item is an event, a text as it stands, or `crash`, `pause` or `end`."""

    model_config = ConfigDict(extra="forbid")

    items: list[dict[str, Any] | str] = Field(default_factory=list)
    live: bool = False
    can_replay: bool = True
    pause_s: float = Field(default=0.01, ge=0)
    filters: Filters = "none"


class MemorySource:
    """Items one after the other. The position is how many were passed.

    Without `can_replay` it is like a broker: when it is opened again, it goes on after what was acknowledged. With
    `filters` it gives only what it is asked for, and of that only the attributes that are read; what is no event of a
    type it gives as it is.

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
        filters: Filters = "none",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        language = "none" if filters == "none" else DIALECTS[filters].name
        self.capability = Capability(language, can_replay=can_replay, ordered=True, live=live, durable=True)
        self.items = list(items)
        self.acknowledged: Position = None
        self._passed_troubles: set[int] = set()
        self._at = 0
        self._pause_s, self._clock, self._filters = pause_s, clock, filters
        self._given: _Given = _as_it_is

    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        self.change(ask)
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
                line = self._given(item)
                records += [] if line is None else [Record(line, "memory", self._at)]
        if records:
            return Batch(tuple(records), self._at)
        return self._nothing_now() if self.capability.live else None

    def change(self, ask: Ask) -> None:
        self._given = _given(ask, self._filters)

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


_Given = Callable[[bytes], bytes | None]
"""The record that is given for an item, None if nobody asked for it."""


def _as_it_is(line: bytes) -> bytes:
    return line


def _given(ask: Ask, filters: Filters) -> _Given:
    if ask.types is None or filters == "none":
        return _as_it_is
    dialect = DIALECTS[filters]
    asked = {
        one.type: (None if one.native is None else memory_filter(one.native, dialect), one.attributes)
        for one in ask.types
    }

    def given(line: bytes) -> bytes | None:
        record = _read(line)
        if record is None:
            return line
        passes, attributes = asked.get(record["type"], (_nothing, None))
        if passes is not None and not passes(record):
            return None
        return line if attributes is None else _with_only(record, attributes)

    return given


def _nothing(record: Mapping[str, Any]) -> bool:
    return False


def _read(line: bytes) -> dict[str, Any] | None:
    """The fields of an event that has a type; None of anything else, which is not ours to judge."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_event = isinstance(found, dict) and isinstance(found.get("type"), str)
    return found if is_event and isinstance(found.get("data"), dict | None) else None


def _with_only(record: dict[str, Any], attributes: tuple[str, ...]) -> bytes:
    data = {name: value for name, value in (record.get("data") or {}).items() if name in attributes}
    return json.dumps({**record, "data": data}).encode()


def _item(written: dict[str, Any] | str) -> Item:
    if isinstance(written, dict):
        return json.dumps(written).encode()
    words = {one.value: one for one in Trouble}
    return words.get(written) or written.encode()


def _source(options: MemoryOptions, setting: Setting) -> MemorySource:
    return MemorySource(
        [_item(one) for one in options.items],
        live=options.live,
        can_replay=options.can_replay,
        pause_s=options.pause_s,
        filters=options.filters,
    )


def _language(options: MemoryOptions) -> Language:
    from comity.connect.connectors.memory.language import memory_language  # it loads the compiler of filters

    return memory_language(options.filters)


CONNECTOR = Connector(
    kind="memory",
    capability=Capability(can_replay=True, ordered=True, durable=True),
    options=MemoryOptions,
    main_option="items",
    source=_source,
    language=_language,
)
