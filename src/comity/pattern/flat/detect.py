"""Flat patterns: only events as operands, joined by one operator. They are detected by compiled code, over arrays.

Conditions are dealt with before: a row says by a mask which operands of its pattern it is a candidate for, and rows
with one correlation key are one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from comity.pattern.flat.kernels import layout
from comity.pattern.flat.kernels.groups import detect_groups
from comity.pattern.flat.kernels.layout import GroupWork, Ints, Longs, Out

ALWAYS = int(np.iinfo(np.int64).max)
NEVER = int(np.iinfo(np.int64).min)

_KINDS = ("sequence", "conjunction")
_CONSUME = ("keep", "delete", "reapply")
_MODES = {
    "all": (layout.ALL, 0, 0),
    "first": (layout.FROM_FIRST, 1, 1),
    "last": (layout.FROM_LAST, 1, 1),
    "collect": (layout.COLLECT, 0, 0),
}
_GROWTH = 4
_KINDS_OF_ROWS = (np.int64, np.int32, np.int64, np.int64, np.int64)
"""Arrays that differ in these, or cannot be written, would have the kernels compiled again."""


@dataclass(frozen=True, slots=True)
class FlatPattern:
    """A sequence or a conjunction of events. Operands are numbers below 64, the bits of masks."""

    kind: str
    """`sequence` or `conjunction`."""
    steps: tuple[int, ...]
    """The operands that must be there, in their order."""
    gaps: tuple[tuple[int, ...], ...] = ()
    """The negated operands before, between and behind the steps: one tuple more than steps, or none at all."""
    within_us: int = -1
    """The time frame, or -1."""
    duplicates: tuple[str | int | tuple[int, int], ...] = ()
    """By step: `all`, `first`, `last`, `collect`, a position, or a first and a last one; negative from the end."""
    choice_order: tuple[int, ...] = ()
    """The steps in the order in which they choose; in a sequence they do so from left to right."""
    consume: str = "keep"
    limit: int = -1
    """Events that an operand has at most, or -1."""
    has_ties: bool = False


@dataclass(frozen=True, slots=True)
class FlatPatterns:
    """Patterns as the kernels read them."""

    table: Longs

    @property
    def may_repeat(self) -> bool:
        """Whether different occurrences can be one report."""
        repeats = (self.table[:, layout.KIND] == layout.CONJUNCTION) | (self.table[:, layout.COLLECTS] > 1)
        return bool(repeats.any())


class FlatRows(NamedTuple):
    """Rows of groups, ordered by group, time, tie-break and rank."""

    offsets: Longs
    """By group, its first row; and the number of rows."""
    pattern_of_group: Ints
    time_us: Longs
    tie: Longs
    """Read for patterns with a tie-break only."""
    mask: Longs
    """The operands that a row is a candidate for."""


class FlatReports(NamedTuple):
    """Reports by group, then in the order in which they close; and what remains of the rows."""

    group: Ints
    start_us: Longs
    end_us: Longs
    offsets: Longs
    """By report, its first member; and the number of members."""
    operand: npt.NDArray[np.uint8]
    row: Longs
    mask_after: Longs
    """By row, the operands that it is still needed for. Rows without any need not be given again."""


def flat_patterns(patterns: Sequence[FlatPattern]) -> FlatPatterns:
    """The patterns in the form in which they are detected.

    >>> flat_patterns([FlatPattern("sequence", (0, 1), within_us=10)]).table.shape[0]
    1
    """
    table = np.zeros((len(patterns), layout.WIDTH), np.int64)
    for pattern, columns in zip(patterns, table):
        _fill(pattern, columns)
    return FlatPatterns(table)


def detect_flat(patterns: FlatPatterns, rows: FlatRows, *, done_us: int = NEVER, upto_us: int = ALWAYS) -> FlatReports:
    """What the patterns report at the points of time after `done_us`, up to `upto_us`.

    Rows up to `done_us` are what an earlier call left; rows after `upto_us` wait. With the greatest time for `upto_us`
    the rows are complete: absences that reach past the last of them are reported, too.

    >>> patterns = flat_patterns([FlatPattern("sequence", (0, 1), within_us=10)])
    >>> times, masks = np.array([1, 5, 12]), np.array([0b01, 0b01, 0b10])
    >>> rows = FlatRows(np.array([0, 3]), np.array([0], np.int32), times, np.zeros(3, np.int64), masks)
    >>> found = detect_flat(patterns, rows)
    >>> found.start_us.tolist(), found.end_us.tolist(), found.row.tolist()
    ([5], [12], [1, 2])
    """
    rows = FlatRows(*(np.require(own, kind, ["C", "W"]) for own, kind in zip(rows, _KINDS_OF_ROWS)))
    count = len(rows.time_us)
    work = _work(rows, 4096)
    out = _out(count, max(count, 1024), 2 * max(count, 1024), patterns.may_repeat)
    group = 0
    while True:
        group = detect_groups(
            patterns.table, rows.offsets, rows.pattern_of_group, work, out, group, np.int64(done_us), np.int64(upto_us)
        )
        if work.state[layout.FULL] == 0:
            return _reports(work, out)
        if work.state[layout.FULL] == layout.LISTS_FULL:
            work = _with_longer_lists(work)
        else:
            out = _grown(out, patterns.may_repeat)
        work.state[layout.FULL] = 0


def _fill(pattern: FlatPattern, columns: Longs) -> None:
    steps = len(pattern.steps)
    gaps = pattern.gaps or ((),) * (steps + 1)
    duplicates = pattern.duplicates or ("all",) * steps
    choice = pattern.choice_order or tuple(range(steps))
    _check(pattern, gaps, duplicates, choice)
    negated = [operand for gap in gaps for operand in gap]
    operands = [*pattern.steps, *negated]
    columns[layout.KIND] = _KINDS.index(pattern.kind)
    columns[layout.STEPS], columns[layout.NEGATED], columns[layout.OPERANDS] = steps, len(negated), len(operands)
    columns[layout.WITHIN] = min(pattern.within_us, layout.LONGEST_US)
    columns[layout.CONSUME] = _CONSUME.index(pattern.consume)
    columns[layout.LIMIT] = pattern.limit
    columns[layout.TIES], columns[layout.TRAILING] = pattern.has_ties, bool(gaps[-1])
    columns[layout.COLLECTS] = sum(one == "collect" for one in duplicates)
    columns[layout.POSITIVE] = np.bitwise_or.reduce(np.int64(1) << np.array(pattern.steps, np.int64))
    columns[layout.GAPS : layout.GAPS + steps + 2] = np.cumsum([steps, *map(len, gaps)])
    for step, one in enumerate(duplicates):
        columns[layout.MODE + step], columns[layout.LOW + step], columns[layout.HIGH + step] = _mode(one)
    columns[layout.CHOICE : layout.CHOICE + steps] = choice
    columns[layout.BY_BIT : layout.BY_BIT + steps] = np.argsort(pattern.steps)
    columns[layout.BITS : layout.BITS + len(operands)] = operands


def _check(
    pattern: FlatPattern, gaps: Sequence[Sequence[int]], duplicates: Sequence[object], choice: Sequence[int]
) -> None:
    """Refuses what is not a flat pattern: that is a fault of the code that made it."""
    steps = len(pattern.steps)
    operands = [*pattern.steps, *(operand for gap in gaps for operand in gap)]
    sequence = pattern.kind == "sequence"
    fits = (
        1 <= steps <= layout.MOST_STEPS
        and len(set(operands)) == len(operands)
        and all(0 <= operand < layout.MOST_OPERANDS for operand in operands)
        and len(gaps) == steps + 1
        and len(duplicates) == steps
        and (list(choice) if sequence else sorted(choice)) == list(range(steps))
        and (sequence or not any(gaps))
        and (not gaps[-1] or pattern.within_us >= 0)
        and (pattern.limit == -1 or pattern.limit >= 1)
    )
    if not fits:
        raise ValueError(f"not a flat pattern: {pattern}")


def _mode(duplicates: str | int | tuple[int, int]) -> tuple[int, int, int]:
    if isinstance(duplicates, str):
        return _MODES[duplicates]
    first, last = (duplicates, duplicates) if isinstance(duplicates, int) else duplicates
    if 0 < first <= last:
        return layout.FROM_FIRST, first, last
    if first <= last < 0:
        return layout.FROM_LAST, -last, -first
    raise ValueError(f"no positions: {first}..{last}")


def _work(rows: FlatRows, positions: int) -> GroupWork:
    count = len(rows.time_us)
    return GroupWork(
        time=rows.time_us,
        tie=rows.tie,
        mask=rows.mask,
        first=np.empty(count, np.int32),
        seen=np.zeros(count, np.int32),
        slots=np.zeros((layout.SLOTS, layout.MOST_OPERANDS), np.int64),
        lists=np.zeros((layout.LISTS, positions), np.int32),
        state=np.zeros(layout.CELLS, np.int64),
    )


def _with_longer_lists(work: GroupWork) -> GroupWork:
    positions = int(work.state[layout.NEED]) * 3 // 2
    return work._replace(lists=np.zeros((layout.LISTS, positions), np.int32))


def _out(count: int, reports: int, members: int, may_repeat: bool) -> Out:
    repeating = reports if may_repeat else 0
    return Out(
        group=np.empty(reports, np.int32),
        start=np.empty(reports, np.int64),
        end=np.empty(reports, np.int64),
        offsets=np.zeros(reports + 1, np.int64),
        operand=np.empty(members, np.uint8),
        row=np.empty(members, np.int64),
        hash=np.empty(repeating, np.int64),
        distinct=np.empty(repeating, np.int32),
        table=np.full(1 << (2 * repeating).bit_length(), -1, np.int32),
        after=np.zeros(count, np.int64),
    )


def _grown(out: Out, may_repeat: bool) -> Out:
    """Larger buffers with what is in these; of the table nothing is needed for the next group."""
    found = _out(len(out.after), _GROWTH * len(out.group), _GROWTH * len(out.row), may_repeat)
    for old, new in zip(out, found):
        if old is not out.table:
            _copy(old, new)
    return found


def _copy(old: Any, new: Any) -> None:
    new[: len(old)] = old


def _reports(work: GroupWork, out: Out) -> FlatReports:
    reports, members = int(work.state[layout.REPORTS]), int(work.state[layout.MEMBERS])
    return FlatReports(
        group=out.group[:reports],
        start_us=out.start[:reports],
        end_us=out.end[:reports],
        offsets=out.offsets[: reports + 1],
        operand=out.operand[:members],
        row=out.row[:members],
        mask_after=out.after,
    )
