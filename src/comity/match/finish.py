"""From targets to profiles: evaluates the tests that are left, and reports a profile of several conjunctions once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from comity.expression.evaluate import AttributeReader
from comity.match.access import expand
from comity.match.channels import Ints
from comity.match.kernels.results import report_once
from comity.match.predicates import Predicates
from comity.match.residual import BatchRows, Tests

Longs = npt.NDArray[np.int64]


class Conditions(NamedTuple):
    """What stands behind the targets below zero: target t is entry -1 - t."""

    profile: Ints
    slot: Ints
    """A number for each profile with several conjunctions, -1 for the others."""
    test_start: Ints
    test: Ints
    slots: int

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self[:4])


def targets_of(table: Predicates, ids: Ints | None = None) -> tuple[Ints, Conditions]:
    """The target of each conjunction: its profile, if there is nothing else to look at.

    `ids` are the numbers to report instead of those that profiles have in the table.
    """
    again = np.concatenate([[False], table.profile_of[1:] == table.profile_of[:-1], [False]])
    several = again[:-1] | again[1:]
    slots = np.where(several, np.cumsum(several & ~again[:-1]) - 1, -1)
    conditional = np.flatnonzero(several | (np.diff(table.test_starts) > 0))
    profile = (table.profile_of if ids is None else ids[table.profile_of]).astype(np.int32)
    targets = profile.copy()
    targets[conditional] = -1 - np.arange(len(conditional), dtype=np.int32)
    counts = np.diff(table.test_starts)[conditional]
    conditions = Conditions(
        profile[conditional],
        slots[conditional].astype(np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        table.test[expand(table.test_starts[conditional], counts)],
        int(slots.max(initial=-1)) + 1,
    )
    return targets, conditions


def finish(
    offsets: Longs, targets: Ints, conditions: Conditions, tests: Tests, rows: Callable[[], BatchRows]
) -> tuple[Longs, Ints]:
    """Offsets and profiles, from offsets and targets."""
    at = np.flatnonzero(targets < 0) if len(conditions.profile) else np.zeros(0, np.int64)
    if len(at) == 0:
        return offsets, targets.copy()
    entry = -1 - targets[at]
    event = (np.searchsorted(offsets, at, "right") - 1).astype(np.int32)
    holds = _tested(entry, event, conditions, tests, rows) if len(tests) else np.ones(len(at), np.bool_)
    final, out = np.empty_like(offsets), np.empty(len(targets), np.int32)
    seen = np.full(max(conditions.slots, 1), -1, np.int64)
    count = report_once(offsets, targets, holds, conditions.profile, conditions.slot, seen, final, out)
    return final, out[:count]


def _tested(
    entry: Ints, event: Ints, conditions: Conditions, tests: Tests, rows: Callable[[], BatchRows]
) -> npt.NDArray[np.bool_]:
    """Whether all tests of each entry hold for its event; first tests first, so that later ones see fewer events."""
    holds = np.ones(len(entry), np.bool_)
    start, end = conditions.test_start[entry], conditions.test_start[entry + 1]
    turn = 0
    while len(alive := np.flatnonzero(holds & (start + turn < end))):
        number = conditions.test[start[alive] + turn]
        order = np.argsort(number, kind="stable")
        begins = np.flatnonzero(np.concatenate([[True], np.diff(number[order]) != 0]))
        for group in np.split(order, begins[1:]):
            events, which = np.unique(event[alive[group]], return_inverse=True)
            holds[alive[group]] = tests.hold(int(number[group[0]]), rows(), events)[which]
        turn += 1
    return holds


def finish_one(targets: list[int], conditions: Conditions, tests: Tests, record: AttributeReader) -> list[int]:
    """The profiles of one event."""
    found: list[int] = []
    seen: set[int] = set()
    for target in targets:
        if target >= 0:
            found.append(target)
            continue
        profile, slot = int(conditions.profile[-1 - target]), int(conditions.slot[-1 - target])
        numbers = conditions.test[conditions.test_start[-1 - target] : conditions.test_start[-target]]
        if slot in seen or not all(tests.test(number)(record) for number in numbers.tolist()):
            continue
        found.append(profile)
        if slot >= 0:
            seen.add(slot)
    return found
