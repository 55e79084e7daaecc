"""From targets to profiles, and the profiles of two indexes brought together.

What the arrays are: the targets of event e are `targets[offsets[e]:offsets[e + 1]]`. One that is not below zero is a
profile. One below zero is entry -1 - target of `arrays.Conditions`: `member_start`, `profile` and `slot` are its
columns, and `holds` has one answer for each such target, in the order of `targets`.

What holds: `slot` is -1 for a profile with one conjunction, else its own number; `seen[slot]` is the last event that
reported the profile, and is -1 at first, so it need not be cleared between events. `out` has room for all members of
all targets. Another thread may remove a member meanwhile, by writing one word: it is reported or it is not.
"""

from __future__ import annotations

from typing import Any

from comity.compiled import kernel


@kernel
def report_once(
    offsets: Any,
    targets: Any,
    holds: Any,
    member_start: Any,
    profile: Any,
    slot: Any,
    seen: Any,
    final: Any,
    out: Any,
) -> Any:
    """Writes the profiles of each event; `holds` are the answers for the targets below zero, in their order."""
    position = 0
    asked = 0
    for event in range(len(offsets) - 1):
        final[event] = position
        for i in range(offsets[event], offsets[event + 1]):
            target = targets[i]
            if target >= 0:
                out[position] = target
                position += 1
                continue
            entry = -1 - target
            if holds[asked]:
                for member in range(member_start[entry], member_start[entry + 1]):
                    number = profile[member]
                    own = slot[member]
                    if number < 0 or (own >= 0 and seen[own] == event):
                        continue
                    if own >= 0:
                        seen[own] = event
                    out[position] = number
                    position += 1
            asked += 1
    final[len(offsets) - 1] = position
    return position


@kernel
def join(offsets: Any, ids: Any, other_offsets: Any, other_ids: Any, out: Any) -> None:
    """Writes the ids of each event, those of the other after the own ones."""
    position = 0
    for event in range(len(offsets) - 1):
        for i in range(offsets[event], offsets[event + 1]):
            out[position] = ids[i]
            position += 1
        for i in range(other_offsets[event], other_offsets[event + 1]):
            out[position] = other_ids[i]
            position += 1
