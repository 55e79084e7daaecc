"""How many events a second are matched against many profiles.

`python benchmarks/match.py [--sizes 1000,10000,…] [--workloads med,sel,broad,range] [--quick] [--out FILE]`

Peers in the same run: *naive* tests every filter (compiled to closures), *counting, dicts* and *counting, numba* are
the usual counting algorithm in Python and compiled (`peers_match.py`). *index* is ours from an Arrow batch to offsets
and ids, *index, kernel* without turning values into ranks, *index, singly* one event at a time from a Python mapping
(`match_singly.py` has public matchers beside that). Every engine's result is compared with that of the others. Times
are processor time, the best of several runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from comity.expression.tree import Expression
from comity.match.index import Matches, ProfileIndex, rank_batch
from comity.match.predicates import read_predicates
from comity.match.ranks import Ranking

from peers_match import CountingDicts, CountingNumba, Naive  # isort: skip
from workload_match import WORKLOADS, World  # isort: skip

EVENTS = 16_384
SAMPLE = 20_000
MOST_FOR_PYTHON = 100_000
"""Profiles up to which peers in plain Python are measured."""

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """One engine on one workload."""

    engine: str
    events_per_s: float
    matches_per_event: float
    build_s: float | None = None
    bytes_per_profile: float | None = None
    workload: str = ""
    profiles: int = 0


def best(work: Callable[[], T], runs: int, at_most_s: float = 20.0) -> tuple[float, T]:
    """The least time of several runs, and the result."""
    times: list[float] = []
    while len(times) < runs and (len(times) < 1 or sum(times) < at_most_s):
        start = process_time()
        result = work()
        times.append(process_time() - start)
    return min(times), result


def rows_of(batch: pa.RecordBatch) -> list[dict[tuple[str, ...], Any]]:
    """Events as mappings; what is missing is left out."""
    return [{(name,): value for name, value in row.items() if value is not None} for row in batch.to_pylist()]


def measure(world: World, workload: str, size: int, quick: bool) -> list[Result]:
    """All engines on one workload."""
    profiles = world.profiles(size, workload)
    batch = world.events(EVENTS, seed=3)
    runs = 3 if quick else 7
    found, matches = measure_index(profiles, batch, world.events(SAMPLE, seed=99), runs)
    found += measure_counting(profiles, batch, matches)
    if size <= MOST_FOR_PYTHON:
        found += measure_python(profiles, batch, matches)
    return [replace(result, workload=workload, profiles=size) for result in found]


def measure_index(
    profiles: list[Expression], batch: pa.RecordBatch, sample: pa.RecordBatch, runs: int
) -> tuple[list[Result], Matches]:
    """Ours, in batches and singly."""
    start = process_time()
    index = ProfileIndex.build(profiles, sample=sample)
    build = process_time() - start
    index.match(batch)
    seconds, matches = best(lambda: index.match(batch), runs)
    per_event = len(matches.ids) / EVENTS
    whole = Result("index", EVENTS / seconds, per_event, build, index.nbytes / len(profiles))
    ranks = rank_batch(index.rankings, batch, {})
    seconds, _ = best(lambda: index.match_ranks(ranks, lambda: batch), runs)
    kernel = Result("index, kernel", EVENTS / seconds, per_event)
    rows = rows_of(batch.slice(0, 500))
    index.match_one(rows[0])
    seconds, each = best(lambda: [index.match_one(row) for row in rows], runs)
    check(matches, each, "index, singly")
    return [whole, kernel, Result("index, singly", len(rows) / seconds, per_event)], matches


def measure_counting(profiles: list[Expression], batch: pa.RecordBatch, matches: Matches) -> list[Result]:
    """The compiled counting matcher, over ranks that are given."""
    table = read_predicates(profiles)
    events = min(EVENTS, max(64, 200_000_000 // len(profiles)))
    ranks = rank_batch([Ranking(layout) for layout in table.layouts], batch.slice(0, events), {})
    start = process_time()
    counting = CountingNumba(table, len(profiles))
    build = process_time() - start
    counting.match(ranks[:, :2])
    seconds, (offsets, ids) = best(lambda: counting.match(ranks), 3)
    counted = Matches(offsets, ids)
    check(matches, [counted.of(event) for event in range(min(events, 2000))], "counting, numba")
    return [Result("counting, numba", events / seconds, len(ids) / events, build)]


def measure_python(profiles: list[Expression], batch: pa.RecordBatch, matches: Matches) -> list[Result]:
    """Peers in plain Python."""
    rows = rows_of(batch.slice(0, max(5, min(1000, 2_000_000 // len(profiles)))))
    found = []
    for name, engine in (("counting, dicts", CountingDicts), ("naive", Naive)):
        gc.collect()
        start = process_time()
        peer = engine(profiles)
        build = process_time() - start
        seconds, answers = best(lambda match=peer.match: [match(row) for row in rows], 2)
        check(matches, answers, name)
        found.append(Result(name, len(rows) / seconds, sum(map(len, answers)) / len(rows), build))
    return found


def check(matches: Matches, answers: list[list[int]], engine: str) -> None:
    """Every engine gives the same."""
    for event, answer in enumerate(answers):
        if matches.of(event) != sorted(answer):
            raise SystemExit(f"{engine} and the index differ on event {event}")


def print_table(results: list[Result]) -> None:
    ours = next(result for result in results if result.engine == "index")
    kernel = next(result for result in results if result.engine == "index, kernel")
    first = results[0]
    print(f"\n{first.workload}, {first.profiles:,} profiles, {first.matches_per_event:,.1f} matches an event")
    print(f"  {'engine':<18}{'events/s':>12}{'index is':>11}{'kernel is':>11}{'build s':>9}{'bytes/profile':>15}")
    for result in sorted(results, key=lambda result: -result.events_per_s):
        times, kernel_times = (one.events_per_s / result.events_per_s for one in (ours, kernel))
        build = "" if result.build_s is None else f"{result.build_s:.2f}"
        memory = "" if result.bytes_per_profile is None else f"{result.bytes_per_profile:.0f}"
        rates = f"{result.events_per_s:>12,.0f}{times:>9,.1f} ×{kernel_times:>9,.1f} ×"
        print(f"  {result.engine:<18}{rates}{build:>9}{memory:>15}", flush=True)


def warm_up(world: World) -> None:
    """Loads the compiled kernels."""
    profiles, batch = world.profiles(200, "med"), world.events(600, seed=1)
    index = ProfileIndex.build(profiles, sample=batch)
    index.match(batch)
    index.match(batch.slice(0, 10))
    table = read_predicates(profiles)
    CountingNumba(table, 200).match(rank_batch([Ranking(layout) for layout in table.layouts], batch, {}))


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", default="1000,10000,100000,1000000", help="numbers of profiles, with commas between them"
    )
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="workloads, with commas between them")
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 profiles, fewer runs")
    parser.add_argument("--out", type=Path, help="write the numbers to this file as JSON")
    options = parser.parse_args()
    sizes = [1000, 10_000] if options.quick else [int(size) for size in options.sizes.split(",")]
    world = World()
    warm_up(world)
    results: list[Result] = []
    for workload in options.workloads.split(","):
        for size in sizes:
            found = measure(world, workload, size, options.quick)
            print_table(found)
            results += found
            if options.out:
                machine = {"machine": platform.machine(), "python": platform.python_version(), "numpy": np.__version__}
                options.out.parent.mkdir(parents=True, exist_ok=True)
                report = {**machine, "results": [asdict(result) for result in results]}
                options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
