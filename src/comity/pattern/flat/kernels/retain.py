"""What of a group can still take part in something, and is kept until the next call.

The next call gets the rows whose mask in `out.after` is not zero, and with it the lists as they are left here: what is
kept must include all that a later event could use, and what is dropped is sure to be useless. So a call over
everything gives the same as many calls, and what a stream keeps of a pattern with a frame or a limit is bounded by it.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import inlined, kernel
from comity.pattern.flat.kernels.layout import (
    BITS,
    CONJUNCTION,
    CONSUME,
    FROM_FIRST,
    FROM_LAST,
    GAPS,
    HEAD,
    HIGH,
    KEEP,
    KIND,
    LIMIT,
    MODE,
    NEGATED,
    OPERANDS,
    ROW,
    STEPS,
    TAIL,
    TRAILING,
    WITHIN,
)
from comity.pattern.flat.kernels.lists import first_absent, first_from, point_at


@inlined
def expire(w: Any, operand: Any, earliest: Any) -> None:
    """Removes the events of an operand that are before a time."""
    head = w.slots[HEAD, operand]
    while head < w.slots[TAIL, operand] and w.time[w.lists[ROW, head]] < earliest:
        head += 1
    w.slots[HEAD, operand] = head


@inlined
def expire_before(w: Any, pattern: Any, earliest: Any) -> None:
    """Removes the events that are before a time."""
    for operand in range(pattern[OPERANDS]):
        expire(w, operand, earliest)


@kernel
def retain(w: Any, pattern: Any, out: Any, begin: Any, row: Any, end: Any, upto: Any) -> None:
    """Writes which operands the rows of a group are still needed for; those from `row` on have not come yet."""
    drop_useless(w, pattern, upto)
    for other in range(begin, row):
        out.after[other] = 0
    for other in range(row, end):
        out.after[other] = w.mask[other]
    for operand in range(pattern[OPERANDS]):
        bit = 1 << pattern[BITS + operand]
        for at in range(w.slots[HEAD, operand], w.slots[TAIL, operand]):
            out.after[w.lists[ROW, at]] |= bit


@inlined
def drop_useless(w: Any, pattern: Any, upto: Any) -> None:
    """Removes events that nothing later than `upto` can use.

    With a limit only the oldest ones of an operand go, because the limit counts the others.
    """
    framed = pattern[WITHIN] >= 0
    if framed and not pattern[TRAILING]:
        expire_before(w, pattern, upto - pattern[WITHIN] + 1)
    elif framed:
        # As in `end_absence`, of what can still end.
        for operand in range(pattern[GAPS], pattern[GAPS + 1]):
            expire(w, operand, upto - 2 * pattern[WITHIN] + 1)
    if pattern[KIND] == CONJUNCTION:
        return
    if not pattern[TRAILING]:
        drop_last_step(w, pattern)
    if not framed and pattern[LIMIT] < 0:
        drop_after_leading(w, pattern)
    drop_absent(w, pattern)
    drop_unchosen(w, pattern)


@inlined
def drop_last_step(w: Any, pattern: Any) -> None:
    """Removes what only an event that came already could close with."""
    last = pattern[STEPS] - 1
    w.slots[HEAD, last] = w.slots[TAIL, last]
    if last == 0 or pattern[LIMIT] >= 0:
        return
    for operand in range(pattern[GAPS + last], pattern[GAPS + last + 1]):
        tail = w.slots[TAIL, operand]
        if w.slots[HEAD, operand] < tail:
            # Whatever closes later is behind this event, so the step before must not be earlier than it. That done, the
            # event is needed no more.
            w.slots[HEAD, last - 1] = first_from(w, last - 1, point_at(w, tail - 1))
            w.slots[HEAD, operand] = tail


@inlined
def drop_after_leading(w: Any, pattern: Any) -> None:
    """Removes events of the first step that come after what must not have been before it."""
    point = first_absent(w, pattern, 0)
    for operand in range(pattern[GAPS], pattern[GAPS + 1]):
        if w.slots[HEAD, operand] < w.slots[TAIL, operand]:
            w.slots[TAIL, operand] = w.slots[HEAD, operand] + 1
            w.slots[TAIL, 0] = first_from(w, 0, point + 1)


@inlined
def drop_absent(w: Any, pattern: Any) -> None:
    """Removes events that must not be in a gap, if no event of the step before is earlier."""
    for gap in range(1, pattern[STEPS]):
        head = w.slots[HEAD, gap - 1]
        for operand in range(pattern[GAPS + gap], pattern[GAPS + gap + 1]):
            if head < w.slots[TAIL, gap - 1]:
                w.slots[HEAD, operand] = first_from(w, operand, point_at(w, head) + 1)
            else:
                w.slots[HEAD, operand] = w.slots[TAIL, operand]


@inlined
def drop_unchosen(w: Any, pattern: Any) -> None:
    """Removes events that the first step never chooses, where that is plain to see."""
    if pattern[CONSUME] != KEEP or pattern[LIMIT] >= 0 or pattern[WITHIN] >= 0 or pattern[NEGATED] > 0:
        return
    if pattern[MODE] == FROM_FIRST:
        w.slots[TAIL, 0] = min(w.slots[TAIL, 0], w.slots[HEAD, 0] + pattern[HIGH])
    elif pattern[MODE] == FROM_LAST and pattern[STEPS] == 2:
        w.slots[HEAD, 0] = max(w.slots[HEAD, 0], w.slots[TAIL, 0] - pattern[HIGH])
