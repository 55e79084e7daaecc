"""The workload of `detect`: a stream of typed events with keys, patterns over it, and how often each pattern occurs.

Every key has one event in every step, in an order that is drawn for each step. Times grow strictly, and the events of a
step take a tenth of it, so that a window of n and a half steps holds n later events of the key, and no edge matters.
Types are drawn evenly. Everything follows from the seeds.

The counts are exact, for `duplicates all` and `consume keep`. They are worked out over a grid, a row for a step and a
column for a key, and have nothing in common with a detector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import permutations

import numpy as np
import numpy.typing as npt

EVENTS = 2_000_000
KEYS = 1000
TYPES = 10
STEPS = 10
"""Steps in a window."""
START_MS = 1_767_225_600_000
"""Time of the first event: 2026-01-01, UTC."""
A, B, C, D, N = range(5)
"""Types by their part in the patterns: `T0` is A, and so on."""

Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PATTERNS = {
    "pair": "T0 a ; T1 b",
    "pair_first": "T0 a ; not T1 n ; T1 b",
    "and3": "T0 a & T1 b & T2 c",
    "negated": "T0 a ; not T4 n ; T1 b ; T2 c ; T3 d",
    "negated_first": "T0 a ; not (T4 n | T1 n1) ; T1 b ; not T2 n2 ; T2 c ; not T3 n3 ; T3 d",
    "absence": "T0 a ; not T1 b",
}
"""Each pattern of one profile in the words of `docs/semantics.md`, within a window of `STEPS`, all operands of one key.
In those with `_first` a part is followed by the first event of the next part's type, and not by each."""


@dataclass(frozen=True)
class PairProfile:
    """One of many profiles: an event of type `first` with a value from `low` to below `high`, then one of `second`."""

    first: int
    second: int
    low: float
    high: float
    steps: int


