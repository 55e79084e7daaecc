"""The traces of flat patterns, as columns: grouped and ordered here, detected by compiled code."""

from __future__ import annotations

from collections.abc import Sequence as AbstractSequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from comity.pattern.bound import BoundPattern
from comity.pattern.flat.detect import (
    ALWAYS,
    NEVER,
    FlatPattern,
    FlatPatterns,
    FlatReports,
    FlatRows,
    detect_flat,
    flat_patterns,
)
from comity.pattern.flat.kernels.layout import MOST_OPERANDS, MOST_STEPS
from comity.pattern.flat.sharing import Shared, Use, use_of
from comity.pattern.parameters import Duplicates
from comity.pattern.rows import REPORTS, STATE
from comity.pattern.sharing import Asked, Sharing
from comity.pattern.tree import Both, Operand, Pattern, Sequence, operands, parts

Longs = npt.NDArray[np.int64]


def as_flat(bound: BoundPattern) -> FlatPattern | None:
    """The pattern for the compiled detector; None when it takes the general one."""
    pattern, names = bound.pattern, {name: at for at, name in enumerate(bound.operand_names)}
    if bound.never or not _is_flat(pattern) or any(bound.joins.values()) or any(bound.against.values()):
        return None
    if bound.has_forms:  # here an event of a trace is one row, with one line, whichever operands it is for
        return None
    steps, gaps = _steps_and_gaps(pattern)
    if len(steps) > MOST_STEPS or len(names) > MOST_OPERANDS:
        return None
    limit = bound.parameters.limit
    within = None if isinstance(pattern, Operand) else pattern.within  # type: ignore[union-attr]
    return FlatPattern(
        kind="conjunction" if isinstance(pattern, Both) else "sequence",
        steps=tuple(names[name] for name in steps),
        gaps=tuple(tuple(names[name] for name in gap) for gap in gaps),
        within_us=-1 if within is None else within,
        duplicates=tuple(_mode(bound.parameters.of(name)) for name in steps),
        choice_order=tuple(steps.index(name) for name in bound.choice_order),
        consume=bound.parameters.consume.value,
        limit=-1 if limit is None else limit,
        has_ties=bound.parameters.ties is not None,
    )


def _is_flat(pattern: Pattern) -> bool:
    flat = isinstance(pattern, Operand | Sequence | Both)
    return flat and all(isinstance(part, Operand) for part in parts(pattern))


def _steps_and_gaps(pattern: Pattern) -> tuple[list[str], list[list[str]]]:
    if isinstance(pattern, Sequence):
        steps = [operand.name for part in pattern.present for operand in operands(part)]
        return steps, [[operand.name for part in gap for operand in operands(part)] for gap in pattern.gaps]
    return [operand.name for operand in operands(pattern)], []


def _mode(duplicates: Duplicates) -> str | tuple[int, int]:
    text = str(duplicates)
    return text if text in ("all", "first", "last", "collect") else (duplicates.first, duplicates.last)


@dataclass(slots=True)
class FlatBank:
    """The flat ones among some patterns; numbers of patterns are those of all of them."""

    patterns: AbstractSequence[BoundPattern]
    sharing: Sharing
    numbers: npt.NDArray[np.int32] = field(init=False)
    """Those of the flat ones."""
    _compiled: FlatPatterns = field(init=False)
    _place: npt.NDArray[np.int32] = field(init=False)
    """By number, the position among the flat ones, or -1."""
    _has_ties: bool = field(init=False)
    _uses: dict[Asked, list[Use]] = field(init=False)
    _owners: dict[Asked, Asked] = field(init=False)

    def __post_init__(self) -> None:
        flat = [(number, found) for number, one in enumerate(self.patterns) if (found := as_flat(one)) is not None]
        self.numbers = np.array([number for number, _ in flat], np.int32)
        self._compiled = flat_patterns([found for _, found in flat])
        self._place = np.full(len(self.patterns) + 1, -1, np.int32)
        self._place[self.numbers] = np.arange(len(flat))
        self._has_ties = any(found.has_ties for _, found in flat)
        by_number = dict(flat)
        self._uses = {
            leader: [use_of(user, operand, by_number[user]) for user, operand in users if user in by_number]
            for leader, users in self.sharing.users.items()
        }
        self._owners = {user: leader for leader, users in self.sharing.users.items() for user in users}

    @property
    def taken(self) -> frozenset[int]:
        """The numbers of the patterns that are detected here."""
        return frozenset(self.numbers.tolist())

    def detect(self, state: pa.Table, candidates: pa.Table, *, done: int | None, upto: int | None) -> _Done:
        """The reports after `done` up to `upto`, and the state after them."""
        if not len(self.numbers):
            return _Done(REPORTS.empty_table(), STATE.empty_table())
        rows, table = self._in_order(self._handed_out(state, candidates, upto).combine_chunks())
        found = detect_flat(
            self._compiled, rows, done_us=NEVER if done is None else done, upto_us=ALWAYS if upto is None else upto
        )
        kept = np.flatnonzero(found.mask_after)
        after = table.take(pa.array(kept))
        after = after.set_column(after.schema.get_field_index("mask"), "mask", pa.array(found.mask_after[kept]))
        return _Done(_reports(found, rows, self.numbers, table), after)

    def _handed_out(self, state: pa.Table, candidates: pa.Table, upto: int | None) -> pa.Table:
        """The state and the candidates, for each pattern that asks for them, with the operand's bit."""
        shared = Shared(state, candidates, self._owners, upto)
        rows, patterns, masks = [], [], []
        for asked, all_rows in shared.by_asked.items():
            uses = self._uses.get(asked, ())
            for use in uses:
                own = shared.rows_for(asked, use) if len(uses) > 1 else all_rows
                rows.append(own)
                patterns.append(np.full(len(own), use.pattern, np.int32))
                masks.append(np.full(len(own), 1 << use.operand, np.int64))
        if not rows:
            return state
        taken = candidates.take(pa.array(np.concatenate(rows)))
        columns = {name: taken.column(name) for name in STATE.names[1:-1]}
        columns |= {"pattern": pa.array(np.concatenate(patterns)), "mask": pa.array(np.concatenate(masks))}
        return pa.concat_tables([state, pa.table(columns, schema=STATE)])

    def _in_order(self, table: pa.Table) -> tuple[FlatRows, pa.Table]:
        """The rows by trace and time, each event of a trace once."""
        group, time, tie = _groups(table), _numpy(table, "time"), _numpy(table, "tie")
        order = np.lexsort((tie, time, group) if self._has_ties else (time, group))
        group, time, tie = group[order], time[order], tie[order]
        mask = _numpy(table, "mask")[order]
        equal = (group[1:] == group[:-1]) & (time[1:] == time[:-1])
        if equal.any():
            order, mask, keep = _without_repeats(table, order, mask, tie, equal)
            group, time, tie, order, mask = group[keep], time[keep], tie[keep], order[keep], mask[keep]
        starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]]) if len(group) else np.zeros(0, np.int64)
        table = table.take(pa.array(order))
        pattern = self._place[_numpy(table, "pattern")[starts]] if len(starts) else np.zeros(0, np.int32)
        offsets = np.r_[starts, len(group)].astype(np.int64)
        return FlatRows(offsets, pattern.astype(np.int32), time, tie, mask), table


