"""The closing of a flat sequence: which events its steps choose, and the reports of what is left.

What a step has chosen is a run of positions, because between two candidates only events stand that no occurrence has.
Whether an event has a beginning (events for all earlier steps) or an end (for all later ones) is found when it is
asked for, and remembered until the next closing: so a step that takes the first or the last event looks at few others.

A run is LO to HI of a step. Whether a gap is free of what it forbids is a question about two neighbours: whether the
earlier one is before the last forbidden event ahead of the later one, or the later one behind the first forbidden event
after the earlier one. A forbidden event at the point of either does no harm, because neither of the two is before the
other; hence `>=` and `<=` where points are compared with it.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import inlined, kernel
from comity.pattern.flat.kernels.layout import (
    ALL,
    AT,
    COLLECT,
    COLLECTS,
    EARLIEST,
    EARLIEST_STAMP,
    END,
    FROM_FIRST,
    FULL,
    GAPS,
    HEAD,
    HI,
    HIGH,
    LATEST,
    LATEST_STAMP,
    LO,
    LOW,
    MODE,
    NEXT,
    NOW,
    PREVIOUS,
    STEPS,
)
from comity.pattern.flat.kernels.lists import (
    first_absent,
    first_from,
    last_absent,
    narrow,
    next_absent,
    point_at,
    report_steps,
    take,
)


@inlined
def close_sequence(w: Any, pattern: Any, out: Any) -> None:
    """Reports what a sequence closes with; the last step has the run from LO to HI."""
    w.state[NOW] += 1
    if not bound_runs(w, pattern):
        return
    for step in range(pattern[STEPS]):
        if pattern[MODE + step] == ALL or pattern[MODE + step] == COLLECT:
            continue
        if not choose_events(w, pattern, step):
            return
    report_sequences(w, pattern, out)


@inlined
def bound_runs(w: Any, pattern: Any) -> Any:
    """Gives each step the run of events that can be before the last step's; false if one has none."""
    last = pattern[STEPS] - 1
    point = point_at(w, w.slots[HI, last])
    for step in range(last):
        w.slots[LO, step] = w.slots[HEAD, step]
        w.slots[HI, step] = first_from(w, step, point) - 1
        if w.slots[HI, step] < w.slots[LO, step]:
            return False
    if pattern[GAPS] < pattern[GAPS + 1]:
        absent = first_absent(w, pattern, 0)
        w.slots[HI, 0] = min(w.slots[HI, 0], first_from(w, 0, absent + 1) - 1)
    return w.slots[HI, 0] >= w.slots[LO, 0]


@kernel
def choose_events(w: Any, pattern: Any, step: Any) -> Any:
    """Narrows the run of a step to the candidates at the positions that it takes; false if there are none."""
    forward = pattern[MODE + step] == FROM_FIRST
    at = w.slots[LO, step] if forward else w.slots[HI, step]
    move = 1 if forward else -1
    count = 0
    begin = at
    end = -1
    while w.slots[LO, step] <= at <= w.slots[HI, step] and count < pattern[HIGH + step]:
        if has_beginning(w, pattern, step, at) and has_end(w, pattern, step, at):
            count, begin = take(pattern, step, at, count, begin)
            end = at
        at += move
    narrow(w, step, forward, begin, end)
    return count >= pattern[LOW + step]


@inlined
def has_beginning(w: Any, pattern: Any, step: Any, at: Any) -> Any:
    """Whether the earlier steps have events for the one at a position."""
    if step == 0:
        return True
    point = point_at(w, at)
    before = min(first_from(w, step - 1, point) - 1, w.slots[HI, step - 1])
    if before < w.slots[LO, step - 1]:
        return False
    found = latest(w, pattern, step - 1, before)
    return found >= 0 and point_at(w, found) >= last_absent(w, pattern, step, point)


@kernel
def latest(w: Any, pattern: Any, step: Any, begin: Any) -> Any:
    """The last position up to `begin` in the run of a step that has a beginning, or -1."""
    if step == 0:
        return begin
    found = -1
    at = begin
    while at >= w.slots[LO, step]:
        if w.lists[LATEST_STAMP, at] == w.state[NOW]:
            found = w.lists[LATEST, at]
            break
        point = point_at(w, at)
        before = min(first_from(w, step - 1, point) - 1, w.slots[HI, step - 1])
        if before < w.slots[LO, step - 1]:
            break
        earlier = latest(w, pattern, step - 1, before)
        if earlier < 0:  # what is before this one has no beginning either
            break
        if point_at(w, earlier) >= last_absent(w, pattern, step, point):
            found = at
            break
        at -= 1
    for known in range(max(at, w.slots[LO, step]), begin + 1):
        w.lists[LATEST, known] = found
        w.lists[LATEST_STAMP, known] = w.state[NOW]
    return found


@inlined
def has_end(w: Any, pattern: Any, step: Any, at: Any) -> Any:
    """Whether the later steps have events for the one at a position."""
    if step == pattern[STEPS] - 1:
        return True
    point = point_at(w, at)
    after = max(first_from(w, step + 1, point + 1), w.slots[LO, step + 1])
    if after > w.slots[HI, step + 1]:
        return False
    found = earliest(w, pattern, step + 1, after)
    return found >= 0 and point_at(w, found) <= next_absent(w, pattern, step + 1, point)


