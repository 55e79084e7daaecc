"""Tables beside contracts: semantic dictionaries, code systems and exchange rates, in files or written in place."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from comity.document import read_text
from comity.errors import Misuse, Place
from comity.event.kinds import Value
from comity.expression.scope import Table

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_READINGS: tuple[tuple[Callable[[str], object], Callable[[str], Value]], ...] = (
    (_WHOLE.fullmatch, int),
    (_DECIMAL.fullmatch, float),
    (lambda text: text in ("true", "false"), lambda text: text == "true"),
)


def read_table(given: Mapping[str, Value], folder: Path) -> Table:
    """The table that a contract writes in place, or names: `{file: users.csv, key: local, value: common}`."""
    file = given.get("file")
    if not (given.keys() <= {"file", "key", "value"} and isinstance(file, str) and file.endswith(".csv")):
        return dict(given)
    path = folder / file
    header, rows = read_csv(path)
    first, second = (_column(header, given.get(role), at, path) for at, role in enumerate(("key", "value")))
    keys = _typed([row[first] for _, row in rows])
    values = _typed([row[second] for _, row in rows])
    table: dict[Value, Value] = {}
    for (line, _), key, value in zip(rows, keys, values, strict=True):
        if key in table:
            raise Misuse(f"the key {key!r} is there twice", code="duplicate-key", place=Place(str(path), line, 1))
        table[key] = value
    return table


def read_csv(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of the columns, and the rows with the lines on which they end; every row has all columns."""
    reader = csv.reader(io.StringIO(read_text(path)), strict=True)
    try:
        header = next(reader, None)
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise Misuse(f"this is not CSV: {error}", code="bad-csv", place=Place(str(path), reader.line_num, 1)) from None
    if header is None:
        raise Misuse("the file is empty", code="bad-csv", place=Place(str(path), 1, 1), hint="its first line has names")
    for line, row in rows:
        if len(row) != len(header):
            message = f"{len(row)} values for {len(header)} columns"
            raise Misuse(message, code="bad-csv", place=Place(str(path), line, 1))
    return header, rows


def code_tables(header: list[str], rows: list[list[str]]) -> dict[tuple[str, str], Table]:
    """For every two columns, each a code system, the table that leads from the one to the other; the first row counts.

    >>> code_tables(["alpha2", "alpha3"], [["DE", "DEU"]])["alpha3", "alpha2"]
    {'DEU': 'DE'}
    """
    pairs = [(one, other) for one in range(len(header)) for other in range(len(header)) if one != other]
    found: dict[tuple[str, str], Table] = {}
    for one, other in pairs:
        by_key: dict[Value, Value] = {}
        for row in rows:
            if row[one] and row[other]:
                by_key.setdefault(row[one], row[other])
        found[header[one], header[other]] = by_key
    return found


def _column(header: list[str], name: Any, default: int, path: Path) -> int:
    if name is None and default < len(header):
        return default
    if name not in header:
        hint = f"its columns are {', '.join(header)}"
        raise Misuse(f"there is no column {name!r}", code="unknown-column", place=Place(str(path), 1, 1), hint=hint)
    return header.index(name)


def _typed(texts: list[str]) -> list[Value]:
    """Whole numbers, numbers, truths, if all of them can be read so; else texts. 007 is a text."""
    for fits, read in _READINGS:
        if texts and all(fits(text) for text in texts):
            return [read(text) for text in texts]
    return list(texts)