@dataclass(frozen=True, slots=True)
class _Done:
    reports: pa.Table
    state: pa.Table


def _groups(table: pa.Table) -> Longs:
    """By row, a number for its trace."""
    keys = pc.dictionary_encode(table.column("key").combine_chunks())
    keys = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    codes = keys.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(_numpy(table, "pattern").astype(np.int64) * max(len(keys.dictionary), 1) + codes)


def _without_repeats(
    table: pa.Table, order: Longs, mask: Longs, tie: Longs, equal: npt.NDArray[np.bool_]
) -> tuple[Longs, Longs, npt.NDArray[np.bool_]]:
    """Events of one time in their order; of one event the first row with all its operands, and no operand twice."""
    order, mask = order.copy(), mask.copy()
    keep = np.ones(len(order), bool)
    touched = np.flatnonzero(np.r_[equal, False] | np.r_[False, equal])
    # Runs of rows with one trace and one time; few, since events of one trace seldom share a time.
    begins = np.flatnonzero(~np.r_[False, equal[touched[1:] - 1]]) if len(touched) else touched
    names = table.select(["source", "id", "line"]).take(pa.array(order[touched])).to_pydict()
    bounds = [*begins.tolist(), len(touched)]
    for begin, end in pairwise(bounds):
        rows = touched[begin:end]
        ranked = sorted(
            range(begin, end),
            key=lambda at: (tie[touched[at]], names["source"][at], names["id"][at], names["line"][at] or ""),
        )
        old_order, old_mask = order[rows].copy(), mask[rows].copy()
        first: dict[tuple[str, str, int], int] = {}
        taken: dict[tuple[str, str], int] = {}
        for place, at in enumerate(ranked):
            row = rows[place]
            order[row], mask[row] = old_order[at - begin], old_mask[at - begin]
            identity = (names["source"][at], names["id"][at])
            new = int(mask[row]) & ~taken.get(identity, 0)
            taken[identity] = taken.get(identity, 0) | new
            point = (*identity, int(tie[touched[at]]))
            if point in first:
                mask[first[point]] |= new
                keep[row] = False
            else:
                first[point] = row
                mask[row] = new
    return order, mask, keep


def _reports(found: FlatReports, rows: FlatRows, numbers: npt.NDArray[np.int32], table: pa.Table) -> pa.Table:
    members = pa.array(found.row)
    offsets = pa.array(found.offsets.astype(np.int32))
    columns = [
        pa.array(numbers[rows.pattern_of_group[found.group]] if len(found.group) else np.zeros(0, np.int32)),
        pa.array(found.start_us),
        pa.array(found.end_us),
        pa.ListArray.from_arrays(offsets, pa.array(found.operand.astype(np.int32))),
        *(_taken(offsets, table.column(name), members) for name in ("source", "id", "line")),
    ]
    return pa.Table.from_arrays(columns, schema=REPORTS)


def _taken(offsets: pa.Array, column: pa.ChunkedArray, members: pa.Array) -> pa.Array:
    values = column.take(members)
    return pa.ListArray.from_arrays(offsets, values.combine_chunks() if values.num_chunks != 1 else values.chunk(0))


def _numpy(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.asarray(table.column(name).to_numpy())