@kernel
def earliest(w: Any, pattern: Any, step: Any, begin: Any) -> Any:
    """The first position from `begin` on in the run of a step that has an end, or -1."""
    if step == pattern[STEPS] - 1:
        return begin
    found = -1
    at = begin
    while at <= w.slots[HI, step]:
        if w.lists[EARLIEST_STAMP, at] == w.state[NOW]:
            found = w.lists[EARLIEST, at]
            break
        point = point_at(w, at)
        after = max(first_from(w, step + 1, point + 1), w.slots[LO, step + 1])
        if after > w.slots[HI, step + 1]:
            break
        later = earliest(w, pattern, step + 1, after)
        if later < 0:  # what is behind this one has no end either
            break
        if point_at(w, later) <= next_absent(w, pattern, step + 1, point):
            found = at
            break
        at += 1
    for known in range(begin, min(at, w.slots[HI, step]) + 1):
        w.lists[EARLIEST, known] = found
        w.lists[EARLIEST_STAMP, known] = w.state[NOW]
    return found


@inlined
def report_sequences(w: Any, pattern: Any, out: Any) -> None:
    """Reports what is left, from the last step to the first; a step that collects has one way, all its events."""
    last = pattern[STEPS] - 1
    step = last
    enter(w, pattern, step)
    while step <= last and w.state[FULL] == 0:
        if not advance(w, pattern, step):
            step += 1
        elif step > 0:
            step -= 1
            enter(w, pattern, step)
        else:
            report_one(w, pattern, out)


@inlined
def enter(w: Any, pattern: Any, step: Any) -> None:
    """Puts a step before the first of the events that fit what the later steps have."""
    low = w.slots[LO, step]
    w.slots[END, step] = w.slots[HI, step]
    if step < pattern[STEPS] - 1 and pattern[MODE + step + 1] != COLLECT:
        point = point_at(w, w.slots[AT, step + 1])
        w.slots[END, step] = min(w.slots[HI, step], first_from(w, step, point) - 1)
        absent = last_absent(w, pattern, step + 1, point)
        if absent >= 0:
            low = max(low, first_from(w, step, absent))
    w.slots[AT, step] = low - 1


@inlined
def advance(w: Any, pattern: Any, step: Any) -> Any:
    """Goes on to the next event of a step that has a beginning and fits; false if there is none."""
    if pattern[MODE + step] == COLLECT:
        return mark_linked(w, pattern, step)
    at = w.slots[AT, step] + 1
    while at <= w.slots[END, step] and not (is_linked(w, pattern, step, at) and has_beginning(w, pattern, step, at)):
        at += 1
    w.slots[AT, step] = at
    return at <= w.slots[END, step]


@inlined
def is_linked(w: Any, pattern: Any, step: Any, at: Any) -> Any:
    """Whether a later step that collects has an event for the one at a position; of others `enter` took care."""
    if step == pattern[STEPS] - 1 or pattern[MODE + step + 1] != COLLECT:
        return True
    point = point_at(w, at)
    after = max(first_from(w, step + 1, point + 1), w.slots[LO, step + 1])
    if after > w.slots[HI, step + 1] or w.lists[NEXT, after] < 0:
        return False
    return point_at(w, w.lists[NEXT, after]) <= next_absent(w, pattern, step + 1, point)


@kernel
def mark_linked(w: Any, pattern: Any, step: Any) -> Any:
    """Marks the events of a step that collects which fit the later steps; false the second time, or if there are none.

    NEXT is, by position, the next of them.
    """
    if w.slots[AT, step] > w.slots[END, step]:
        return False
    begin = w.slots[AT, step] + 1
    found = -1
    for at in range(w.slots[HI, step], w.slots[LO, step] - 1, -1):
        if begin <= at <= w.slots[END, step] and is_linked(w, pattern, step, at):
            found = at
        w.lists[NEXT, at] = found
    w.slots[AT, step] = w.slots[END, step] + 1
    return found >= 0


@inlined
def report_one(w: Any, pattern: Any, out: Any) -> None:
    """Reports the events where the steps are."""
    if pattern[COLLECTS] > 0:
        for step in range(pattern[STEPS]):
            if pattern[MODE + step] == COLLECT:
                mark_begun(w, pattern, step)
    report_steps(w, pattern, out, LO, HI)


@kernel
def mark_begun(w: Any, pattern: Any, step: Any) -> None:
    """Marks the events of a step that collects which fit the earlier steps, too: PREVIOUS is the one before."""
    found = -1
    for at in range(w.slots[LO, step], w.slots[HI, step] + 1):
        if w.lists[NEXT, at] == at and is_begun(w, pattern, step, at):
            found = at
        w.lists[PREVIOUS, at] = found


@inlined
def is_begun(w: Any, pattern: Any, step: Any, at: Any) -> Any:
    """Whether the step before has an event for the one at a position, among those of this report."""
    if step == 0:
        return True
    point = point_at(w, at)
    before = w.slots[AT, step - 1]
    if pattern[MODE + step - 1] == COLLECT:
        before = min(first_from(w, step - 1, point) - 1, w.slots[HI, step - 1])
        if before < w.slots[LO, step - 1]:
            return False
        before = w.lists[PREVIOUS, before]
    return before >= 0 and point_at(w, before) < point and point_at(w, before) >= last_absent(w, pattern, step, point)
