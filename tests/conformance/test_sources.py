"""The conformance suite of sources, bound once for each connector."""

from __future__ import annotations

import gzip
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from comity.connect.connectors.files import FilesSource
from comity.connect.connectors.memory.language import memory_language
from comity.connect.connectors.memory.source import CRASH, END, GARBAGE, PAUSE, Filters, MemorySource
from comity.connect.connectors.standard import StandardInput
from comity.connect.connectors.webhook.source import WebhookSource
from comity.connect.port import FOR_EVERYTHING, Ask, Capability, Position, Source
from comity.errors import Permanent, Retryable
from comity.event import Event, decode
from comity.event.formats.csv import encode_row, read_header
from comity.limits import limited
from comity.testing.asks import inquiries
from comity.testing.filter_conformance import STEPS
from comity.testing.source_conformance import SourceConformance, identities, line


def event_in(one: bytes) -> Event | None:
    """The event in a line, however long that is."""
    with limited(max_record_bytes=1_000_000):
        found = decode(one)
    return found if isinstance(found, Event) else None


class _Files(SourceConformance):
    """One file in `folder`, written by `write`."""

    name = "events.jsonl"

    def write(self, path: Path, lines: Sequence[bytes]) -> None:
        path.write_bytes(b"".join(one + b"\n" for one in lines))

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        self.write(folder / self.name, lines)
        return FilesSource(folder / self.name)

    def again(self, source: Source, folder: Path) -> Source:
        return FilesSource(folder / self.name)


class TestJsonLines(_Files):
    pass


class TestGzip(_Files):
    name = "events.jsonl.gz"

    def write(self, path: Path, lines: Sequence[bytes]) -> None:
        path.write_bytes(gzip.compress(b"".join(one + b"\n" for one in lines)))


class TestCsv(_Files):
    name = "events.csv"
    garbage = b'1,"'

    def write(self, path: Path, lines: Sequence[bytes]) -> None:
        header = b"id,source,type,text"
        path.write_bytes(b"\n".join([header, *(self.row(one) for one in lines)]))

    def row(self, one: bytes) -> bytes:
        found = event_in(one)
        return encode_row(found, read_header(b"id,source,type,text")) if found is not None else one


class TestParquet(_Files):
    name = "events.parquet"

    def write(self, path: Path, lines: Sequence[bytes]) -> None:
        rows = [self.row(one) for one in lines]
        columns = ["id", "source", "type", "text", "heat"]
        table = pa.table(
            {
                name: pa.array([row.get(name) for row in rows], pa.float64() if name == "heat" else pa.string())
                for name in columns
            }
        )
        pq.write_table(table, path, row_group_size=3)

    def row(self, one: bytes) -> dict[str, Any]:
        found = event_in(one)
        if found is None:
            return {"id": "x", "source": "/a", "type": "T", "heat": float("nan")}
        return {"id": found.id, "source": found.source, "type": found.type, **found.data}


class TestDirectory(_Files):
    """Records spread over files of two formats."""

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        self.write(folder / "1.jsonl", lines[:3])
        (folder / "2.jsonl.gz").write_bytes(gzip.compress(b""))
        self.write(folder / "3.jsonl", lines[3:])
        self.write(folder / "_unfinished.jsonl", [b"x"])
        return FilesSource(folder)

    def again(self, source: Source, folder: Path) -> Source:
        return FilesSource(folder)


class TestGrowingDirectory(TestDirectory):
    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        super().make(lines, folder)
        return FilesSource(folder, follow=True, poll_s=0.01)

    def again(self, source: Source, folder: Path) -> Source:
        return FilesSource(folder, follow=True, poll_s=0.01)

    def more(self, source: Source, folder: Path, lines: Sequence[bytes]) -> None:
        self.write(folder / ".4.jsonl", lines)
        (folder / ".4.jsonl").rename(folder / "4.jsonl")


