"""Where the kernels of flat patterns find things: the columns of a pattern, and the rows of their buffers.

A row is an event of a group, and its number is global: rows are ordered by group, time, tie-break and rank, so of two
rows of a group the greater one is never the earlier. A position is a place in `lists`; the list of an operand holds the
rows that it may still take, in ascending order, so that both a row and a point of time are found in it by bisection. A
point of time is written as the number of its first row (`GroupWork.first`): rows of one point are equal in it, and
order is kept. All times are microseconds. Reports are those that REPORTS and MEMBERS count: what was begun is not
counted yet, and when a group does not fit into the buffers, they are set back and it is done again with larger ones.
"""

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
# WITHIN and LIMIT are -1 when there is none. TRAILING: the last gap has operands, so the pattern closes with time, not
# with an event. COLLECTS counts the steps that collect, NEGATED the negated operands; POSITIVE is a mask of the steps.
# GAPS + g to GAPS + g + 1 are the operands of gap g, which lies before step g; the last gap lies behind all steps.
# By step: MODE, and LOW and HIGH, the first and the last position that it takes, counted from 1 from the side that MODE
# says. CHOICE: the steps in the order in which they choose. BY_BIT: the steps in the order of their bits, which is that
# of the members of a report. By operand: BITS, its bit in the masks of rows.
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
# LO to HI is the run that a step still chooses from while the pattern closes, within HEAD to TAIL - 1; SAVED_LO and
# SAVED_HI keep it where a conjunction tries single events. AT is where a step is in the search for occurrences, END the
# last position that it may go to (in `are_distinct`, where it is). NEWEST is the first position at the closing point.
# COUNT is how many rows of the group are candidates, which is the room that its list gets.
HEAD, TAIL, LO, HI, AT, END, SAVED_LO, SAVED_HI, NEWEST, COUNT = range(10)
SLOTS = 10

# Rows of `lists`, by position. ROW is the event. The others are remembered results, which hold during one closing:
# LATEST is the last position up to this one that has a beginning, EARLIEST the first from here on that has an end, or
# -1, each if its stamp is that closing's number (NOW). NEXT and PREVIOUS mark what a step collects: a position that
# stands for itself is taken.
ROW, LATEST, LATEST_STAMP, EARLIEST, EARLIEST_STAMP, NEXT, PREVIOUS = range(7)
LISTS = 7

# Cells of `state`. NOW numbers closings of sequences. FULL says which buffer was too small, NEED how many positions the
# lists must have. REPORTS and MEMBERS are how many there are, CLOSED how many reports before this closing. CLOSES:
# whether the pattern may close now, at END_US and, with an event, at the row POINT. OVERLAP: whether a row of the group
# is a candidate for several steps. MARK numbers the reports that were compared with others, for `seen`.
NOW, FULL, REPORTS, MEMBERS, CLOSES, END_US, POINT, CLOSED, OVERLAP, GROUP, MARK, NEED = range(12)
CELLS = 12

REPORTS_FULL, LISTS_FULL = 1, 2


class GroupWork(NamedTuple):
    """What a kernel reads, and what it keeps of the group that it is at."""

    time: Longs
    """By row, as `tie`, which is read for patterns with a tie-break only."""
    tie: Longs
    mask: Longs
    """By row: the bits of the operands that it is a candidate for."""
    first: Ints
    """By row: the first row of its group at the same point of time. Comparing these is comparing points."""
    seen: Ints
    """By row: the last report that was compared with others and has it."""
    slots: Longs
    """SLOTS by MOST_OPERANDS."""
    lists: Any
    """LISTS by at least as many positions as the largest group needs: the sum of COUNT over its operands. 32 bits
    each."""
    state: Longs


class Out(NamedTuple):
    """Reports, and what tells equal ones."""

    group: Ints
    """By report, as `start` and `end`."""
    start: Longs
    end: Longs
    offsets: Longs
    """By report, its first member; and the number of members."""
    operand: Any
    """By member, as `row`: the bit of its operand."""
    row: Longs
    hash: Longs
    """By report: the sum of the hashes of its different rows, so that their order does not matter."""
    distinct: Ints
    """By report: how many different rows it has."""
    table: Ints
    """Reports by hash: open addressing, a power of two of places, at most half of them taken. Entries of earlier
    closings count as empty, so that nobody has to clear it."""
    after: Longs
    """By row: the mask of the operands that it is still needed for."""
