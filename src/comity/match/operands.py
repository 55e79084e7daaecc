"""From columns of events to candidates of patterns: many operands against many events, without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from comity.event.types import AttributeType, EventType
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, TRUE, Expression, IsType, rebuild
from comity.match.columns import column_at
from comity.match.residual import python_values
from comity.match.typed import TypedMatcher
from comity.pattern.bank import Bank
from comity.pattern.correlation import Path, canonical, key_text
from comity.pattern.occurrence import NO_TIE
from comity.pattern.rows import CANDIDATES, no_candidates

Longs = npt.NDArray[np.int64]


@dataclass(slots=True)
class OperandMatcher:
    """The operands of a bank's patterns over batches of events of one type, whose columns are named by dotted path.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType
    >>> from comity.pattern.bound import bind_pattern
    >>> from comity.pattern.tree import Operand
    >>> fire = EventType("Fire", "house", own={"heat": AttributeType(Kind.FLOAT)})
    >>> matcher = OperandMatcher(Bank([bind_pattern("hot", Operand("f", "house.Fire"))]), fire)
    >>> event = {"event.id": ["1"], "event.source": ["/a"], "event.time": [5], "heat": [50.0]}
    >>> matcher.candidates(pa.RecordBatch.from_pydict(event)).select(["pattern", "operand", "id"]).to_pylist()
    [{'pattern': 0, 'operand': 0, 'id': '1'}]
    """

    bank: Bank
    type: EventType
    _always: list[tuple[int, int]] = field(default_factory=list, init=False)
    """Patterns and operands that take every event of the type."""
    _tested: list[tuple[int, int]] = field(default_factory=list, init=False)
    _matcher: TypedMatcher | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        conditions: list[Expression] = []
        for number, operand in self.bank.sharing.users:
            pattern = self.bank.patterns[number]
            own = _of_type(pattern.filters[pattern.operand_names[operand]], self.type)
            condition = simplify(own, self.type)
            if condition == TRUE:
                self._always.append((number, operand))
            elif condition != FALSE:
                self._tested.append((number, operand))
                conditions.append(condition)
        self._matcher = TypedMatcher(self.type, conditions) if conditions else None

    @property
    def asks(self) -> bool:
        """Whether some operand can want an event of the type."""
        return bool(self._always or self._tested)

    def candidates(self, batch: pa.RecordBatch, lines: pa.Array | None = None) -> pa.Table:
        """The candidates among the events of a batch; `lines` are the JSON of the events, for patterns that need it."""
        taker = _Taker(self.bank, self.type, batch, lines)
        whole = np.arange(batch.num_rows)
        found = [taker.rows(number, operand, whole) for number, operand in self._always]
        found += self._matched(batch, taker)
        return pa.concat_tables([table for table in found if table.num_rows] or [no_candidates()])

    def _matched(self, batch: pa.RecordBatch, taker: _Taker) -> Iterable[pa.Table]:
        if self._matcher is None:
            return
        matches = self._matcher.match_batch(batch)
        rows = np.repeat(np.arange(batch.num_rows), np.diff(matches.offsets))
        order = np.argsort(matches.ids, kind="stable")
        ids, rows = matches.ids[order], rows[order]
        begins = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]]).tolist() if len(ids) else []
        for begin, end in pairwise([*begins, len(ids)]):
            number, operand = self._tested[ids[begin]]
            yield taker.rows(number, operand, rows[begin:end])


@dataclass(slots=True)
class _Taker:
    """Takes rows of a batch as candidates; keys are worked out once for all operands that have the same."""

    bank: Bank
    type: EventType
    batch: pa.RecordBatch
    lines: pa.Array | None
    _keys: dict[tuple[tuple[Path, ...], ...], pa.Array] = field(default_factory=dict, init=False)

    def rows(self, number: int, operand: int, rows: Longs) -> pa.Table:
        pattern = self.bank.patterns[number]
        name = pattern.operand_names[operand]
        taken = pa.array(rows)
        keys = self._key(pattern.key.parts_of(name) if pattern.key else ())
        columns = {
            "pattern": pa.array(np.full(len(rows), number, np.int32)),
            "operand": pa.array(np.full(len(rows), operand, np.int32)),
            "key": keys.take(taken),
            "time": _int64(self.batch.column("event.time")).take(taken),
            "tie": _ties(self.batch, pattern.parameters.ties).take(taken),
            "source": self.batch.column("event.source").take(taken).cast(pa.string()),
            "id": self.batch.column("event.id").take(taken).cast(pa.string()),
            "line": self._lines(taken) if pattern.needs_line(name) else pa.nulls(len(rows), pa.string()),
        }
        table = pa.table(columns, schema=CANDIDATES)
        return table.filter(pc.is_valid(table.column("key"))) if keys.null_count else table

    def _key(self, parts: tuple[tuple[Path, ...], ...]) -> pa.Array:
        if parts not in self._keys:
            self._keys[parts] = _key_column(self.batch, self.type, parts)
        return self._keys[parts]

    def _lines(self, taken: pa.Array) -> pa.Array:
        assert self.lines is not None, "conditions between operands need the lines"
        return self.lines.take(taken).cast(pa.string())


def _of_type(condition: Expression, type: EventType) -> Expression:
    """The condition for events of one type: whether they are of it is known."""
    if isinstance(condition, IsType):
        return TRUE if type.qualified_name in condition.names else FALSE
    return rebuild(condition, lambda part: _of_type(part, type))


def _key_column(batch: pa.RecordBatch, type: EventType, parts: Sequence[tuple[Path, ...]]) -> pa.Array:
    """The text of the correlation key of each event; null for one without."""
    if not parts:
        return pa.array([key_text(())]).take(pa.array(np.zeros(batch.num_rows, np.int64)))
    paths = [path for part in parts for path in part]
    if len(paths) == 1 and (texts := _plain_key(_column(batch, paths[0]))) is not None:
        return texts
    codes, uniques = zip(*(_encoded(_column(batch, path), type.attribute_at(path)) for path in paths), strict=True)
    combined, most = np.zeros(batch.num_rows, np.int64), 1
    for code, values in zip(codes, uniques, strict=True):
        if most * (len(values) + 1) > 2**63:  # numbered anew: as many as there are rows, at most
            combined, most = np.unique(combined, return_inverse=True)[1].reshape(-1), batch.num_rows
        combined, most = combined * (len(values) + 1) + code + 1, most * (len(values) + 1)
    if len(paths) == 1:  # the codes are those of the values, and nothing is sorted
        texts = [_text(parts, [value]) for value in uniques[0]]
        return pa.array([None, *texts], pa.string()).take(pa.array(combined))
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    texts = [
        _text(parts, [values[code[row]] if code[row] >= 0 else None for code, values in zip(codes, uniques)])
        for row in first.tolist()
    ]
    return pa.array(texts, pa.string()).take(pa.array(inverse.reshape(-1)))


def _plain_key(column: pa.Array) -> pa.Array | None:
    """The key of a text for each event; None if the values are no texts, or some would need an escape in JSON."""
    if column.type != pa.string():
        return None
    encoded = column.dictionary_encode()
    values = encoded.dictionary
    if pc.any(pc.match_substring_regex(values, r'["\\\x00-\x1f]')).as_py():
        return None
    return pc.binary_join_element_wise('["', values, '"]', "").take(encoded.indices)


def _text(parts: Sequence[tuple[Path, ...]], values: Sequence[object]) -> str | None:
    given = iter(values)
    key = []
    for part in parts:
        own = [canonical(next(given)) for _ in part]
        if own[0] is None or any(value != own[0] for value in own):
            return None
        key.append(own[0])
    return key_text(tuple(key))


def _encoded(column: pa.Array, declared: AttributeType | None) -> tuple[Longs, Sequence[object]]:
    """By event, the number of its value, or -1; and the values."""
    kind = declared.kind if declared else None
    if pa.types.is_nested(column.type):  # which Arrow has no codes for: every event has a value of its own
        codes = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.arange(len(column)), -1)
        return codes, python_values(column, kind)
    encoded = column.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, python_values(encoded.dictionary, kind)


def _column(batch: pa.RecordBatch, path: Path) -> pa.Array:
    found = column_at(batch, path)
    return pa.nulls(batch.num_rows, pa.string()) if found is None else found


def _ties(batch: pa.RecordBatch, path: Path | None) -> pa.Array:
    if path is None:
        return pa.array(np.zeros(batch.num_rows, np.int64))
    return _column(batch, path).cast(pa.int64()).fill_null(NO_TIE)


def _int64(column: pa.Array) -> pa.Array:
    return column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
