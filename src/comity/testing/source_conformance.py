"""What every source must do, as tests to inherit: one class for each connector, also for those of plugins.

    class TestMySource(SourceConformance):
        def make(self, lines: Sequence[bytes], folder: Path) -> Source:
            return MySource(...)  # one that gives these records

What a source need not do depends on its capability; such tests are skipped. Those of sources that filter are in
`filter_conformance`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from comity.connect.port import Batch, Position, Record, Source
from comity.event import Event, Rejected, decode, encode
from comity.limits import limited
from comity.testing.filter_conformance import PATIENCE_S, FilterConformance


def line(id: object, **data: object) -> bytes:
    """A record.

    >>> line(1)
    b'{"specversion":"1.0","id":"1","source":"/conformance","type":"Tick","data":{}}'
    """
    return encode(Event(str(id), "/conformance", "Tick", data=data))


class SourceConformance(FilterConformance):
    """Tests of one connector; `make` must be given, the others where they differ."""

    garbage: bytes = b"\xff no event"
    """A record that this source can carry and that is no event."""

    def more(self, source: Source, folder: Path, lines: Sequence[bytes]) -> None:
        """Let further records come to a live source that is open."""
        raise NotImplementedError

    def test_next_batch_gives_the_records_in_order(self, tmp_path: Path) -> None:
        lines = [line(number) for number in range(20)]
        with self.opened(lines, tmp_path) as source:
            found = self.drain(source, len(lines), size=7)
        assert identities(found, is_ordered=source.capability.ordered) == [str(number) for number in range(20)]

    def test_next_batch_gives_no_more_than_asked_for(self, tmp_path: Path) -> None:
        with self.opened([line(number) for number in range(5)], tmp_path) as source:
            sizes = [len(batch.records) for batch in self.batches(source, 5, size=2)]
        assert sum(sizes) == 5
        assert max(sizes) <= 2

    def test_next_batch_gives_a_repeated_record_twice(self, tmp_path: Path) -> None:
        with self.opened([line(1), line(2), line(1)], tmp_path) as source:
            found = self.drain(source, 3)
        assert sorted(identities(found, is_ordered=False)) == ["1", "1", "2"]

    def test_next_batch_at_the_end(self, tmp_path: Path) -> None:
        with self.opened([line(1)], tmp_path) as source:
            self.drain(source, 1)
            if source.capability.live:
                self.check_nothing_now(source)
            else:
                assert self.next_thing(source) is None
                assert source.next_batch(10) is None

    def test_next_batch_of_nothing(self, tmp_path: Path) -> None:
        with self.opened([], tmp_path) as source:
            if source.capability.live:
                self.check_nothing_now(source)
            else:
                assert self.next_thing(source) is None

    def test_next_batch_wakes_up_for_what_comes_later(self, tmp_path: Path) -> None:
        with self.opened([line(1)], tmp_path) as source:
            if not source.capability.live:
                pytest.skip("this source is bounded")
            self.drain(source, 1)
            self.check_nothing_now(source)
            self.more(source, tmp_path, [line(2), line(3)])
            assert identities(self.drain(source, 2)) == ["2", "3"]

    def test_next_batch_of_a_big_record(self, tmp_path: Path) -> None:
        big = line(2, text="x" * 300_000)
        with self.opened([line(1), big, line(3)], tmp_path) as source:
            found = self.drain(source, 3)
        events = [decode(one.line) for one in found if not one.is_rejected]
        assert [len(one.data.get("text", "")) for one in events if isinstance(one, Event)] == [0, 300_000, 0]

    def test_next_batch_of_a_record_that_is_too_big(self, tmp_path: Path) -> None:
        with limited(max_record_bytes=2_000):
            with self.opened([line(1), line(2, text="x" * 5_000), line(3)], tmp_path) as source:
                found = self.drain(source, 3)
            assert [judged(one) for one in found] == ["1", "too-long", "3"]

    def test_next_batch_of_garbage_between_records(self, tmp_path: Path) -> None:
        with self.opened([line(1), self.garbage, line(2)], tmp_path) as source:
            found = self.drain(source, 3)
        results = [judged(one) for one in found]
        assert [results[0], results[2]] == ["1", "2"]
        assert results[1] not in ("1", "2")

    def test_positions_are_json(self, tmp_path: Path) -> None:
        with self.opened([line(1), line(2)], tmp_path) as source:
            for batch in self.batches(source, 2, size=1):
                assert json.loads(json.dumps(batch.position)) == batch.position

    def test_open_at_every_position_goes_on_with_the_next_record(self, tmp_path: Path) -> None:
        lines = [line(number) for number in range(8)]
        with self.opened(lines, tmp_path) as source:
            self.needs_replay(source)
            positions = [batch.position for batch in self.batches(source, len(lines), size=1)]
        for taken, position in enumerate(positions, start=1):
            resumed = self.again(source, tmp_path)
            resumed.open(json.loads(json.dumps(position)))
            expected = [str(number) for number in range(taken, 8)]
            assert identities(self.drain(resumed, len(expected))) == expected
            resumed.close()

    def test_open_at_a_position_with_other_batches(self, tmp_path: Path) -> None:
        lines = [line(number) for number in range(9)]
        with self.opened(lines, tmp_path) as source:
            self.needs_replay(source)
            first = self.take(source, size=4)
        resumed = self.again(source, tmp_path)
        resumed.open(first.position)
        found = identities(first.records) + identities(self.drain(resumed, 9 - len(first.records), size=3))
        resumed.close()
        assert found == [str(number) for number in range(9)]

    def test_open_after_a_crash_repeats_only_what_was_not_acknowledged(self, tmp_path: Path) -> None:
        source = self.make([line(number) for number in range(6)], tmp_path)
        if not source.capability.durable:
            pytest.skip("what this source did not get rid of is lost in a crash")
        source.open()
        first = self.take(source, size=2)
        source.acknowledge(first.position)
        self.take(source, size=2)  # and now it crashes, so that nobody acknowledges this
        resumed = self.again(source, tmp_path)
        resumed.open(first.position)
        rest = 6 - len(first.records)
        assert identities(self.drain(resumed, rest)) == [str(number) for number in range(6 - rest, 6)]
        resumed.close()

    def test_close_twice(self, tmp_path: Path) -> None:
        source = self.make([line(1)], tmp_path)
        source.open()
        source.close()
        source.close()

    def test_close_without_open(self, tmp_path: Path) -> None:
        self.make([line(1)], tmp_path).close()

    @contextmanager
    def opened(self, lines: Sequence[bytes], folder: Path, position: Position = None) -> Iterator[Source]:
        """A source that gives these records, open; closed at the end of the block."""
        source = self.make(lines, folder)
        source.open(position)
        try:
            self.feed(source, lines)
            yield source
        finally:
            source.close()

    def needs_replay(self, source: Source) -> None:
        """Skip the test for a source that cannot replay."""
        if not source.capability.can_replay:
            pytest.skip("this source cannot replay")

    def drain(self, source: Source, count: int, size: int = 100) -> list[Record]:
        """So many records, in batches of at most `size`."""
        return [record for batch in self.batches(source, count, size) for record in batch.records]

    def batches(self, source: Source, count: int, size: int) -> Iterator[Batch]:
        """Batches of at most `size` until there were so many records, each acknowledged behind the next."""
        taken = 0
        while taken < count:
            batch = self.take(source, size)
            taken += len(batch.records)
            assert taken <= count, "the source gave more than it was given"
            source.acknowledge(batch.position)
            yield batch

    def take(self, source: Source, size: int) -> Batch:
        """The next batch that has records."""
        batch = self.next_thing(source, size)
        assert batch is not None, "the source ended too early"
        return batch

    def next_thing(self, source: Source, size: int = 100) -> Batch | None:
        """The next batch that has records, or the end."""
        give_up_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_at:
            batch = source.next_batch(size)
            if batch is None or batch.records:
                return batch
            time.sleep(min(0.1, max(0.0, (batch.wake_at_s or 0.0) - time.monotonic())))
        raise AssertionError(f"the source gave nothing for {PATIENCE_S} seconds")

    def check_nothing_now(self, source: Source) -> None:
        """A live source says that there is nothing, and when to ask again."""
        batch = source.next_batch(100)
        assert batch is not None, "a live source has no end"
        assert batch.records == ()
        assert batch.wake_at_s is not None
        assert batch.wake_at_s - time.monotonic() < 60


def identities(records: Sequence[Record], *, is_ordered: bool = True) -> list[str]:
    """The ids of records that are events; as numbers in order, unless the source keeps one."""
    found = [judged(record) for record in records]
    return found if is_ordered else sorted(found, key=lambda id: (len(id), id))


def judged(record: Record) -> str:
    """The id of an event, or the code of the first fault."""
    found = record.rejected or decode(record.line)
    return found.faults[0].code if isinstance(found, Rejected) else found.id
