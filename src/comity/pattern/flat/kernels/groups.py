"""Flat patterns over groups of rows, a group after the other, a point of time after the other.

A group is the rows `offsets[group]` to `offsets[group + 1] - 1`, which have one correlation key; it belongs to one
pattern. Its rows up to `done` were given before, and are only put back into the lists of their operands; those behind
`upto` wait. All events of a point come before anything closes with one of them, because none of them is earlier than
another.

What holds before each point: the list of an operand has all rows that can still take part in an occurrence, and perhaps
others. An event whose step before has none earlier is never put into a list (`can_follow`); what is too old is dropped
when the pattern may close, not when time goes by.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import inlined, kernel
from comity.pattern.flat.kernels.conjunction import close_conjunction
from comity.pattern.flat.kernels.layout import (
    BITS,
    CLOSED,
    CLOSES,
    CONJUNCTION,
    CONSUME,
    COUNT,
    DELETE,
    END_US,
    FULL,
    GAPS,
    GROUP,
    HEAD,
    HI,
    KEEP,
    KIND,
    LIMIT,
    LISTS_FULL,
    LO,
    MEMBERS,
    NEED,
    OPERANDS,
    OVERLAP,
    POINT,
    POSITIVE,
    REPORTS,
    ROW,
    SEQUENCE,
    STEPS,
    TAIL,
    TIES,
    TRAILING,
    WITHIN,
)
from comity.pattern.flat.kernels.lists import drop_participants, first_from
from comity.pattern.flat.kernels.retain import expire, expire_before, retain
from comity.pattern.flat.kernels.sequence import close_sequence


@kernel
def detect_groups(
    patterns: Any, offsets: Any, pattern_of_group: Any, w: Any, out: Any, begin: Any, done: Any, upto: Any
) -> Any:
    """Detects from the group `begin` on; gives the group that did not fit into the buffers, or the number of groups."""
    for group in range(begin, len(offsets) - 1):
        pattern = patterns[pattern_of_group[group]]
        end = offsets[group + 1]
        reports = w.state[REPORTS]
        members = w.state[MEMBERS]
        w.state[GROUP] = group
        row = load_group(w, pattern, offsets[group], end, done)
        while w.state[FULL] == 0:
            row = go_on(w, pattern, row, end, upto)
            if not w.state[CLOSES]:
                retain(w, pattern, out, offsets[group], row, end, upto)
                break
            close(w, pattern, out)
        if w.state[FULL] != 0:
            # The group is done again from its beginning, with larger buffers: none of its reports may stay.
            w.state[REPORTS] = reports
            w.state[MEMBERS] = members
            return group
    return len(offsets) - 1


@kernel
def load_group(w: Any, pattern: Any, begin: Any, end: Any, done: Any) -> Any:
    """Gives the operands of a group what earlier calls left, and the first row that is new."""
    row = begin
    if lay_out(w, pattern, begin, end):
        while row < end and w.time[row] <= done:
            stop = end_of_point(w, pattern, row, end)
            add_point(w, pattern, row, stop)
            row = stop
        if pattern[TRAILING]:
            drop_fired(w, pattern, done)
    return row


@inlined
def go_on(w: Any, pattern: Any, begin: Any, end: Any, upto: Any) -> Any:
    """Adds events until the pattern may close, or there are no more; gives the next row."""
    row = begin
    w.state[CLOSES] = 0
    while not w.state[CLOSES]:
        comes = row < end and w.time[row] <= upto
        # An event at the very time when an absence ends still breaks it, so it is taken first.
        if pattern[TRAILING] and is_due(w, pattern, upto) and not (comes and w.time[row] <= due_us(w, pattern)):
            end_absence(w, pattern)
        elif comes:
            stop = end_of_point(w, pattern, row, end)
            pass_point(w, pattern, row, stop)
            row = stop
        else:
            break
    return row


@kernel
def lay_out(w: Any, pattern: Any, begin: Any, end: Any) -> Any:
    """Empties the lists of the operands, each with room for its rows; false if there is not enough."""
    count = pattern[OPERANDS]
    for operand in range(count):
        w.slots[COUNT, operand] = 0
    overlap = False
    for row in range(begin, end):
        mask = w.mask[row]
        positive = mask & pattern[POSITIVE]
        overlap = overlap or (positive & (positive - 1)) != 0
        for operand in range(count):
            w.slots[COUNT, operand] += (mask >> pattern[BITS + operand]) & 1
    at = 0
    for operand in range(count):
        w.slots[HEAD, operand] = at
        w.slots[TAIL, operand] = at
        at += w.slots[COUNT, operand]
    w.state[OVERLAP] = overlap
    if at > w.lists.shape[1]:
        w.state[FULL] = LISTS_FULL
        w.state[NEED] = at
        return False
    return True


@inlined
def end_of_point(w: Any, pattern: Any, row: Any, end: Any) -> Any:
    """The row behind those of the point of time of a row."""
    stop = row + 1
    while stop < end and w.time[stop] == w.time[row] and (not pattern[TIES] or w.tie[stop] == w.tie[row]):
        stop += 1
    return stop


@inlined
def pass_point(w: Any, pattern: Any, row: Any, stop: Any) -> None:
    """Adds the events of a point, and says whether the pattern may close with one of them."""
    last = pattern[STEPS] - 1
    if pattern[KIND] == SEQUENCE and not pattern[TRAILING]:
        # The last step is about the events of the point alone.
        w.slots[HEAD, last] = w.slots[TAIL, last]
    closes = add_point(w, pattern, row, stop)
    if pattern[LIMIT] >= 0:
        apply_limit(w, pattern)
    if closes and not pattern[TRAILING]:
        if pattern[WITHIN] >= 0:
            expire_before(w, pattern, w.time[row] - pattern[WITHIN])
        w.state[CLOSES] = 1
        w.state[END_US] = w.time[row]
        w.state[POINT] = row


@kernel
def add_point(w: Any, pattern: Any, begin: Any, stop: Any) -> Any:
    """Adds the events of a point to the lists of their operands; gives whether the pattern may close with them."""
    steps = pattern[STEPS]
    absent = pattern[GAPS + steps] if pattern[TRAILING] else pattern[OPERANDS]
    closes = False
    broken = False
    for row in range(begin, stop):
        w.first[row] = begin
        mask = w.mask[row]
        for operand in range(pattern[OPERANDS]):
            if ((mask >> pattern[BITS + operand]) & 1) == 0:
                continue
            if operand >= absent:
                broken = True
            elif operand >= steps or can_follow(w, pattern, operand, begin):
                w.lists[ROW, w.slots[TAIL, operand]] = row
                w.slots[TAIL, operand] += 1
                closes = closes or (operand < steps and (pattern[KIND] == CONJUNCTION or operand == steps - 1))
    if broken:
        # What waits for this absence waits no longer, and the event is not needed for anything else.
        w.slots[HEAD, steps - 1] = first_from(w, steps - 1, begin)
    return closes


@inlined
def can_follow(w: Any, pattern: Any, step: Any, begin: Any) -> Any:
    """Whether the step before has an earlier event; without one, an event of this step never takes part."""
    if pattern[KIND] == CONJUNCTION or step == 0:
        return True
    head = w.slots[HEAD, step - 1]
    return head < w.slots[TAIL, step - 1] and w.lists[ROW, head] < begin


@inlined
def apply_limit(w: Any, pattern: Any) -> None:
    """Leaves each operand its last events."""
    for operand in range(pattern[OPERANDS]):
        w.slots[HEAD, operand] = max(w.slots[HEAD, operand], w.slots[TAIL, operand] - pattern[LIMIT])


@inlined
def due_us(w: Any, pattern: Any) -> Any:
    """When the next absence ends; there must be one."""
    return w.time[w.lists[ROW, w.slots[HEAD, pattern[STEPS] - 1]]] + pattern[WITHIN]


@inlined
def is_due(w: Any, pattern: Any, upto: Any) -> Any:
    """Whether an absence ends by then."""
    last = pattern[STEPS] - 1
    return w.slots[HEAD, last] < w.slots[TAIL, last] and due_us(w, pattern) <= upto


@inlined
def drop_fired(w: Any, pattern: Any, upto: Any) -> None:
    """Removes the events of the last step whose absences ended by then."""
    while is_due(w, pattern, upto):
        w.slots[HEAD, pattern[STEPS] - 1] += 1


@inlined
def end_absence(w: Any, pattern: Any) -> None:
    """Says that the pattern may close with the absences that end next."""
    w.state[CLOSES] = 1
    w.state[END_US] = due_us(w, pattern)
    # The last step was one frame ago; of what must not be before the first one, only one frame before that counts.
    for operand in range(pattern[GAPS], pattern[GAPS + 1]):
        expire(w, operand, w.state[END_US] - 2 * pattern[WITHIN])


@inlined
def close(w: Any, pattern: Any, out: Any) -> None:
    """Reports what closes now, and removes what that consumes."""
    now = w.state[END_US]
    while True:
        w.state[CLOSED] = w.state[REPORTS]
        if pattern[KIND] == CONJUNCTION:
            close_conjunction(w, pattern, out, w.state[POINT])
        elif bound_last_step(w, pattern, now):
            close_sequence(w, pattern, out)
        if w.state[FULL] != 0 or w.state[REPORTS] == w.state[CLOSED] or pattern[CONSUME] == KEEP:
            break
        if pattern[CONSUME] == DELETE:
            for step in range(pattern[STEPS]):
                w.slots[HEAD, step] = w.slots[TAIL, step]
            break
        drop_participants(w, pattern, out)
    if pattern[TRAILING]:
        drop_fired(w, pattern, now)


@inlined
def bound_last_step(w: Any, pattern: Any, now: Any) -> Any:
    """Gives the last step the run of events that the sequence closes with now; false if there are none."""
    last = pattern[STEPS] - 1
    low = w.slots[HEAD, last]
    high = w.slots[TAIL, last] - 1
    if pattern[TRAILING]:
        high = low - 1
        while high + 1 < w.slots[TAIL, last] and w.time[w.lists[ROW, high + 1]] + pattern[WITHIN] <= now:
            high += 1
    w.slots[LO, last] = low
    w.slots[HI, last] = high
    return low <= high
