"""Hostile files: each costs itself only, in bounded time and memory, and says why."""

from __future__ import annotations

import gc
import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from comity.event import EVENT, Event, EventType, Rejected, Taxonomy, read_events
from comity.event.files import read_json_lines
from comity.event.isolation import decoders
from comity.limits import limited
from tests.event import hostile

TIGHT = {"max_decoding_bytes": 150_000_000, "max_decoding_s": 2, "max_expansion": 20, "free_expansion_bytes": 1_000_000}
TYPES = Taxonomy("n", [EventType("T", "n", EVENT, {})])
CODES = {
    "contains-itself": "decoder-died",
    "deep-schema": "broken-avro",
    "deep-data": "decoder-died",
    "deflate-bomb": "too-much-memory",
    "empty-records": "broken-avro",
    "nulls": "too-much-memory",
    "records-of-nulls": "too-much-memory",
    "huge-block": "too-much-memory",
    "deep": "broken-xml",
    "attributes": "too-much-memory or too-slow",
    "text": "broken-xml",
    "dictionary-bomb": "too-much-memory",
    "rows": "expands-too-far",
    "footer": "broken-parquet",
}
TABLES = {"avro": hostile.AVRO, "xml": hostile.XML, "parquet": hostile.PARQUET}
FILES = [(format, name) for format, table in TABLES.items() for name in table]


def shown(found: Event | Rejected) -> str:
    return found.id if isinstance(found, Event) else found.faults[0].code


@pytest.mark.parametrize(("format", "name"), FILES)
def test_a_hostile_file_costs_itself_only(format: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "1.avro").write_bytes(hostile.good(2))
    (tmp_path / f"2.{format}").write_bytes(TABLES[format][name]())
    (tmp_path / "3.avro").write_bytes(hostile.good(1))
    gc.collect()
    with limited(**TIGHT):
        found = list(read_events(tmp_path))
    before, bad, after = found[:2], found[2:-1], found[-1]
    assert [shown(one) for one in (*before, after)] == ["0", "1", "0"]
    last = bad[-1] if bad else None
    assert (last is None and name == "comments") or isinstance(last, Rejected)
    if isinstance(last, Rejected):
        assert last.faults[0].code in CODES.get(name, "missing").split(" or ")
        assert (last.source_file, last.line_number) == (str(tmp_path / f"2.{format}"), len(bad))


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".csv.gz", ".xml.gz"])
def test_a_small_compressed_file_may_not_stand_for_very_much(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(hostile.gzip_bomb())
    with limited(**TIGHT):
        assert [shown(one) for one in read_events(path)][-1] == "expands-too-far"
    with limited(**(TIGHT | {"free_expansion_bytes": 10_000_000})):
        assert "expands-too-far" not in [shown(one) for one in read_events(path)][-1:]


@pytest.mark.parametrize("line", [b"\n", b"x\n"])
@pytest.mark.parametrize("suffix", [".jsonl.gz", ".csv.gz"])
def test_many_short_lines_are_much(suffix: str, line: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(line * 60_000))
    with limited(free_expansion_bytes=1_000_000, max_expansion=1):
        *before, last = read_events(path)
    assert shown(last) == "expands-too-far"
    assert len(before) <= 40_000  # what is unpacked at a time is let through or not as a whole
    path.write_bytes(gzip.compress(line * 9_000))
    with limited(free_expansion_bytes=1_000_000, max_expansion=1):
        assert "expands-too-far" not in [shown(one) for one in read_events(path)]


def test_what_came_before_a_fatal_record_is_given(tmp_path: Path) -> None:
    chain = hostile.record(("id", "string"), ("source", "string"), ("next", ["null", "T"]))
    deep = b"\x02b\x02b\x02" * 1_000_000 + b"\x02b\x02b\x00"
    path = tmp_path / "a.avro"
    path.write_bytes(hostile.avro(chain, 4, b"\x02a\x02b\x00" * 3 + deep))
    found = list(read_events(path))
    assert [shown(one) for one in found] == ["a", "a", "a", "decoder-died"]
    assert isinstance(found[-1], Rejected)
    assert (found[-1].line_number, found[-1].source_file) == (4, str(path))
    assert [number for number, _ in read_json_lines(path, after=2)] == [3, 4]


def test_one_decoder_serves_many_files(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.avro").write_bytes(hostile.good(1))
    list(read_events(tmp_path))
    first = decoders._idle._decoder
    assert [shown(one) for one in read_events(tmp_path)] == ["0"] * 3
    assert decoders._idle._decoder is first is not None


def test_files_that_are_read_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(hostile.good(3))
    pairs = zip(read_events(path, TYPES), read_events(path, TYPES), strict=True)
    assert [(shown(one), shown(other)) for one, other in pairs] == [("0", "0"), ("1", "1"), ("2", "2")]


def test_a_file_that_is_left_in_the_midst_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(hostile.good(100_000))
    reading = read_events(path)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert decoders._idle._decoder is None


def test_a_decoder_that_was_killed_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(hostile.good(1))
    list(read_events(path))
    assert decoders._idle._decoder is not None
    decoders._idle._decoder._process.kill()
    assert [shown(one) for one in read_events(path)] == ["0"]


def test_a_forked_process_has_decoders_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(hostile.good(1))
    program = f"""
import os
from comity.event import read_events
from comity.event.isolation import decoders
assert len(list(read_events({str(path)!r}))) == 1
child = os.fork()
if child == 0:
    assert decoders._idle._decoder is None
    os._exit(len(list(read_events({str(path)!r}))))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
assert len(list(read_events({str(path)!r}))) == 1
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)


def test_a_file_that_nobody_may_read_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        list(decoders.decoded_apart("comity.event.formats.avro:read_avro_lines", tmp_path / "none.avro"))
