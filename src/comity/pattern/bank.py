"""Many patterns over columns of candidates, batch by batch: what Spark's workers and the in-process engine run.

Flat patterns are detected by compiled code, the others by the general detector. Profiles that differ only in their
names are detected once. What is kept between batches is a value that can be written to a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from comity.pattern.bound import BoundPattern
from comity.pattern.report import Happening
from comity.pattern.rows import REPORTS, STATE, Decode
from comity.pattern.sharing import Sharing
from comity.pattern.tree_bank import TreeBank

if TYPE_CHECKING:
    from comity.pattern.flat.bank import FlatBank


def _undecodable(line: str) -> Happening:
    raise AssertionError("no attributes are needed of this event")


@dataclass(frozen=True, slots=True)
class BankState:
    """What is kept: the bodies of the patterns that it is about, rows of flat ones, and the traces of the others."""

    bodies: tuple[str, ...] = ()
    rows: pa.Table = field(default_factory=STATE.empty_table)
    traces: bytes = b""

    def encode(self) -> bytes:
        """The state as bytes."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, STATE, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(self.rows)
        return msgspec.msgpack.encode([self.bodies, sink.getvalue().to_pybytes(), self.traces])

    @classmethod
    def decode(cls, saved: bytes) -> BankState:
        """The state that `encode` gave."""
        bodies, rows, traces = msgspec.msgpack.decode(saved)
        return cls(tuple(bodies), pa.ipc.open_stream(rows).read_all(), traces)


@dataclass(frozen=True, slots=True)
class LaterPatterns:
    """Patterns, by their numbers, that come to a stream that has begun; and the newest time of an event by then."""

    newest: int
    numbers: frozenset[int]

    def among(self, owned: Sequence[int]) -> LaterPatterns:
        """Those of some patterns, whose numbers are their positions there."""
        return LaterPatterns(self.newest, frozenset(at for at, number in enumerate(owned) if number in self.numbers))


@dataclass(frozen=True)
class Bank:
    """Patterns that are detected together; `decode` makes events of lines where conditions between operands need it."""

    patterns: Sequence[BoundPattern]
    decode: Sequence[Decode] | None = None
    compiled: bool = True
    """Whether flat patterns are detected by compiled code, which takes a while to load, and longer the first time."""

    @cached_property
    def bodies(self) -> tuple[str, ...]:
        return tuple(pattern.body for pattern in self.patterns)

    @cached_property
    def leaders(self) -> tuple[int, ...]:
        """By pattern, the first one with the same body: candidates are asked of it alone."""
        first: dict[str, int] = {}
        return tuple(first.setdefault(body, number) for number, body in enumerate(self.bodies))

    @cached_property
    def sharing(self) -> Sharing:
        """Which operands candidates are asked for, and who else gets them."""
        return Sharing.of(self.patterns, self.leaders)

    @cached_property
    def needs_lines(self) -> bool:
        """Whether conditions between operands read the JSON of events."""
        return any(one.needs_line(name) for one in self.patterns for name in one.operand_names)

    @cached_property
    def flat(self) -> FlatBank | None:
        """What is detected by compiled code, if anything is."""
        if not self.compiled:
            return None
        from comity.pattern.flat.bank import FlatBank  # compiled code takes a second to load, and few events do without

        bank = FlatBank(self.patterns, self.sharing)
        return bank if len(bank.numbers) else None

    def detect(
        self,
        candidates: pa.Table,
        state: BankState | None = None,
        *,
        done: int | None = None,
        upto: int | None = None,
        start: int | None = None,
        last: int | None = None,
        came: LaterPatterns | None = None,
    ) -> tuple[pa.Table, BankState]:
        """The reports after `done` up to `upto`, and what is kept after them; without `upto` the input is complete.

        Candidates are those that `sharing` asks for, and later than `done`. `start` is where traces start, if that is
        known by now; `last` the time of the last event of a complete input; `came` are patterns that are new.
        """
        state = self._renumbered(state or BankState())
        reports, rows, traces = [], STATE.empty_table(), b""
        if self.flat is not None:
            done_flat = self.flat.detect(state.rows, candidates, done=done, upto=upto)
            reports, rows = [done_flat.reports], done_flat.state
        if self.flat is None or len(self.flat.numbers) < len(self.patterns):
            tree = self._tree(state)
            if came is not None:
                tree.detector.begin_at(came.newest, beside=set(range(len(self.patterns))) - came.numbers)
            tree.add(candidates, self.sharing, frozenset() if self.flat is None else self.flat.taken)
            reports.append(tree.detect(done=done, upto=upto, start=start, last=last))
            traces = tree.save()
        return self.told_to_all(pa.concat_tables(reports)), BankState(self.bodies, rows, traces)

    def tree(self) -> TreeBank:
        """The general detector for all of the patterns, to begin with."""
        decode = self.decode or [_undecodable] * len(self.patterns)
        led = frozenset(number for number, leader in enumerate(self.leaders) if leader != number)
        return TreeBank(self.patterns, decode, led)

    def renumbered(self, bodies: Sequence[str]) -> dict[int, int]:
        """The numbers here of patterns with these bodies, by their numbers there; those that are not here are out."""
        now = {body: number for number, body in reversed(list(enumerate(self.bodies)))}
        return {at: now[body] for at, body in enumerate(bodies) if body in now}

    def _tree(self, state: BankState) -> TreeBank:
        tree = self.tree()
        if state.traces:
            tree.restore(state.traces, self.renumbered(state.bodies))
        return tree

    def _renumbered(self, state: BankState) -> BankState:
        """The state with the numbers that patterns have here; what is kept of others is left out."""
        if state.bodies == self.bodies or not state.rows.num_rows:
            return state
        now = self.renumbered(state.bodies)
        places = np.array([now.get(number, -1) for number in range(len(state.bodies))], np.int32)
        numbers = places[state.rows.column("pattern").to_numpy()]
        rows = state.rows.set_column(0, STATE.field(0), pa.array(numbers))
        return BankState(state.bodies, rows.filter(pa.array(numbers >= 0)), state.traces)

    def told_to_all(self, reports: pa.Table) -> pa.Table:
        """The reports of a pattern for all the profiles that have it."""
        followers: dict[int, list[int]] = {}
        for number, leader in enumerate(self.leaders):
            if leader != number:
                followers.setdefault(leader, []).append(number)
        if not followers or not reports.num_rows:
            return reports
        numbers = reports.column("pattern").to_numpy()
        copies = [reports]
        for leader, others in followers.items():
            own = reports.filter(pa.array(numbers == leader))
            copies += [
                own.set_column(0, REPORTS.field(0), pa.array(np.full(len(own), one, np.int32))) for one in others
            ]
        return pa.concat_tables(copies)