@dataclass(frozen=True)
class Events:
    """Events in the order of their times, as columns."""

    keys: npt.NDArray[np.int32]
    types: npt.NDArray[np.int8]
    times_ms: Longs
    values: npt.NDArray[np.float64]
    key_count: int

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def step_ms(self) -> int:
        """From the beginning of a step to that of the next."""
        return 10 * self.key_count

    def window_ms(self, steps: int = STEPS) -> int:
        """A window that holds this many later events of a key."""
        return self.step_ms * steps + self.step_ms // 2

    @cached_property
    def grid(self) -> Grid:
        """The events by step and key."""
        steps = -(-len(self) // self.key_count)
        place = np.arange(len(self)) // self.key_count, self.keys
        types = np.full((steps, self.key_count), -1, np.int8)
        times = np.zeros((steps, self.key_count), np.int64)
        values = np.zeros((steps, self.key_count))
        types[place], times[place], values[place] = self.types, self.times_ms, self.values
        return Grid(types, times, values)


@dataclass(frozen=True)
class Grid:
    """A row for a step, a column for a key; the type is -1 where there is no event."""

    types: npt.NDArray[np.int8]
    times_ms: Longs
    values: npt.NDArray[np.float64]

    def reach(self, window_ms: int) -> int:
        """How many later steps a window touches at most."""
        lag = 1
        while lag < len(self.types) and (self.times_ms[lag:] - self.times_ms[:-lag] <= window_ms).any():
            lag += 1
        return lag - 1

    def ahead(self, lag: int, window_ms: int) -> npt.NDArray[np.int8]:
        """For each event the type of that so many steps later of the same key; -1 where it is out of the window."""
        found = np.full_like(self.types, -1)
        near = self.times_ms[lag:] - self.times_ms[:-lag] <= window_ms
        found[:-lag] = np.where(near, self.types[lag:], -1)
        return found


def draw_events(events: int = EVENTS, keys: int = KEYS, seed: int = 4) -> Events:
    """The stream.

    >>> stream = draw_events(4000, keys=100)
    >>> len(stream), stream.window_ms(), bool((np.diff(stream.times_ms) > 0).all())
    (4000, 10500, True)
    """
    random = np.random.default_rng(seed)
    steps = -(-events // keys)
    order = random.permuted(np.tile(np.arange(keys, dtype=np.int32), (steps, 1)), axis=1).ravel()[:events]
    types = random.integers(0, TYPES, events, dtype=np.int8)
    step, position = np.divmod(np.arange(events, dtype=np.int64), keys)
    return Events(order, types, START_MS + step * 10 * keys + position, random.random(events), keys)


def draw_profiles(count: int, seed: int = 5) -> list[PairProfile]:
    """Profiles that all differ; each wants a hundredth of the events of its first type, for 2, 5 or 10 steps.

    >>> draw_profiles(1000)[:10] == draw_profiles(10)
    True
    """
    random = np.random.default_rng(seed)
    profiles = []
    for _ in range(count):
        first, shift = int(random.integers(TYPES)), int(random.integers(1, TYPES))
        low = round(float(random.uniform(0.0, 0.99)), 6)
        steps = (2, 5, 10)[int(random.integers(3))]
        profiles.append(PairProfile(first, (first + shift) % TYPES, low, round(low + 0.01, 6), steps))
    return profiles


def count_sequences(
    grid: Grid, window_ms: int, types: Sequence[int], barred: Sequence[tuple[int, ...]] | None = None
) -> int:
    """How many sequences of events of these types there are; `barred[i]` are types that must not occur strictly between
    the parts i and i + 1.

    `ways[i]` counts, for each event, in how many ways the parts from i + 1 on can be placed later than the lag at hand.
    """
    first, *rest = types
    barred = barred or [()] * len(rest)
    ways = [np.zeros(grid.types.shape, np.int64) for _ in rest] + [np.ones(grid.types.shape, np.int64)]
    for lag in range(grid.reach(window_ms), 0, -1):
        ahead = grid.ahead(lag, window_ms)
        for part, wanted in enumerate(rest):
            for kind in barred[part]:
                ways[part][ahead == kind] = 0
            ways[part] += ways[part + 1] * (ahead == wanted)
    return int(ways[0][grid.types == first].sum())


def brute_force_pairs(events: Events) -> int:
    """Each A with each B in its window.

    >>> brute_force_pairs(draw_events(4000, keys=100))
    276
    """
    return count_sequences(events.grid, events.window_ms(), (A, B))


def brute_force_and(events: Events) -> int:
    """Each A, B and C that are in one window: as no two times of a key are equal, the sequences in all orders."""
    return sum(count_sequences(events.grid, events.window_ms(), order) for order in permutations((A, B, C)))


def brute_force_negated(events: Events) -> int:
    """Each A, B, C and D in this order in one window, without an N between A and B."""
    return count_sequences(events.grid, events.window_ms(), (A, B, C, D), ((N,), (), ()))


def brute_force_first(events: Events, types: Sequence[int], barred: tuple[int, ...] = ()) -> int:
    """Each first event with the first of the next type after it, and so on; without a barred one before the second."""
    between = [(types[1], *barred), *((wanted,) for wanted in types[2:])]
    return count_sequences(events.grid, events.window_ms(), types, between)


def brute_force_absences(events: Events) -> int:
    """Each A without a B in its window, also where the window reaches past the last event."""
    grid, window = events.grid, events.window_ms()
    alone: Bools = grid.types == A
    for lag in range(1, grid.reach(window) + 1):
        alone &= grid.ahead(lag, window) != B
    return int(alone.sum())


def brute_force_profiles(events: Events, profiles: Sequence[PairProfile]) -> list[int]:
    """For each profile its pairs."""
    grid = events.grid
    ahead = {}
    for steps in {profile.steps for profile in profiles}:
        window = events.window_ms(steps)
        ahead[steps] = [grid.ahead(lag, window).ravel() for lag in range(1, grid.reach(window) + 1)]
    places = [np.flatnonzero(grid.types.ravel() == kind) for kind in range(TYPES)]
    places = [place[np.argsort(grid.values.ravel()[place], kind="stable")] for place in places]
    values = [grid.values.ravel()[place] for place in places]
    counts = []
    for profile in profiles:
        low, high = np.searchsorted(values[profile.first], (profile.low, profile.high))
        chosen = places[profile.first][low:high]
        counts.append(sum(int((later[chosen] == profile.second).sum()) for later in ahead[profile.steps]))
    return counts


BRUTE_FORCE: dict[str, Callable[[Events], int]] = {
    "pair": brute_force_pairs,
    "pair_first": partial(brute_force_first, types=(A, B)),
    "and3": brute_force_and,
    "negated": brute_force_negated,
    "negated_first": partial(brute_force_first, types=(A, B, C, D), barred=(N,)),
    "absence": brute_force_absences,
}
"""How often each of `PATTERNS` occurs."""
