"""Which batches are small; that they do what large ones do is tested where streams are, and with generated cases."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from comity.limits import limited
from comity.pipeline.doubts import Doubts
from comity.pipeline.read import Inputs
from comity.pipeline.small import SmallBatch


@pytest.fixture
def lines(tmp_path: Path) -> str:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 600)
    return str(tmp_path / "a.jsonl")


@pytest.fixture
def rows(tmp_path: Path) -> str:
    table = pa.table({"id": [str(number) for number in range(100)]})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    return str(tmp_path / "a.parquet")


def test_a_batch_is_small_up_to_the_bytes_of_all_its_files(lines: str, rows: str) -> None:
    files = [lines, rows]
    with limited(max_small_batch_bytes=100_000):
        assert SmallBatch.of(Inputs.of(files)) == SmallBatch(((lines, None), (rows, None)))
    with limited(max_small_batch_bytes=599):
        assert SmallBatch.of(Inputs.of([lines])) is None
    with limited(max_small_batch_bytes=6_500):  # the rows alone count for 6,400 at least
        assert SmallBatch.of(Inputs.of([rows])) is None or SmallBatch.of(Inputs.of(files)) is None


def test_a_file_of_which_only_reading_tells_how_much_is_in_it_makes_no_small_batch(tmp_path: Path, lines: str) -> None:
    for name in ("b.jsonl.gz", "b.csv.gz", "b.xml", "b.avro", "b.parquet"):
        file = tmp_path / name
        file.write_bytes(gzip.compress(b"x"))
        assert SmallBatch.of(Inputs.of([lines, str(file)])) is None, name
    assert SmallBatch.of(Inputs.of([str(tmp_path / "gone.jsonl")])) is None


def test_a_file_that_made_spark_fail_is_read_as_before(lines: str, rows: str) -> None:
    for file in (lines, rows):
        assert SmallBatch.of(Inputs.of([lines, rows], Doubts(frozenset({file})))) is None


def test_a_file_that_nobody_can_read_is_told_of_and_not_measured(lines: str) -> None:
    doubts = Doubts(frozenset({"/b.jsonl"}), {"/b.jsonl": "cannot be read: it is broken"})
    found = SmallBatch.of(Inputs.of([lines, "/b.jsonl"], doubts))
    assert found == SmallBatch(((lines, None), ("/b.jsonl", "cannot be read: it is broken")))
