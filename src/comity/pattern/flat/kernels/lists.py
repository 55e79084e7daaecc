"""The events that the operands of a group have now, in order, and the reports that are being made of them.

Lists are ascending in rows, and so in points of time; everything here bisects them. A report is written member by
member behind the last one, and exists when `end_report` has counted it: what was begun is overwritten otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from comity.compiled import inlined, kernel
from comity.pattern.flat.kernels.layout import (
    AT,
    BITS,
    BY_BIT,
    CLOSED,
    COLLECT,
    COLLECTS,
    CONJUNCTION,
    END_US,
    FULL,
    GAPS,
    GROUP,
    HEAD,
    HI,
    KIND,
    LO,
    LOW,
    MARK,
    MEMBERS,
    MODE,
    OVERLAP,
    PREVIOUS,
    REPORTS,
    REPORTS_FULL,
    ROW,
    STEPS,
    TAIL,
)

_NEVER = 1 << 40
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)


@inlined
def point_at(w: Any, at: Any) -> Any:
    """The point of time of the event at a position."""
    return np.int64(w.first[w.lists[ROW, at]])


@inlined
def first_from(w: Any, operand: Any, point: Any) -> Any:
    """The first position of an operand whose event is at the point or later, or the end of its list."""
    low = w.slots[HEAD, operand]
    high = w.slots[TAIL, operand]
    if high > low and point_at(w, high - 1) < point:  # no need to bisect what is all before the point
        return high
    while low < high:
        middle = (low + high) >> 1
        if point_at(w, middle) < point:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def last_absent(w: Any, pattern: Any, gap: Any, point: Any) -> Any:
    """The point of the last event before `point` that the gap forbids, or -1."""
    found = np.int64(-1)
    for operand in range(pattern[GAPS + gap], pattern[GAPS + gap + 1]):
        at = first_from(w, operand, point) - 1
        if at >= w.slots[HEAD, operand]:
            found = max(found, point_at(w, at))
    return found


@inlined
def next_absent(w: Any, pattern: Any, gap: Any, point: Any) -> Any:
    """The point of the first event after `point` that the gap forbids, or one that is never reached."""
    found = np.int64(_NEVER)
    for operand in range(pattern[GAPS + gap], pattern[GAPS + gap + 1]):
        at = first_from(w, operand, point + 1)
        if at < w.slots[TAIL, operand]:
            found = min(found, point_at(w, at))
    return found


@inlined
def first_absent(w: Any, pattern: Any, gap: Any) -> Any:
    """The point of the first event that the gap forbids, or one that is never reached."""
    found = np.int64(_NEVER)
    for operand in range(pattern[GAPS + gap], pattern[GAPS + gap + 1]):
        if w.slots[HEAD, operand] < w.slots[TAIL, operand]:
            found = min(found, point_at(w, w.slots[HEAD, operand]))
    return found


@kernel
def drop_event(w: Any, operand: Any, row: Any) -> None:
    """Takes an event out of the list of an operand, if it is in it; the shorter side of the list moves."""
    head = w.slots[HEAD, operand]
    tail = w.slots[TAIL, operand]
    low = head
    high = tail
    while low < high:
        middle = (low + high) >> 1
        if w.lists[ROW, middle] < row:
            low = middle + 1
        else:
            high = middle
    if low == tail or w.lists[ROW, low] != row:
        return
    if low - head < tail - low:
        for at in range(low, head, -1):
            w.lists[ROW, at] = w.lists[ROW, at - 1]
        w.slots[HEAD, operand] = head + 1
    else:
        for at in range(low, tail - 1):
            w.lists[ROW, at] = w.lists[ROW, at + 1]
        w.slots[TAIL, operand] = tail - 1


@kernel
def drop_participants(w: Any, pattern: Any, out: Any) -> None:
    """Removes the events of the reports of this closing from all steps."""
    for member in range(out.offsets[w.state[CLOSED]], w.state[MEMBERS]):
        row = out.row[member]
        for step in range(pattern[STEPS]):
            if (w.mask[row] >> pattern[BITS + step]) & 1:
                drop_event(w, step, row)


@inlined
def add_member(w: Any, out: Any, bit: Any, at: Any) -> None:
    """Adds the event at a position to the report that is being made."""
    member = w.state[MEMBERS]
    if member >= len(out.row):
        w.state[FULL] = REPORTS_FULL
        return
    out.operand[member] = bit
    out.row[member] = w.lists[ROW, at]
    w.state[MEMBERS] = member + 1


@inlined
def add_step(w: Any, pattern: Any, out: Any, step: Any, low: Any, high: Any, taken: Any) -> None:
    """Adds the events at the positions `low` to `high` that stand for themselves in row `taken` of the lists."""
    for at in range(low, high + 1):
        if w.lists[taken, at] == at:
            add_member(w, out, pattern[BITS + step], at)


@inlined
def report_steps(w: Any, pattern: Any, out: Any, low: Any, high: Any) -> None:
    """Makes a report of the events where the steps are, and of all marked ones of those which collect.

    `low` and `high` are the rows of `slots` with the ends of what a step can collect.
    """
    for number in range(pattern[STEPS]):
        step = pattern[BY_BIT + number]
        if pattern[MODE + step] == COLLECT:
            add_step(w, pattern, out, step, w.slots[low, step], w.slots[high, step], PREVIOUS)
        else:
            add_member(w, out, pattern[BITS + step], w.slots[AT, step])
    end_report(w, pattern, out)


@inlined
def take(pattern: Any, step: Any, at: Any, count: Any, begin: Any) -> Any:
    """Counts one more candidate of a step: how many there are, and where the first is that the step takes."""
    count += 1
    return count, at if count == pattern[LOW + step] else begin


@inlined
def narrow(w: Any, step: Any, forward: Any, begin: Any, end: Any) -> None:
    """Makes the run of a step what lies between two positions, the second of which is before if it went backward."""
    w.slots[LO, step] = begin if forward else end
    w.slots[HI, step] = end if forward else begin


@inlined
def end_report(w: Any, pattern: Any, out: Any) -> None:
    """Makes a report of the members added since the last one, unless this closing has one of the same events."""
    report = w.state[REPORTS]
    if w.state[FULL] != 0:
        return
    if report + 1 >= len(out.group):
        w.state[FULL] = REPORTS_FULL
        return
    begin = out.offsets[report]
    least = out.row[begin]
    for member in range(begin + 1, w.state[MEMBERS]):
        least = min(least, out.row[member])
    if w.state[OVERLAP] and (pattern[KIND] == CONJUNCTION or pattern[COLLECTS] > 1) and is_repeated(w, out, begin):
        w.state[MEMBERS] = begin
        return
    out.group[report] = w.state[GROUP]
    out.start[report] = w.time[least]
    out.end[report] = w.state[END_US]
    out.offsets[report + 1] = w.state[MEMBERS]
    w.state[REPORTS] = report + 1


@kernel
def is_repeated(w: Any, out: Any, begin: Any) -> Any:
    """Whether an earlier report of this closing has the events added since `begin`; else it goes into the table."""
    report = w.state[REPORTS]
    w.state[MARK] += 1
    mark = w.state[MARK]
    total = np.uint64(0)
    count = 0
    for member in range(begin, w.state[MEMBERS]):
        row = out.row[member]
        if w.seen[row] != mark:
            w.seen[row] = mark
            mixed = np.uint64(row + 1) * _GOLDEN
            total += (mixed ^ (mixed >> _SHIFT)) * _MIX
            count += 1
    out.hash[report] = np.int64(total)
    out.distinct[report] = count
    mask = len(out.table) - 1
    at = np.int64(total ^ (total >> _SHIFT)) & mask
    # What earlier closings left in the table counts as empty.
    while w.state[CLOSED] <= out.table[at] < report:
        if has_marked(w, out, out.table[at]):
            return True
        at = (at + 1) & mask
    out.table[at] = report
    return False


@inlined
def has_marked(w: Any, out: Any, other: Any) -> Any:
    """Whether a report has exactly the events that were marked last."""
    report = w.state[REPORTS]
    if out.hash[other] != out.hash[report] or out.distinct[other] != out.distinct[report]:
        return False
    same = True
    for member in range(out.offsets[other], out.offsets[other + 1]):
        same = same and w.seen[out.row[member]] == w.state[MARK]
    return same
