"""What a run reads: files of events by their form, as tables of lines or of rows."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from comity.event.csvlines import read_header
from comity.event.jsonlines import Rejected
from comity.event.parquet import broken_parquet
from comity.pipeline.facts import Facts, facts_of
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

    def parquet_groups(self) -> tuple[list[ParquetGroup], list[Rejected]]:
        """The Parquet files, those with the same columns together; and those that are none, with the reason."""
        groups: dict[str, list[tuple[str, parquet.FileMetaData]]] = {}
        broken: list[Rejected] = []
        for file in self.parquet:
            found = _footer(file)
            if isinstance(found, Rejected):
                broken.append(found)
                continue
            groups.setdefault(str(found.schema.to_arrow_schema().remove_metadata()), []).append((file, found))
        return [ParquetGroup.of(group) for group in groups.values()], broken


@dataclass(frozen=True, slots=True)
class ParquetGroup:
    """Files with the same columns, what their footers prove, and how many rows they have."""

    files: list[str]
    facts: Facts
    rows: int

    @classmethod
    def of(cls, group: list[tuple[str, parquet.FileMetaData]]) -> ParquetGroup:
        footers = [footer for _, footer in group]
        return cls([file for file, _ in group], facts_of(footers), sum(footer.num_rows for footer in footers))


def _footer(file: str) -> parquet.FileMetaData | Rejected:
    try:
        return parquet.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        return broken_parquet(error, file)


def _form(file: str) -> str:
    if file.endswith(CSV_SUFFIXES):
        return "csv"
    return "parquet" if file.endswith(PARQUET_SUFFIXES) else "lines"


def text_lines(spark: SparkSession, inputs: Inputs) -> Iterator[tuple[DataFrame, Headers]]:
    """The lines of text files, those of CSV apart, with the headers of their files."""
    with spark_failures():
        if inputs.lines:
            yield read_lines(spark, inputs.lines), {}
        if inputs.csv:
            yield read_lines(spark, inputs.csv), csv_headers(inputs.csv)


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
