"""Reading files of events in bounded memory."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from comity.errors import Misuse
from comity.event import Event, Rejected, encode, read_events
from comity.event.formats.table import unknown_files
from comity.limits import limited, limits


def line(id: object) -> bytes:
    return encode(Event(str(id), "/a", "T")) + b"\n"


def shown(source: Any, **options: Any) -> list[str]:
    """The ids of events, and line number and code of what was rejected."""
    return [
        one.id if isinstance(one, Event) else f"{one.line_number}:{one.faults[0].code}"
        for one in read_events(source, **options)
    ]


def test_read_events_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + line(1) + b"\n  \r\n" + line(2).replace(b"\n", b"\r\n") + b"{bad\n" + line(3)[:-1]
    )
    assert shown(path) == ["1", "2", "5:bad-json", "3"]
    assert shown(str(path)) == shown(path)
    (rejected,) = [one for one in read_events(path) if isinstance(one, Rejected)]
    assert (rejected.source_file, rejected.raw) == (str(path), "{bad")


def test_read_events_mark_in_the_middle_is_no_json() -> None:
    assert shown(io.BytesIO(line(1) + b"\xef\xbb\xbf" + line(2))) == ["1", "2:bad-json"]


def test_read_events_of_nothing() -> None:
    assert shown(io.BytesIO(b"")) == []
    assert shown(io.BytesIO(b"\xef\xbb\xbf")) == []


def test_read_events_of_a_directory_by_name(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(line("b"))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line("a1") + line("a2")))
    (tmp_path / "notes.txt").write_text("not events")
    (tmp_path / "c.jsonl").mkdir()
    assert shown(tmp_path) == ["a1", "a2", "b"]


def test_read_events_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line(1) + b"x\n")))
    assert shown("-") == ["1", "2:bad-json"]


def test_read_events_of_what_is_not_there(tmp_path: Path) -> None:
    for source, code in ((tmp_path / "none.jsonl", "no-such-file"), (tmp_path, "no-event-files")):
        with pytest.raises(Misuse) as caught:
            read_events(source)
        assert caught.value.code == code
    with pytest.raises(Misuse, match="binary"):
        read_events(io.StringIO("x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "broken", [lambda content: content[: len(content) // 2], lambda content: content[:40] + b"x" * 99]
)
def test_read_events_of_a_broken_gzip(tmp_path: Path, broken: Any) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(broken(gzip.compress(b"".join(line(n) for n in range(2000)))))
    assert shown(path)[-1].endswith(":broken-gzip")
    path.write_bytes(b"this is no gzip")
    assert shown(path) == ["1:broken-gzip"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_read_events_bound_is_exact(end: bytes) -> None:
    content = line(1)[:-1]
    with limited(max_record_bytes=len(content)):
        assert shown(io.BytesIO(content + end)) == ["1"]
    with limited(max_record_bytes=len(content) - 1):
        assert shown(io.BytesIO(content + end)) == ["1:too-long"]


@pytest.mark.parametrize("extra", [0, 1, 2, 3, 65_536, 65_537, 200_000])
def test_read_events_after_a_long_line(extra: int) -> None:
    with limited(max_record_bytes=200, max_rejected_chars=10):
        found = list(read_events(io.BytesIO(line(1) + b"y" * (201 + extra) + b"\n" + line(2))))
    first, long, last = found
    assert isinstance(long, Rejected)
    assert (long.line_number, long.raw, long.faults[0].code) == (2, "y" * 10, "too-long")
    assert isinstance(first, Event)
    assert isinstance(last, Event)
    assert last.id == "2"


def test_read_events_long_last_line_without_an_end() -> None:
    with limited(max_record_bytes=50):
        assert shown(io.BytesIO(b"y" * 1000)) == ["1:too-long"]


def test_read_events_of_a_200_mb_line_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    with path.open("wb") as stream:
        stream.write(line(1) + b'{"id": "')
        stream.seek(200_000_000, os.SEEK_CUR)  # a hole in the file, so that the disk is spared
        stream.write(b"\n" + line(2))
    tracemalloc.start()
    try:
        assert shown(path) == ["1", "2:too-long", "2"]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * limits().max_record_bytes


def test_read_events_gives_options_on() -> None:
    assert shown(io.BytesIO(line(1)), require_time=True) == ["1:missing"]
    (found,) = read_events(io.BytesIO(b"x"), name="socket")
    assert isinstance(found, Rejected)
    assert found.source_file == "socket"


def test_a_file_of_a_directory_that_cannot_be_read_costs_itself_only(tmp_path: Path) -> None:
    """A file that vanishes behind its name is one that nobody can read, whoever asks: root is refused nothing else."""
    (tmp_path / "a.jsonl").write_bytes(b'{"id": "1", "source": "/a", "type": "T"}\n')
    (tmp_path / "b.jsonl").write_bytes(b"")
    (tmp_path / "c.jsonl").write_bytes(b'{"id": "3", "source": "/a", "type": "T"}\n')
    records = read_events(tmp_path)
    (tmp_path / "b.jsonl").unlink()
    found = list(records)
    assert [one.id for one in found if isinstance(one, Event)] == ["1", "3"]
    assert [one.faults[0].code for one in found if isinstance(one, Rejected)] == ["unreadable-file"]


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems refuse such names")
def test_a_file_whose_name_is_no_text_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line("a"))
    with open(os.fsencode(tmp_path) + b"/\xff.jsonl", "wb") as stream:
        stream.write(line("b") + b"no event\n")
    assert shown(tmp_path) == ["a"]
    assert [os.fsencode(path.name) for path in unknown_files(tmp_path)] == [b"\xff.jsonl"]


def test_files_that_a_stream_passes_over_are_known(tmp_path: Path) -> None:
    for name in ("empty.jsonl", "empty.csv", "empty.parquet", "empty.avro", "notes.weird", ".hidden.parquet"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "table.parquet").mkdir()
    passed_over = [path.name for path in unknown_files(tmp_path)]
    assert passed_over == ["empty.avro", "empty.parquet", "notes.weird", "table.parquet"]
