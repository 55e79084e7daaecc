"""Which files hold events, by how their names end: the one table, for every reader, in this process and on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto
from pathlib import Path


class Form(StrEnum):
    """What is in a file, and so who reads it in this process."""

    LINES = auto()
    """JSON Lines."""
    CSV = auto()
    DECODED = auto()
    """Something that a library decodes, in a process of its own."""


class OnSpark(StrEnum):
    """Who reads a file when Spark runs."""

    LINES = auto()
    """Spark reads lines, from any place in the file."""
    ROWS = auto()
    """Spark reads columns."""
    WHOLE = auto()
    """A worker reads all of it, as this process would: it cannot be read from the middle, or not by Spark."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of file."""

    suffix: str
    form: Form
    on_spark: OnSpark
    reader: str = ""
    """Of what is decoded: `module:function`. The function takes a path, a lookup of types, the `name` of the file for
    errors and the number of the last record not wanted (`after`), and gives each record's number and line of JSON.
    """
    expands: int = 1
    """About how many bytes of JSON one byte of it stands for."""

    @property
    def is_compressed(self) -> bool:
        """Whether the whole file is in gzip."""
        return self.suffix.endswith(".gz")

    @property
    def is_plain_lines(self) -> bool:
        """Whether it is JSON Lines as they are."""
        return self.form is Form.LINES and not self.is_compressed


FORMATS = (
    FileFormat(".jsonl", Form.LINES, OnSpark.LINES),
    FileFormat(".jsonl.gz", Form.LINES, OnSpark.WHOLE, expands=8),
    FileFormat(".csv", Form.CSV, OnSpark.WHOLE),
    FileFormat(".csv.gz", Form.CSV, OnSpark.WHOLE, expands=8),
    FileFormat(".parquet", Form.DECODED, OnSpark.ROWS, "comity.event.formats.parquet:read_parquet_lines", 5),
    FileFormat(".xml", Form.DECODED, OnSpark.WHOLE, "comity.event.formats.xml.records:read_xml_file"),
    FileFormat(".xml.gz", Form.DECODED, OnSpark.WHOLE, "comity.event.formats.xml.records:read_xml_file", 8),
    FileFormat(".avro", Form.DECODED, OnSpark.WHOLE, "comity.event.formats.avro:read_avro_lines", 3),
)
SUFFIXES = tuple(one.suffix for one in FORMATS)
"""How files of events in a directory are named; a single file of another name is read as JSON Lines."""

UNREADABLE = "unreadable-file"
"""The code of a file that cannot be read at all."""
_BROKEN = "broken-"
_OF_FILES = (UNREADABLE, "decoder-died", "decoder-failed", "expands-too-far", "too-much-memory", "too-slow")
_HIDDEN = (".", "_")
_PLAIN_LINES, _COMPRESSED_LINES = FORMATS[:2]


def format_of(path: str | Path) -> FileFormat:
    """The format of a file; one that was named by itself and that the table does not have is JSON Lines.

    >>> format_of("a/b.csv.gz").form, format_of("events.log").on_spark
    (<Form.CSV: 'csv'>, <OnSpark.LINES: 'lines'>)
    """
    name = str(path)
    known = next((one for one in FORMATS if name.endswith(one.suffix)), None)
    return known or (_COMPRESSED_LINES if name.endswith(".gz") else _PLAIN_LINES)


def is_file_fault(code: str) -> bool:
    """Whether the fault of a rejected record is about the rest of its file, and not about one record.

    >>> is_file_fault("broken-gzip"), is_file_fault("bad-json")
    (True, False)
    """
    return code.startswith(_BROKEN) or code in _OF_FILES


def is_event_file(path: Path) -> bool:
    """Whether something in a directory is a file of events."""
    return is_event_name(path.name) and path.is_file()


def is_event_name(name: str) -> bool:
    """Whether a file in a directory holds events, and nobody is still writing it: such names begin with `.` or `_`.

    A name that is no UTF-8 could not be told, noted or handed to Java, so such a file is none either.
    """
    return name.endswith(SUFFIXES) and not name.startswith(_HIDDEN) and _is_text(name)


def unknown_files(folder: Path) -> list[Path]:
    """What is in a directory and nobody reads: names that the table has not or that are no UTF-8, directories, and
    files that are empty where nothing is a broken file. Spark passes over empty ones, also when somebody writes into
    them later.
    """
    return sorted(one for one in folder.iterdir() if not one.name.startswith(_HIDDEN) and not _is_read(one))


def _is_read(path: Path) -> bool:
    if not path.name.endswith(SUFFIXES) or not _is_text(path.name) or not path.is_file():
        return path.is_symlink() and not path.exists()  # a link that leads nowhere may come to lead somewhere
    try:
        return format_of(path).form is not Form.DECODED or path.stat().st_size > 0
    except OSError:  # it was taken away just now
        return True


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= one <= "\udfff" for one in name)