class TestStandardInput(SourceConformance):
    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        (folder / "input").write_bytes(b"".join(one + b"\n" for one in lines))
        self.descriptor = os.open(folder / "input", os.O_RDONLY)
        return StandardInput(self.descriptor)

    @pytest.fixture(autouse=True)
    def _close_descriptor(self) -> Any:
        yield
        os.close(self.descriptor)


class TestWebhook(SourceConformance):
    """Real requests on loopback."""

    garbage = b'["no event"]'

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        self.threads: list[threading.Thread] = []
        return WebhookSource(answer_within_s=5)

    def feed(self, source: Source, lines: Sequence[bytes]) -> None:
        if lines:
            assert isinstance(source, WebhookSource)
            self._post(source.url, lines)

    def more(self, source: Source, folder: Path, lines: Sequence[bytes]) -> None:
        self.feed(source, lines)

    def _post(self, url: str, lines: Sequence[bytes]) -> None:
        body = b"[" + b",".join(lines) + b"]"
        headers = {"Content-Type": "application/cloudevents-batch+json"}
        request = urllib.request.Request(url, body, headers)
        thread = threading.Thread(target=self._send, args=(request,), daemon=True)
        thread.start()
        self.threads.append(thread)

    def _send(self, request: urllib.request.Request) -> None:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                answer.read()
        except (urllib.error.URLError, ConnectionError):  # the source was closed before it was acknowledged
            pass

    @pytest.fixture(autouse=True)
    def _join_threads(self) -> Any:
        yield
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()


class TestMemory(SourceConformance):
    garbage = GARBAGE

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return MemorySource(lines)


class TestLiveMemory(TestMemory):
    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return MemorySource(lines, live=True)

    def more(self, source: Source, folder: Path, lines: Sequence[bytes]) -> None:
        assert isinstance(source, MemorySource)
        source.items += lines


class TestMemoryLikeABroker(TestLiveMemory):
    """It remembers what was acknowledged, and gives the rest again."""

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return MemorySource(lines, live=True, can_replay=False)


class TestMemoryThatTakesTerms(TestMemory):
    """It has `and` and a few tests: filters are weakened and cut to size."""

    filters: Filters = "terms"
    language = memory_language("terms")

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return MemorySource(lines, filters=self.filters)


class TestMemoryThatTakesTags(TestMemoryThatTakesTerms):
    """It has `or`, no order and little room."""

    filters: Filters = "tags"
    language = memory_language("tags")


class TestMemoryThatTakesRows(TestMemoryThatTakesTerms):
    """It has most of what SQL has, and its logic."""

    filters: Filters = "rows"
    language = memory_language("rows")


class TestLiveMemoryThatFilters(TestLiveMemory):
    language = memory_language("rows")

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return MemorySource(lines, live=True, filters="rows")


class TestBrokerThatFilters(TestLiveMemory):
    language = memory_language("terms")

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return MemorySource(lines, live=True, can_replay=False, filters="terms")


class TestMemoryWithPauses(TestMemory):
    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        items = [item for one in lines for item in (PAUSE, one)]
        return MemorySource([*items, END, b"never"], pause_s=0.001)


class TestMemoryThatCrashes(TestMemory):
    """A crash before every record: whoever opens it again where it was misses nothing."""

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return _Reopening(MemorySource([item for one in lines for item in (CRASH, one)]))


class _Reopening:
    """Opens its source again at the last position whenever it fails."""

    def __init__(self, source: MemorySource) -> None:
        self.capability, self._source, self._position = source.capability, source, None
        self.acknowledge, self.close = source.acknowledge, source.close

    def open(self, position: Any = None) -> None:
        self._position = position
        self._source.open(position)

    def next_batch(self, max_records: int) -> Any:
        try:
            batch = self._source.next_batch(max_records)
        except Retryable:
            self._source.open(self._position)
            return self.next_batch(max_records)
        if batch is not None:
            self._position = batch.position
        return batch


