"""Tests that no index helps: evaluated on the events that pass everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.event.kinds import Kind, Point, Value, timestamp_from_microseconds
from comity.event.types import ENVELOPE, ENVELOPE_NAME, AttributeType
from comity.expression.compile import Test, compile_filter
from comity.expression.tree import Attribute, Expression, Not, TextTest, attributes
from comity.match.channels import Ints, Path
from comity.match.columns import column_at, string_column

_MANY = 32
"""Events from which on a test on one text is evaluated once for each different text."""


class Tests:
    """Expressions by number, compiled when they are first needed."""

    def __init__(self, expressions: Sequence[Expression]) -> None:
        self.expressions = list(expressions)
        self._compiled: list[Test | None] = [None] * len(self.expressions)
        self._paths: list[frozenset[Path]] = [frozenset()] * len(self.expressions)

    def __len__(self) -> int:
        return len(self.expressions)

    def __getstate__(self) -> list[Expression]:
        return self.expressions

    def __setstate__(self, expressions: list[Expression]) -> None:
        self.__init__(expressions)  # type: ignore[misc]

    def test(self, number: int) -> Test:
        """The test as a function of a record."""
        found = self._compiled[number]
        if found is None:
            found = self._compiled[number] = compile_filter(self.expressions[number])
        return found

    def paths(self, number: int) -> frozenset[Path]:
        """What the test reads."""
        if not self._paths[number]:
            self._paths[number] = _paths(self.expressions[number])
        return self._paths[number]

    def hold(self, number: int, rows: BatchRows, events: Ints) -> npt.NDArray[np.bool_]:
        """Whether the test holds for each of these events of a batch."""
        text_path = _text_path(self.expressions[number]) if len(events) >= _MANY else None
        if text_path is not None:
            texts = rows.distinct_texts(text_path)
            if texts is not None:
                return self._hold_by_text(number, text_path, texts, events)
        test, paths = self.test(number), self.paths(number)
        columns = [(path, rows.values(path)) for path in paths]
        record: dict[Path, Value | None] = {}
        found = np.empty(len(events), np.bool_)
        for i, event in enumerate(events.tolist()):
            for path, values in columns:
                record[path] = values[event]
            found[i] = test(record)
        return found

    def _hold_by_text(self, number: int, path: Path, texts: _Distinct, events: Ints) -> npt.NDArray[np.bool_]:
        codes, which = np.unique(texts.codes[events], return_inverse=True)
        test = self.test(number)
        answers = [test({path: texts.values[code]}) for code in codes.tolist()]
        return np.array(answers, np.bool_)[which]


def _paths(node: Expression) -> frozenset[Path]:
    return attributes(node) | {("event", "type")}


def _text_path(node: Expression) -> Path | None:
    """The attribute of a test on one text."""
    if isinstance(node, Not):
        node = node.item
    return node.operand.path if isinstance(node, TextTest) and isinstance(node.operand, Attribute) else None


@dataclass(frozen=True, slots=True)
class _Distinct:
    """A column of texts as numbers of different texts; the last one is for a missing text."""

    codes: npt.NDArray[np.int64]
    values: list[str | None]


@dataclass(slots=True)
class BatchRows:
    """The columns of a batch as Python values, each made when it is first needed."""

    batch: pa.RecordBatch
    declared: Mapping[Path, AttributeType] = field(default_factory=dict)
    _values: dict[Path, list[Value | None]] = field(default_factory=dict)
    _texts: dict[Path, _Distinct | None] = field(default_factory=dict)

    def values(self, path: Path) -> list[Value | None]:
        """The attribute's value in each row."""
        if path not in self._values:
            column = column_at(self.batch, path)
            if column is None:
                self._values[path] = [None] * self.batch.num_rows
            else:
                self._values[path] = python_values(column, declared_kind(path, self.declared))
        return self._values[path]

    def distinct_texts(self, path: Path) -> _Distinct | None:
        """The attribute's texts, if it is a column of texts."""
        if path not in self._texts:
            self._texts[path] = self._find_texts(path)
        return self._texts[path]

    def _find_texts(self, path: Path) -> _Distinct | None:
        column = column_at(self.batch, path)
        texts = None if column is None else string_column(column)
        if texts is None:
            return None
        coded = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
        known = coded.dictionary.to_pylist()
        codes = coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False).astype(np.int64)
        return _Distinct(codes, [*known, None])


def declared_kind(path: Path, declared: Mapping[Path, AttributeType]) -> Kind | None:
    """The kind that an attribute is declared to have; None when it is open."""
    found = ENVELOPE.get(path[1]) if path[0] == ENVELOPE_NAME and len(path) == 2 else declared.get(path)
    return found.kind if found else None


def python_values(column: pa.Array, kind: Kind | None = None) -> list[Value | None]:
    """A column as the values that the expression language knows."""
    of_time = pa.types.is_timestamp(column.type) or (kind is Kind.TIMESTAMP and pa.types.is_integer(column.type))
    of_span = pa.types.is_duration(column.type) or (kind is Kind.DURATION and pa.types.is_integer(column.type))
    if of_time or of_span:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False).view(pa.int64())
        elif pa.types.is_duration(column.type):
            column = column.cast(pa.duration("us"), safe=False).view(pa.int64())
        make = timestamp_from_microseconds if of_time else _span
        return [None if count is None else make(count) for count in column.to_pylist()]
    values: list[Value | None] = column.to_pylist()
    if pa.types.is_nested(column.type):
        return [_plain(value, kind) for value in values]
    return values


def _span(count: int) -> timedelta:
    return timedelta(microseconds=count)


def _plain(value: Any, kind: Kind | None = None) -> Any:
    """A nested value without the fields that are missing."""
    if isinstance(value, dict):
        found = {name: _plain(inner) for name, inner in value.items() if inner is not None}
        return Point(found["x"], found["y"]) if kind is Kind.POINT and len(found) == 2 else found
    return [_plain(item) for item in value] if isinstance(value, list) else value
