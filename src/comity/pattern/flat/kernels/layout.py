"""Where the kernels of flat patterns find things: the columns of a pattern, and the rows of their buffers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

MOST_STEPS = 8
MOST_OPERANDS = 64
LONGEST_US = 1 << 61
"""Longer frames are as good as this one: all times lie within a fraction of it."""

# Columns of a pattern. Its steps are its operands 0, 1, …; the negated ones follow, gap after gap.
KIND, STEPS, OPERANDS, WITHIN, CONSUME, LIMIT, TIES, TRAILING, COLLECTS, POSITIVE, NEGATED = range(11)
GAPS = 11
MODE = GAPS + MOST_STEPS + 2
LOW = MODE + MOST_STEPS
HIGH = LOW + MOST_STEPS
CHOICE = HIGH + MOST_STEPS
BY_BIT = CHOICE + MOST_STEPS
BITS = BY_BIT + MOST_STEPS
WIDTH = BITS + MOST_OPERANDS

SEQUENCE, CONJUNCTION = range(2)
ALL, FROM_FIRST, FROM_LAST, COLLECT = range(4)
KEEP, DELETE, REAPPLY = range(3)

# Rows of `slots`, by operand. The list of an operand is at the positions HEAD to TAIL - 1 of `lists`.
HEAD, TAIL, LO, HI, AT, END, SAVED_LO, SAVED_HI, NEWEST, COUNT = range(10)
SLOTS = 10

# Rows of `lists`, by position.
ROW, LATEST, LATEST_STAMP, EARLIEST, EARLIEST_STAMP, NEXT, PREVIOUS = range(7)
LISTS = 7

# Cells of `state`.
NOW, FULL, REPORTS, MEMBERS, CLOSES, END_US, POINT, CLOSED, OVERLAP, GROUP, MARK, NEED = range(12)
CELLS = 12

REPORTS_FULL, LISTS_FULL = 1, 2


class GroupWork(NamedTuple):
    """What a kernel reads, and what it keeps of the group that it is at."""

    time: Longs
    tie: Longs
    mask: Longs
    first: Ints
    """By row: the first row of its group at the same point of time. Comparing these is comparing points."""
    seen: Ints
    """By row: the last report that was compared with others and has it."""
    slots: Longs
    lists: Any
    state: Longs


class Out(NamedTuple):
    """Reports, and what tells equal ones."""

    group: Ints
    start: Longs
    end: Longs
    offsets: Longs
    operand: Any
    row: Longs
    hash: Longs
    distinct: Ints
    table: Ints
    after: Longs