@pytest.mark.parametrize("broken", ["loses", "repeats", "unordered"])
def test_the_suite_finds_a_broken_source(broken: str, tmp_path: Path) -> None:
    suite = _Broken(broken)
    with pytest.raises(AssertionError):
        suite.test_next_batch_gives_the_records_in_order(tmp_path)
    if broken == "repeats":
        with pytest.raises(AssertionError):
            suite.test_open_at_every_position_goes_on_with_the_next_record(tmp_path)


class _Broken(SourceConformance):
    """A canary: sources that do what the suite must find."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        changed = {"loses": [*lines[:2], *lines[3:]], "repeats": [lines[0], *lines], "unordered": [*lines[::-1]]}
        return MemorySource(changed[self.fault])


def test_a_source_that_filters_must_be_able_to_change(tmp_path: Path) -> None:
    class Unchangeable:
        capability = Capability("memory-rows")

    with pytest.raises(AssertionError, match="has `change`"):
        TestMemory().filtering(Unchangeable())  # type: ignore[arg-type]


class _Lying(TestMemoryThatTakesRows):
    """A canary: sources that say they filter, and do it wrongly."""

    def __init__(self, lie: type[MemorySource]) -> None:
        self.lie = lie

    def make(self, lines: Sequence[bytes], folder: Path) -> Source:
        return self.lie(lines, filters="rows")


class GivesEverything(MemorySource):
    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        super().open(position)


class GivesLess(MemorySource):
    """It takes `>=` for `>`."""

    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        types = tuple(replace(one, native=one.native and one.native.replace(">=", ">")) for one in ask.types or ())
        super().open(position, Ask(types))


class IgnoresChanges(MemorySource):
    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        super().change(ask)
        self._at = position or 0

    def change(self, ask: Ask) -> None:
        pass


class LosesAtChanges(MemorySource):
    """What waits is thrown away, as by a broker whose subscription is made anew."""

    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        super().change(ask)
        self._at = position or 0

    def change(self, ask: Ask) -> None:
        super().change(ask)
        self._at = min(self._at + 1, len(self.items) - 1)


class RepeatsAtChanges(LosesAtChanges):
    def change(self, ask: Ask) -> None:
        MemorySource.change(self, ask)
        self._at = max(self._at - 1, 0)


class LosesAttributes(MemorySource):
    def change(self, ask: Ask) -> None:
        super().change(Ask(tuple(replace(one, attributes=(one.attributes or ())[1:]) for one in ask.types or ())))


class TakesNonsense(MemorySource):
    def change(self, ask: Ask) -> None:
        with suppress(Permanent):
            super().change(ask)


_FILTERED = SourceConformance.test_what_is_given_and_left_to_filter_is_what_profiles_want
_CHANGED = SourceConformance.test_change_neither_loses_nor_repeats
_READ = SourceConformance.test_attributes_that_are_read_are_given


@pytest.mark.parametrize(
    ("lie", "test"),
    [
        (GivesEverything, _FILTERED),
        (GivesLess, _FILTERED),
        (IgnoresChanges, _CHANGED),
        (LosesAtChanges, _CHANGED),
        (RepeatsAtChanges, _CHANGED),
        (LosesAttributes, _READ),
    ],
)
def test_the_suite_finds_a_source_that_lies_about_its_filters(lie: type[MemorySource], test: Any) -> None:
    strategy = st.tuples(inquiries(asks=3), STEPS) if test is _CHANGED else inquiries()
    inner = test.hypothesis.inner_test  # found is enough: nobody reads a smaller example
    found = settings(phases=[Phase.generate], report_multiple_bugs=False)(given(strategy)(inner))
    with pytest.raises(AssertionError):
        found(_Lying(lie))


def test_the_suite_finds_a_source_that_takes_nonsense(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception):
        _Lying(TakesNonsense).test_a_filter_that_is_none_is_refused(tmp_path)


def test_identities_without_order() -> None:
    source = MemorySource([line(10), line(9)])
    source.open()
    batch = source.next_batch(5)
    assert batch is not None
    assert identities(batch.records, is_ordered=False) == ["9", "10"]
