"""What a run reads: files of events by their form, as tables of lines or of rows."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from comity.errors import Misuse, Place
from comity.event.csvlines import read_header
from comity.pipeline.failure import spark_failures
from comity.pipeline.worker import Headers
from comity.pipeline.wrap import read_lines

CSV_SUFFIXES = (".csv", ".csv.gz")
PARQUET_SUFFIXES = (".parquet",)
_LONGEST_HEADER = 1_048_576


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of a run, by their form."""

    lines: tuple[str, ...]
    csv: tuple[str, ...]
    parquet: tuple[str, ...]

    @classmethod
    def of(cls, files: Iterable[str]) -> Inputs:
        """Files told apart by their names; what has no known suffix is JSON Lines.

        >>> Inputs.of(["a.jsonl", "b.csv.gz", "c.parquet"])
        Inputs(lines=('a.jsonl',), csv=('b.csv.gz',), parquet=('c.parquet',))
        """
        found: dict[str, list[str]] = {"lines": [], "csv": [], "parquet": []}
        for file in files:
            found[_form(file)].append(file)
        return cls(*(tuple(sorted(found[form])) for form in ("lines", "csv", "parquet")))

    def parquet_by_schema(self) -> list[list[str]]:
        """The Parquet files, those with the same columns together."""
        groups: dict[str, list[str]] = {}
        for file in self.parquet:
            groups.setdefault(str(_opened(file).schema_arrow.remove_metadata()), []).append(file)
        return list(groups.values())

    def parquet_rows(self) -> int:
        """How many rows the Parquet files have."""
        return sum(_opened(file).metadata.num_rows for file in self.parquet)


def _opened(file: str) -> parquet.ParquetFile:
    try:
        return parquet.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Misuse(f"this is no Parquet file: {reason}", code="broken-parquet", place=Place(file)) from error


def _form(file: str) -> str:
    if file.endswith(CSV_SUFFIXES):
        return "csv"
    return "parquet" if file.endswith(PARQUET_SUFFIXES) else "lines"


def text_lines(spark: SparkSession, inputs: Inputs) -> tuple[DataFrame | None, Headers]:
    """The lines of all text files, and the headers of those that are CSV; None when there are no such files."""
    files = inputs.lines + inputs.csv
    if not files:
        return None, {}
    with spark_failures():
        return read_lines(spark, files), csv_headers(inputs.csv)


def csv_headers(files: Sequence[str]) -> Headers:
    """What the first line of each file says about its columns."""
    headers: dict[str | None, tuple[bytes, object]] = {}
    for file in files:
        first = _first_line(Path(file))
        headers[file] = first, read_header(first)
    return headers  # type: ignore[return-value]


def _first_line(path: Path) -> bytes:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        return bytes(stream.readline(_LONGEST_HEADER)).rstrip(b"\r\n")
