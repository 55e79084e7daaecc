"""The compiled detector of flat patterns against the definitions, in one call and in any number of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.pattern.flat.detect import ALWAYS, NEVER, FlatPattern, FlatReports, FlatRows, detect_flat, flat_patterns

Point = tuple[int, int]
Found = set[tuple[int, int, frozenset[int]]]
"""Start, end and events of reports."""
Binding = tuple[int, ...]
"""By step, a row."""
LAST_TIE = 2**63 - 1


@dataclass(frozen=True)
class Trace:
    """One group: by row its time, its tie-break and its mask, in order."""

    rows: tuple[tuple[int, int, int], ...]

    def point(self, row: int, ties: bool) -> Point:
        time, tie, _ = self.rows[row]
        return time, tie if ties else 0


def reports_by_definition(pattern: FlatPattern, trace: Trace) -> tuple[Found, list[tuple[int, int, Members]]]:
    """Items 47 to 60 of docs/semantics.md, over all bindings: the reports, and every one that may stand for them."""
    world = World(pattern, trace)
    found: Found = set()
    ways: list[tuple[int, int, Members]] = []
    for now in world.points():
        world.arrive(now)
        for members in world.close(now):
            events = frozenset(row for _, row in members)
            start = min(trace.rows[row][0] for row in events)
            found.add((start, now[0], events))
            ways.append((start, now[0], members))
    return found, ways


Members = tuple[tuple[int, int], ...]
"""Operands and rows, sorted."""


class World:
    """A trace up to a point of time."""

    def __init__(self, pattern: FlatPattern, trace: Trace) -> None:
        self.pattern, self.trace = pattern, trace
        self.gaps = pattern.gaps or ((),) * (len(pattern.steps) + 1)
        self.operands = [*pattern.steps, *(operand for gap in self.gaps for operand in gap)]
        self.live: dict[int, list[int]] = {operand: [] for operand in self.operands}
        self.come = 0

    def point(self, row: int) -> Point:
        return self.trace.point(row, self.pattern.has_ties)

    def points(self) -> list[Point]:
        own = {self.point(row) for row in range(len(self.trace.rows))}
        if self.gaps[-1]:
            end_tie = LAST_TIE if self.pattern.has_ties else 0
            own |= {(time + self.pattern.within_us, end_tie) for time, _ in own}
        return sorted(own)

    def arrive(self, now: Point) -> None:
        while self.come < len(self.trace.rows) and self.point(self.come) <= now:
            for operand in self.operands:
                if self.trace.rows[self.come][2] >> operand & 1:
                    self.live[operand].append(self.come)
            self.come += 1
        if self.pattern.limit >= 0:
            self.live = {operand: own[-self.pattern.limit :] for operand, own in self.live.items()}

    def close(self, now: Point) -> Iterator[Members]:
        while True:
            left = self.chosen([one for one in self.bindings() if self.end(one) == now])
            yield from self.collected(left)
            if not left or self.pattern.consume == "keep":
                return
            took_part = {row for one in left for row in one}
            for operand in self.pattern.steps:
                own = self.live[operand]
                kept = [row for row in own if row not in took_part] if self.pattern.consume == "reapply" else []
                self.live[operand] = kept
            if self.pattern.consume == "delete":
                return

    def bindings(self) -> list[Binding]:
        fits = self.is_sequence if self.pattern.kind == "sequence" else self.is_conjunction
        return [one for one in product(*(self.live[operand] for operand in self.pattern.steps)) if fits(one)]

    def end(self, one: Binding) -> Point:
        if self.gaps[-1]:
            tie = LAST_TIE if self.pattern.has_ties else 0
            return self.point(one[-1])[0] + self.pattern.within_us, tie
        return max(self.point(row) for row in one)

    def is_conjunction(self, one: Binding) -> bool:
        times = [self.point(row)[0] for row in one]
        return len(set(one)) == len(one) and (
            self.pattern.within_us < 0 or max(times) - min(times) <= self.pattern.within_us
        )

    def is_sequence(self, one: Binding) -> bool:
        within = self.pattern.within_us
        points = [self.point(row) for row in one]
        if any(a >= b for a, b in pairwise(points)):
            return False
        before, *between, after = ([self.point(n) for o in gap for n in self.live[o]] for gap in self.gaps)
        if not self.gaps[-1] and 0 <= within < points[-1][0] - points[0][0]:
            return False
        if any(a < n < b for gap, (a, b) in zip(between, pairwise(points), strict=True) for n in gap):
            return False
        if any(n < points[0] and (within < 0 or points[-1][0] - n[0] <= within) for n in before):
            return False
        return not any(points[-1] < n and n[0] - points[-1][0] <= within for n in after)

    def chosen(self, left: list[Binding]) -> list[Binding]:
        steps = len(self.pattern.steps)
        for step in self.pattern.choice_order or range(steps):
            candidates = sorted({one[step] for one in left})
            taken = take(candidates, self.pattern.duplicates[step] if self.pattern.duplicates else "all")
            left = [one for one in left if one[step] in taken]
        return left

    def collected(self, left: Iterable[Binding]) -> Iterator[Members]:
        duplicates = self.pattern.duplicates or ("all",) * len(self.pattern.steps)
        groups: dict[Binding, set[tuple[int, int]]] = {}
        for one in left:
            key = tuple(row for row, mode in zip(one, duplicates) if mode != "collect")
            groups.setdefault(key, set()).update(zip(self.pattern.steps, one))
        yield from (tuple(sorted(members)) for members in groups.values())


def take(candidates: list[int], mode: str | int | tuple[int, int]) -> list[int]:
    if isinstance(mode, str):
        return {"first": candidates[:1], "last": candidates[-1:]}.get(mode, candidates)
    first, last = (mode, mode) if isinstance(mode, int) else mode
    count = len(candidates)
    if first < 0:
        first, last = count + 1 + first, count + 1 + last
    return [one for position, one in enumerate(candidates, 1) if first <= position <= last]


def rows_of(traces: Iterable[Trace], pattern_of_group: Iterable[int]) -> FlatRows:
    own = [trace.rows for trace in traces]
    columns = np.array([row for rows in own for row in rows], np.int64).reshape(-1, 3)
    offsets = np.cumsum([0, *map(len, own)], dtype=np.int64)
    return FlatRows(offsets, np.array(list(pattern_of_group), np.int32), *columns.T)


def members(found: FlatReports, report: int) -> Members:
    span = slice(found.offsets[report], found.offsets[report + 1])
    return tuple(zip(found.operand[span].tolist(), found.row[span].tolist()))


def described(found: FlatReports, first_rows: np.ndarray) -> list[tuple[int, int, int, Members]]:
    """Group, start, end and members, with rows counted within their groups."""
    return [
        (
            group := int(found.group[at]),
            int(found.start_us[at]),
            int(found.end_us[at]),
            tuple((operand, row - int(first_rows[group])) for operand, row in members(found, at)),
        )
        for at in range(len(found.group))
    ]


def in_steps(pattern: FlatPattern, traces: list[Trace], cuts: list[int]) -> list[tuple[int, int, int, Members]]:
    """The same as one call, with only what is left between the calls; rows are numbered as in one call."""
    everything = rows_of(traces, [0] * len(traces))
    group_of = np.repeat(np.arange(len(traces)), np.diff(everything.offsets))
    mask, kept = everything.mask.copy(), np.zeros(len(group_of), bool)
    found = []
    done = NEVER
    for upto in [*sorted(cuts), ALWAYS]:
        taken = np.flatnonzero(kept | ((everything.time_us > done) & (everything.time_us <= upto)))
        offsets = np.searchsorted(group_of[taken], np.arange(len(traces) + 1)).astype(np.int64)
        rows = FlatRows(offsets, everything.pattern_of_group, *(one[taken] for one in (everything[2:4])), mask[taken])
        part = detect_flat(flat_patterns([pattern]), rows, done_us=done, upto_us=upto)
        part = part._replace(row=taken[part.row])
        found += described(part, everything.offsets)
        mask[taken] = part.mask_after
        kept[:] = False
        kept[taken[part.mask_after != 0]] = True
        done = upto
    return found


MODES = st.one_of(
    st.sampled_from(["all", "first", "last", "collect", "all", "collect"]),
    st.integers(1, 3),
    st.sampled_from([(1, 2), (2, 3), (2, 4), (-2, -1), (-3, -2)]),
)


@st.composite
def flat(draw: Callable[..., object]) -> FlatPattern:
    steps = draw(st.integers(1, 4))
    bits = draw(st.permutations(range(8)))
    sequence = draw(st.sampled_from([True, True, False]))
    gaps: list[tuple[int, ...]] = [()] * (steps + 1)
    spare = list(bits[steps:])
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 3])) if sequence else 0):
        at = draw(st.integers(0, steps))
        gaps[at] = (*gaps[at], spare.pop())
    within = draw(st.sampled_from([-1, 0, 1, 2, 3, 5]))
    choice = tuple(range(steps)) if sequence else tuple(draw(st.permutations(range(steps))))
    plain = draw(st.booleans())
    return FlatPattern(
        "sequence" if sequence else "conjunction",
        steps=tuple(bits[:steps]),
        gaps=tuple(gaps),
        within_us=max(within, 0) if gaps[-1] else within,
        duplicates=("all",) * steps if plain else tuple(draw(MODES) for _ in range(steps)),
        choice_order=choice,
        consume=draw(st.sampled_from(["keep", "delete", "reapply"])),
        limit=draw(st.sampled_from([-1, -1, 1, 2, 3])),
        has_ties=draw(st.booleans()),
    )


@st.composite
def flat_and_traces(draw: Callable[..., object]) -> tuple[FlatPattern, list[Trace]]:
    pattern = draw(flat())
    operands = [*pattern.steps, *(operand for gap in pattern.gaps for operand in gap)]
    several = draw(st.booleans())
    bit = st.sampled_from(operands).map(lambda one: 1 << one)
    mask = st.lists(bit, min_size=1, max_size=3).map(sum_of_bits) if several else bit
    row = st.tuples(st.integers(0, 9), st.integers(0, 2 if pattern.has_ties else 0), mask)
    most = 12 if len(pattern.steps) < 4 else 9
    groups = draw(st.lists(st.lists(row, max_size=most), min_size=1, max_size=3))
    return pattern, [Trace(tuple(sorted(rows, key=lambda one: one[:2]))) for rows in groups]


def sum_of_bits(bits: list[int]) -> int:
    return sum(set(bits))


@given(flat_and_traces())
def test_detect_flat_gives_what_the_definitions_say(case: tuple[FlatPattern, list[Trace]]) -> None:
    pattern, traces = case
    rows = rows_of(traces, [0] * len(traces))
    found = described(detect_flat(flat_patterns([pattern]), rows), rows.offsets)
    for group, trace in enumerate(traces):
        own = [(start, end, bound) for at, start, end, bound in found if at == group]
        expected, ways = reports_by_definition(pattern, trace)
        events = [(start, end, frozenset(row for _, row in bound)) for start, end, bound in own]
        assert set(events) == expected
        assert len(events) == len(expected)
        assert set(own) <= set(ways)
        assert [end for _, end, _ in own] == sorted(end for _, end, _ in own)


@given(flat_and_traces(), st.lists(st.integers(-1, 16), max_size=5))
def test_detect_flat_in_steps_gives_what_one_call_gives(case: tuple[FlatPattern, list[Trace]], cuts: list[int]) -> None:
    pattern, traces = case
    rows = rows_of(traces, [0] * len(traces))
    whole = described(detect_flat(flat_patterns([pattern]), rows), rows.offsets)
    assert sorted(in_steps(pattern, traces, cuts)) == sorted(whole)


def one_trace(text: str, names: str) -> Trace:
    """Letters one microsecond apart; their operands are their places in `names`."""
    return Trace(tuple((at, 0, 1 << names.index(one) if one in names else 0) for at, one in enumerate(text)))


def reported(pattern: FlatPattern, trace: Trace, done_us: int = NEVER, upto_us: int = ALWAYS) -> list[list[int]]:
    found = detect_flat(flat_patterns([pattern]), rows_of([trace], [0]), done_us=done_us, upto_us=upto_us)
    return [[row for _, row in members(found, at)] for at in range(len(found.group))]


B1, B2, D1, D2, B3, D3 = 1, 3, 5, 8, 9, 11


@pytest.mark.parametrize(
    ("duplicates", "consume", "expected"),
    [
        ("all", "keep", [[B1, D1], [B2, D1], [B1, D2], [B2, D2], [B1, D3], [B2, D3], [B3, D3]]),
        ("first", "keep", [[B1, D1], [B1, D2], [B1, D3]]),
        ("last", "keep", [[B2, D1], [B2, D2], [B3, D3]]),
        ("collect", "keep", [[B1, B2, D1], [B1, B2, D2], [B1, B2, B3, D3]]),
        ("all", "delete", [[B1, D1], [B2, D1], [B3, D3]]),
        ("first", "delete", [[B1, D1], [B3, D3]]),
        ("last", "delete", [[B2, D1], [B3, D3]]),
        ("collect", "delete", [[B1, B2, D1], [B3, D3]]),
        ("all", "reapply", [[B1, D1], [B2, D1], [B3, D3]]),
        ("first", "reapply", [[B1, D1], [B2, D2], [B3, D3]]),
        ("last", "reapply", [[B2, D1], [B1, D2], [B3, D3]]),
        ("collect", "reapply", [[B1, B2, D1], [B3, D3]]),
    ],
)
def test_detect_flat_gives_the_worked_table(duplicates: str, consume: str, expected: list[list[int]]) -> None:
    pattern = FlatPattern("sequence", (0, 1), duplicates=(duplicates, "all"), consume=consume)
    assert reported(pattern, one_trace("ABCBADEFDBGD", "BD")) == expected


ABSENCE = FlatPattern("sequence", (0,), gaps=((), (1,)), within_us=3)


@pytest.mark.parametrize(
    ("trace", "expected"), [("A..N", []), ("A...N", [[0]]), ("A", [[0]]), ("AN", []), ("NA", [[1]])]
)
def test_an_absence_includes_its_edge(trace: str, expected: list[list[int]]) -> None:
    assert reported(ABSENCE, one_trace(trace, "AN")) == expected


def test_an_absence_ends_without_a_later_event() -> None:
    trace = one_trace("A", "AN")
    assert reported(ABSENCE, trace, upto_us=2) == []
    assert reported(ABSENCE, trace, done_us=2, upto_us=3) == [[0]]
    assert reported(ABSENCE, trace, done_us=3) == []


def test_an_absence_sees_an_event_that_comes_at_its_end_with_a_tie_break() -> None:
    trace = Trace(((0, 5, 1), (3, 7, 2)))
    assert reported(replace(ABSENCE, has_ties=True), trace) == []


def test_a_pair_and_its_mirror_are_one_report() -> None:
    both = FlatPattern("conjunction", (0, 1))
    assert reported(both, Trace(((0, 0, 3), (1, 0, 3), (2, 0, 3)))) == [[0, 1], [0, 2], [1, 2]]


def test_detect_flat_grows_its_buffers() -> None:
    trace = Trace(tuple((at, 0, 1 if at < 3000 else 2) for at in range(3010)))
    rows = rows_of([one_trace("AB", "AB"), trace, one_trace("AAB", "AB")], [0, 0, 0])
    found = detect_flat(flat_patterns([FlatPattern("sequence", (0, 1))]), rows)
    assert np.bincount(found.group).tolist() == [1, 30_000, 2]
    assert found.row[-4:].tolist() == [3012, 3014, 3013, 3014]


def test_groups_have_their_own_patterns() -> None:
    patterns = flat_patterns([FlatPattern("sequence", (0, 1)), FlatPattern("conjunction", (0, 1))])
    found = detect_flat(patterns, rows_of([one_trace("BA", "AB")] * 2, [0, 1]))
    assert found.group.tolist() == [1]


def test_what_can_no_longer_take_part_is_dropped() -> None:
    def left(pattern: FlatPattern, trace: Trace, upto_us: int = ALWAYS - 1) -> list[int]:
        return detect_flat(flat_patterns([pattern]), rows_of([trace], [0]), upto_us=upto_us).mask_after.tolist()

    trace = one_trace("AAB.A", "AB")
    assert left(FlatPattern("sequence", (0, 1), within_us=3), trace, 4) == [0, 0, 0, 0, 1]
    assert left(FlatPattern("sequence", (0, 1)), trace) == [1, 1, 0, 0, 1]
    assert left(FlatPattern("sequence", (0, 1), duplicates=("first", "all")), trace) == [1, 0, 0, 0, 0]
    assert left(FlatPattern("sequence", (0, 1), duplicates=("last", "all")), trace) == [0, 0, 0, 0, 1]
    assert left(FlatPattern("sequence", (0, 1), consume="delete"), trace) == [0, 0, 0, 0, 1]
    assert left(FlatPattern("sequence", (0, 1), limit=2), trace) == [0, 1, 0, 0, 1]
    assert left(FlatPattern("sequence", (0, 1), gaps=((), (2,), ())), one_trace("ANA", "ABN")) == [0, 0, 1]


@pytest.mark.parametrize(
    "pattern",
    [
        FlatPattern("sequence", ()),
        FlatPattern("sequence", (0, 0)),
        FlatPattern("sequence", (0, 1), choice_order=(1, 0)),
        FlatPattern("sequence", (0,), gaps=((), (1,))),
        FlatPattern("conjunction", (0,), gaps=((1,), ())),
        FlatPattern("sequence", (0,), duplicates=((3, 2),)),
    ],
)
def test_flat_patterns_refuses_what_is_none(pattern: FlatPattern) -> None:
    with pytest.raises(ValueError):
        flat_patterns([pattern])
