"""The closing of a flat conjunction: which events its operands choose, and the reports of what is left.

An occurrence has an event of the closing point, and no event twice. The latter costs something only in groups that
have events for several operands (OVERLAP).

A run is LO to HI of a step. Choosing narrows one run after the other, in the order CHOICE; after each, the runs
together hold at least one occurrence, or nothing is reported. To ask whether an event is part of one, its step's run is
made that event alone; while occurrences are searched for, SAVED_LO and SAVED_HI keep the runs.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import inlined, kernel
from comity.pattern.flat.kernels.layout import (
    ALL,
    AT,
    CHOICE,
    COLLECT,
    COLLECTS,
    END,
    FROM_FIRST,
    FULL,
    HEAD,
    HI,
    HIGH,
    LO,
    LOW,
    MODE,
    NEWEST,
    OVERLAP,
    PREVIOUS,
    ROW,
    SAVED_HI,
    SAVED_LO,
    STEPS,
    TAIL,
)
from comity.pattern.flat.kernels.lists import first_from, narrow, report_steps, take


@inlined
def close_conjunction(w: Any, pattern: Any, out: Any, point: Any) -> None:
    """Reports what a conjunction closes with at a point."""
    for step in range(pattern[STEPS]):
        w.slots[LO, step] = w.slots[HEAD, step]
        w.slots[HI, step] = w.slots[TAIL, step] - 1
        w.slots[NEWEST, step] = first_from(w, step, point)
        if w.slots[LO, step] > w.slots[HI, step]:
            return
    if not needs_newest(w, pattern):
        return
    for number in range(pattern[STEPS]):
        step = pattern[CHOICE + number]
        if pattern[MODE + step] == ALL or pattern[MODE + step] == COLLECT:
            continue
        if not (choose_events(w, pattern, step) and needs_newest(w, pattern)):
            return
    report_conjunctions(w, pattern, out)


@inlined
def newest(w: Any, step: Any) -> Any:
    """The first position in the run of an operand that is at the closing point, or one behind the run."""
    return max(w.slots[LO, step], w.slots[NEWEST, step])


@inlined
def needs_newest(w: Any, pattern: Any) -> Any:
    """Leaves the only operand with events of the closing point those alone; false if none has any."""
    only = -1
    count = 0
    for step in range(pattern[STEPS]):
        if newest(w, step) <= w.slots[HI, step]:
            only = step
            count += 1
    if count == 1:
        w.slots[LO, only] = newest(w, only)
    return count > 0


@kernel
def choose_events(w: Any, pattern: Any, step: Any) -> Any:
    """Narrows the run of an operand to the candidates at the positions that it takes; false if there are none."""
    low = w.slots[LO, step]
    high = w.slots[HI, step]
    forward = pattern[MODE + step] == FROM_FIRST
    at = low if forward else high
    move = 1 if forward else -1
    count = 0
    begin = at
    end = -1
    while low <= at <= high and count < pattern[HIGH + step]:
        w.slots[LO, step] = at
        w.slots[HI, step] = at
        if is_possible(w, pattern):
            count, begin = take(pattern, step, at, count, begin)
            end = at
        at += move
    narrow(w, step, forward, begin, end)
    return count >= pattern[LOW + step]


@inlined
def is_possible(w: Any, pattern: Any) -> Any:
    """Whether the runs, none of which is empty, hold an occurrence."""
    if w.state[OVERLAP]:
        return is_possible_apart(w, pattern)
    found = False
    for step in range(pattern[STEPS]):
        found = found or newest(w, step) <= w.slots[HI, step]
    return found


@kernel
def is_possible_apart(w: Any, pattern: Any) -> Any:
    """The same where an event can be in several runs."""
    for step in range(pattern[STEPS]):
        low = w.slots[LO, step]
        high = w.slots[HI, step]
        # The others take so many events at most that one of these is free: the last STEPS of a run stand for all of it.
        least = max(newest(w, step), high - pattern[STEPS] + 1)
        found = False
        for at in range(high, least - 1, -1):
            w.slots[LO, step] = at
            w.slots[HI, step] = at
            found = are_distinct(w, pattern)
            if found:
                break
        w.slots[LO, step] = low
        w.slots[HI, step] = high
        if found:
            return True
    return False


@kernel
def are_distinct(w: Any, pattern: Any) -> Any:
    """Whether each operand can have an event of its own.

    A search with backtracking, a step after the other; END is the position that a step has, or behind its run when it
    has so many events that it need not say which.
    """
    step = 0
    w.slots[END, 0] = w.slots[LO, 0] - 1
    while 0 <= step < pattern[STEPS]:
        if w.slots[HI, step] - w.slots[LO, step] + 1 >= pattern[STEPS]:
            # One of so many is free in any case. On the way back there is nothing else to try.
            if w.slots[END, step] >= w.slots[LO, step]:
                step -= 1
                continue
            w.slots[END, step] = w.slots[HI, step] + 1
        else:
            at = w.slots[END, step] + 1
            while at <= w.slots[HI, step] and is_used(w, step, at):
                at += 1
            w.slots[END, step] = at
            if at > w.slots[HI, step]:
                step -= 1
                continue
        step += 1
        if step < pattern[STEPS]:
            w.slots[END, step] = w.slots[LO, step] - 1
    return step >= 0


@inlined
def is_used(w: Any, step: Any, at: Any) -> Any:
    """Whether an earlier operand has the event at a position."""
    row = w.lists[ROW, at]
    for other in range(step):
        if w.slots[END, other] <= w.slots[HI, other] and w.lists[ROW, w.slots[END, other]] == row:
            return True
    return False


@inlined
def report_conjunctions(w: Any, pattern: Any, out: Any) -> None:
    """Reports what is left, in the order in which the operands chose."""
    steps = pattern[STEPS]
    final = last_with_newest(w, pattern)
    for step in range(steps):
        w.slots[SAVED_LO, step] = w.slots[LO, step]
        w.slots[SAVED_HI, step] = w.slots[HI, step]
    number = 0
    enter(w, pattern, number, final)
    while number >= 0 and w.state[FULL] == 0:
        if not advance(w, pattern, number):
            number -= 1
        elif number < steps - 1:
            number += 1
            enter(w, pattern, number, final)
        else:
            report_one(w, pattern, out)
    for step in range(steps):
        w.slots[LO, step] = w.slots[SAVED_LO, step]
        w.slots[HI, step] = w.slots[SAVED_HI, step]


@inlined
def last_with_newest(w: Any, pattern: Any) -> Any:
    """The number of the last operand with events of the closing point; none, if one of those collects."""
    found = -1
    for number in range(pattern[STEPS]):
        step = pattern[CHOICE + number]
        if newest(w, step) <= w.slots[HI, step]:
            if pattern[MODE + step] == COLLECT:
                return -1
            found = number
    return found


@inlined
def enter(w: Any, pattern: Any, number: Any, final: Any) -> None:
    """Puts an operand before the first event that fits what the earlier ones have."""
    step = pattern[CHOICE + number]
    w.slots[AT, step] = w.slots[SAVED_LO, step] - 1
    if number == final and not has_newest(w, pattern, number):
        w.slots[AT, step] = max(w.slots[SAVED_LO, step], w.slots[NEWEST, step]) - 1


@inlined
def has_newest(w: Any, pattern: Any, number: Any) -> Any:
    """Whether one of the operands before has an event of the closing point."""
    for earlier in range(number):
        step = pattern[CHOICE + earlier]
        if pattern[MODE + step] != COLLECT and w.slots[AT, step] >= w.slots[NEWEST, step]:
            return True
    return False


@inlined
def advance(w: Any, pattern: Any, number: Any) -> Any:
    """Goes on to the next event of an operand that no earlier one has; false if there is none."""
    step = pattern[CHOICE + number]
    at = w.slots[AT, step] + 1
    if pattern[MODE + step] == COLLECT:
        # It has one way only.
        w.slots[AT, step] = w.slots[SAVED_HI, step] + 1
        return at <= w.slots[SAVED_HI, step]
    while at <= w.slots[SAVED_HI, step] and is_taken(w, pattern, number, at):
        at += 1
    w.slots[AT, step] = at
    return at <= w.slots[SAVED_HI, step]


@inlined
def is_taken(w: Any, pattern: Any, number: Any, at: Any) -> Any:
    """Whether an operand before has the event at a position."""
    if not w.state[OVERLAP]:
        return False
    for earlier in range(number):
        step = pattern[CHOICE + earlier]
        if pattern[MODE + step] != COLLECT and w.lists[ROW, w.slots[AT, step]] == w.lists[ROW, at]:
            return True
    return False


@inlined
def report_one(w: Any, pattern: Any, out: Any) -> None:
    """Reports the events where the operands are, with all that those which collect could have beside them."""
    if pattern[COLLECTS] > 0 and not mark_collected(w, pattern):
        return
    report_steps(w, pattern, out, SAVED_LO, SAVED_HI)


@kernel
def mark_collected(w: Any, pattern: Any) -> Any:
    """Marks the events of the operands that collect; false if there are none."""
    for step in range(pattern[STEPS]):
        collects = pattern[MODE + step] == COLLECT
        w.slots[LO, step] = w.slots[SAVED_LO, step] if collects else w.slots[AT, step]
        w.slots[HI, step] = w.slots[SAVED_HI, step] if collects else w.slots[AT, step]
    found = False
    for step in range(pattern[STEPS]):
        if pattern[MODE + step] != COLLECT:
            continue
        for at in range(w.slots[SAVED_LO, step], w.slots[SAVED_HI, step] + 1):
            w.slots[LO, step] = at
            w.slots[HI, step] = at
            taken = is_possible(w, pattern)
            w.lists[PREVIOUS, at] = at if taken else -1
            found = found or taken
        w.slots[LO, step] = w.slots[SAVED_LO, step]
        w.slots[HI, step] = w.slots[SAVED_HI, step]
    return found
