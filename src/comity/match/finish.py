"""From targets to profiles: evaluates the tests that are left, and reports a profile of several conjunctions once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from comity.expression.evaluate import AttributeReader
from comity.match.access import expand
from comity.match.alike import first_alike
from comity.match.buckets import Longs
from comity.match.channels import Ints
from comity.match.kernels.arrays import ONCE, PLAIN, TESTED, Conditions
from comity.match.kernels.results import report_once
from comity.match.predicates import Predicates
from comity.match.residual import BatchRows, Tests


def targets_of(table: Predicates, ids: Ints | None = None) -> tuple[Longs, Ints, Conditions]:
    """For each conjunction the first one that asks the same, which stands for all of them; its target; what is behind.

    The target is the profile, if there is nothing else to look at. `ids` are the numbers to report instead of those
    that profiles have in the table.
    """
    first = first_alike(table)
    again = np.concatenate([[False], table.profile_of[1:] == table.profile_of[:-1], [False]])
    several = again[:-1] | again[1:]
    slots = np.where(several, np.cumsum(several & ~again[:-1]) - 1, -1).astype(np.int32)
    sizes = np.bincount(first, minlength=len(first))
    has_tests = np.diff(table.test_starts) > 0
    entries = np.flatnonzero((sizes > 1) | (sizes == 1) & (several | has_tests))
    profile = (table.profile_of if ids is None else ids[table.profile_of]).astype(np.int32)
    targets = profile.copy()
    targets[entries] = -1 - np.arange(len(entries), dtype=np.int32)
    members = np.argsort(first, kind="stable")[expand((np.cumsum(sizes) - sizes)[entries], sizes[entries])]
    has_slots = np.bincount(first[members], slots[members] >= 0, len(first))[entries] > 0
    test_counts = np.diff(table.test_starts)[entries]
    conditions = Conditions(
        np.where(has_tests[entries], TESTED, np.where(has_slots, ONCE, PLAIN)).astype(np.int32),
        _starts(sizes[entries]),
        profile[members],
        slots[members],
        _starts(test_counts),
        table.test[expand(table.test_starts[entries], test_counts)],
        int(slots.max(initial=-1)) + 1,
    )
    return first, targets, conditions


def _starts(counts: npt.NDArray[np.integer]) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def finish(
    offsets: Longs, targets: Ints, conditions: Conditions, tests: Tests, rows: Callable[[], BatchRows]
) -> tuple[Longs, Ints]:
    """Offsets and profiles, from offsets and targets."""
    at = np.flatnonzero(targets < 0) if len(conditions.kind) else np.zeros(0, np.int64)
    if len(at) == 0:
        return offsets, targets.copy()
    entry = -1 - targets[at]
    if len(tests):
        event = (np.searchsorted(offsets, at, "right") - 1).astype(np.int32)
        holds = _tested(entry, event, conditions, tests, rows)
    else:
        holds = np.ones(len(at), np.bool_)
    most = len(targets) - len(at) + int(np.diff(conditions.member_start).astype(np.int64)[entry].sum())
    final, out = np.empty_like(offsets), np.empty(most, np.int32)
    seen = np.full(max(conditions.slots, 1), -1, np.int64)
    count = report_once(offsets, targets, holds, *conditions[1:4], seen, final, out)
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
        entry = -1 - target
        numbers = conditions.test[conditions.test_start[entry] : conditions.test_start[entry + 1]]
        if not all(tests.test(number)(record) for number in numbers.tolist()):
            continue
        members = slice(conditions.member_start[entry], conditions.member_start[entry + 1])
        for profile, slot in zip(conditions.profile[members].tolist(), conditions.slot[members].tolist(), strict=True):
            if profile >= 0 and slot not in seen:
                found.append(profile)
                if slot >= 0:
                    seen.add(slot)
    return found
