"""Standard input as a source of JSON Lines. What was read is gone: after a restart it goes on with what comes then."""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from comity.connect.port import Batch, Capability, Connector, Position, Record, Setting
from comity.errors import Misuse
from comity.event.formats.jsonlines import rejected, too_long
from comity.limits import limits

NAME = "-"
"""What records of standard input have as file."""

_CHUNK_BYTES = 65_536
_POLL_S = 0.05
_BOM = b"\xef\xbb\xbf"


class StandardOptions(BaseModel):
    """The options of `stdin`: there are none."""

    model_config = ConfigDict(extra="forbid")


class StandardInput:
    """Lines of a file descriptor, that of standard input unless another one is given; never waits for it."""

    def __init__(self, descriptor: int | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.capability = Capability(ordered=True, live=False)
        self._given, self._clock = descriptor, clock
        self._descriptor: int | None = None
        self._lines = _Lines()
        self._number = 0
        self._is_at_end = False

    def open(self, position: Position = None) -> None:
        self._descriptor = self._given if self._given is not None else _standard_input()
        try:
            select.select([self._descriptor], [], [], 0)
        except (OSError, ValueError) as error:
            self._descriptor = None
            raise Misuse("standard input cannot be read here", code="no-standard-input") from error

    def next_batch(self, max_records: int) -> Batch | None:
        self._fill(max_records)
        records = tuple(self._taken(max_records))
        if records:
            return Batch(records, self._number)
        return None if self._is_at_end else Batch((), self._number, self._clock() + _POLL_S)

    def acknowledge(self, position: Position) -> None:
        """Nothing to do: what was read cannot be read again."""

    def close(self) -> None:
        self._descriptor = None
        self._is_at_end = True

    def _fill(self, wanted: int) -> None:
        while len(self._lines.whole) < wanted and not self._is_at_end and self._descriptor is not None:
            ready, _, _ = select.select([self._descriptor], [], [], 0)
            if not ready:
                return
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
            self._is_at_end = not chunk
            self._lines.feed(chunk)

    def _taken(self, most: int) -> Iterator[Record]:
        taken = 0
        while taken < most and self._lines.whole:
            line, is_whole = self._lines.whole.popleft()
            self._number += 1
            if not is_whole:
                refused = rejected(line, [too_long(f"more than {len(line)} bytes")], self._number, NAME)
                yield Record(line, NAME, self._number, refused)
            elif line and not line.isspace():
                yield Record(line, NAME, self._number)
            else:
                continue
            taken += 1


class _Lines:
    """Cuts what comes in pieces into lines, holding no more of one than `max_record_bytes`."""

    def __init__(self) -> None:
        self.whole: deque[tuple[bytes, bool]] = deque()
        self._rest = bytearray()
        self._is_cut = False
        self._is_first = True

    def feed(self, chunk: bytes) -> None:
        """Take some more bytes; none at all are the end."""
        if not chunk:
            if self._rest or self._is_cut:
                self._end_line()
            return
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            self._end_line()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._rest += piece
        bound = limits().max_record_bytes + len(_BOM) + 1  # room for a mark and a carriage return
        if len(self._rest) > bound:
            del self._rest[bound:]
            self._is_cut = True

    def _end_line(self) -> None:
        line = bytes(self._rest)
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        bound = limits().max_record_bytes
        is_whole = not self._is_cut and len(line.removesuffix(b"\r")) <= bound
        self.whole.append((line.removesuffix(b"\r") if is_whole else line[:bound], is_whole))
        self._rest.clear()
        self._is_cut = False


def _standard_input() -> int:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError) as error:
        raise Misuse("standard input cannot be read here", code="no-standard-input") from error


def _source(options: StandardOptions, setting: Setting) -> StandardInput:
    return StandardInput()


CONNECTOR = Connector(
    kind="stdin",
    capability=Capability(ordered=True),
    options=StandardOptions,
    source=_source,
)
