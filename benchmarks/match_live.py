"""How fast events are matched while profiles are added.

`python benchmarks/match_live.py [--standing N] [--added N] [--runs N] [--batch N] [--workload NAME] [--out FILE]`

A thread matches without a pause, in batches and then one event at a time. Beside it another one calls `add_all`. Each
run takes the rate just before the call, during it, and after it, when the added profiles stand in a small part of
their own; then the profiles are removed again and the index is compacted. On a machine that does other things too,
only the ratios of one run say something, and the best of them says most.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, sleep

from comity.expression.tree import Expression
from comity.match.live import LiveIndex

from match import rows_of  # isort: skip
from workload_match import WORKLOADS, World  # isort: skip

SAMPLE = 20_000
WINDOW_S = 1.0


@dataclass(frozen=True)
class Run:
    """Rates in events a second, and how long the call took."""

    way: str
    before: float
    during: float
    after: float
    add_s: float

    @property
    def kept(self) -> float:
        return self.during / self.before


class Matching:
    """A thread that matches until the end of the block; `seen` counts its events."""

    def __init__(self, match: Callable[[], int]) -> None:
        self.seen = 0
        self._match = match
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.seen += self._match()

    def __enter__(self) -> Matching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def rate(self, work: Callable[[], object]) -> tuple[float, float]:
        """Events a second while something is done, and the seconds that it took."""
        start, seen = perf_counter(), self.seen
        work()
        seconds = perf_counter() - start
        return (self.seen - seen) / seconds, seconds


def measure(index: LiveIndex, way: str, match: Callable[[], int], added: list[Expression]) -> Run:
    """One run; the index is afterwards as it was."""
    numbers: list[int] = []
    match()  # the first call may compile kernels, for longer than rates are taken

    def pause() -> None:
        sleep(WINDOW_S)

    with Matching(match) as matching:
        pause()
        before, _ = matching.rate(pause)
        during, add_s = matching.rate(lambda: numbers.extend(index.add_all(added)))
        after, _ = matching.rate(pause)
    for number in numbers:
        index.remove(number)
    index.compact()
    return Run(way, before, during, after, add_s)


def matchers(index: LiveIndex, world: World, size: int) -> dict[str, Callable[[], int]]:
    """Ways to match some events; each gives their number."""
    batch = world.events(size, seed=3)
    rows = rows_of(batch.slice(0, 200))

    def in_batches() -> int:
        index.match(batch)
        return size

    def singly() -> int:
        for row in rows:
            index.match_one(row)
        return len(rows)

    return {"in batches": in_batches, "singly": singly}


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--standing", type=int, default=100_000, help="profiles that are there all the time")
    parser.add_argument("--added", type=int, default=10_000, help="profiles that are added in one call")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=1024, help="events of a batch")
    parser.add_argument("--workload", default="med", choices=list(WORKLOADS))
    parser.add_argument("--out", type=Path, help="write the numbers to this file as JSON")
    options = parser.parse_args()
    world = World()
    profiles = world.profiles(options.standing + options.added, options.workload)
    index = LiveIndex(profiles[: options.standing], sample=world.events(SAMPLE, seed=99))
    runs: list[Run] = []
    for way, match in matchers(index, world, options.batch).items():
        print(f"\n{way}: {options.added:,} profiles added to {options.standing:,}")
        print(f"  {'before/s':>10}{'during/s':>10}{'kept':>7}{'after/s':>10}{'kept':>7}{'add_all s':>11}")
        mine = [measure(index, way, match, profiles[options.standing :]) for _ in range(options.runs)]
        for run in sorted(mine, key=lambda run: -run.kept):
            after = run.after / run.before
            rates = f"{run.before:>10,.0f}{run.during:>10,.0f}{run.kept:>7.0%}{run.after:>10,.0f}{after:>7.0%}"
            print(f"  {rates}{run.add_s:>11.2f}", flush=True)
        runs += mine
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")


if __name__ == "__main__":
    main()
