"""What the footers of Parquet files prove about their rows, so that it need not be checked row by row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyarrow import parquet


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The values of a column in all files: none is null, none is outside."""

    least: Any
    most: Any


@dataclass(frozen=True, slots=True)
class Facts:
    """By the dotted path of a column: those without nulls, and the ranges of those whose ranges are known.

    >>> facts = Facts(frozenset({"type"}), {"type": ColumnRange("plant.Reading", "plant.Reading")})
    >>> facts.constant("type"), facts.is_within("type", "a", "b")
    ('plant.Reading', False)
    """

    complete: frozenset[str]
    ranges: dict[str, ColumnRange]

    def constant(self, path: str) -> str | None:
        """The one text that a column holds; None if that is not sure."""
        found = self.ranges.get(path)
        if found is None or path not in self.complete or not isinstance(found.least, str):
            return None
        return found.least if found.least == found.most else None

    def is_within(self, path: str, least: Any, most: Any) -> bool:
        """Whether all values are there and in a range."""
        found = self.ranges.get(path)
        if found is None or path not in self.complete or type(found.least) is not type(least):
            return False
        return bool(least <= found.least and found.most <= most)

    @property
    def times(self) -> ColumnRange | None:
        """The range of the times of events; None if that is not sure."""
        found = self.ranges.get("time")
        return found if found is not None and "time" in self.complete and isinstance(found.least, datetime) else None

    def is_never_empty(self, path: str) -> bool:
        """Whether all values are there, and none is the empty text."""
        found = self.ranges.get(path)
        return path in self.complete and found is not None and isinstance(found.least, str) and found.least != ""


NO_FACTS = Facts(frozenset(), {})


def facts_of(files: Iterable[parquet.FileMetaData]) -> Facts:
    """What holds for all rows of these files."""
    complete: dict[str, bool] = {}
    ranges: dict[str, ColumnRange | None] = {}
    for file in files:
        for group in range(file.num_row_groups):
            for at in range(file.num_columns):
                _take(file.row_group(group).column(at), complete, ranges)
    return Facts(
        frozenset(path for path, is_so in complete.items() if is_so),
        {path: found for path, found in ranges.items() if found is not None},
    )


def _take(column: Any, complete: dict[str, bool], ranges: dict[str, ColumnRange | None]) -> None:
    path, known = column.path_in_schema, column.statistics
    is_complete = known is not None and known.has_null_count and known.null_count == 0
    complete[path] = complete.get(path, True) and is_complete
    own = _range(known)
    before = ranges.get(path, own)
    if own is None or before is None or type(own.least) is not type(before.least):
        ranges[path] = None
    else:
        ranges[path] = ColumnRange(min(own.least, before.least), max(own.most, before.most))


def _range(known: Any) -> ColumnRange | None:
    if known is None or not known.has_min_max:
        return None
    try:
        least, most = _value(known.min), _value(known.max)
    except (OverflowError, ValueError):  # a time or a text that Python cannot hold
        return None
    return None if least is None or most is None else ColumnRange(least, most)


def _value(value: Any) -> str | datetime | None:
    """Texts and times: what the checks ask about. Floats have no use, since a range says nothing about NaN."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return value if isinstance(value, str) else None
