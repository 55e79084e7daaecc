"""How many events a second composite profiles are detected over.

`python benchmarks/detect.py [--events N] [--spark-events N] [--parts compare,spark,grow,soak] [--quick] [--out FILE]`

*compare*: pairs, a conjunction of 3, a sequence of 4 with a negation, a trailing absence, and many profiles, in this
process, with Flink CEP and Siddhi in the same run (`peers_detect.py` fetches them from their public packages). Each
peer has two forms: all events in one stream, and only those that the pattern needs. *spark*: pairs over files, on
Spark, in batch and as a stream. *grow*: events a second and state against the number of keys, profiles and steps in the
window. *soak*: 10 million events in batches, with the state at several points. Everything runs on one core; every
number of matches is compared with brute force. Times are processor time, which other processes disturb less, and wall
time; on Spark processor time is that of this process, of Java and of its workers together.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from comity_detect import Columns, Run, bound, run_in_batches, run_in_process, texts_of  # isort: skip
from peers_detect import CannotRun, PeerResult, expected, run_flink, run_siddhi  # isort: skip
from workload_detect import EVENTS, KEYS, STEPS, draw_events  # isort: skip

PARTS = ("compare", "spark", "grow", "soak")
WORKLOADS = ("pair", "and3", "negated", "absence")
MANY = 1_000
SPARK_EVENTS = 10_000_000
GOALS = {
    "Comity": 5,
    "Comity on Spark, JSON Lines": 1.3,
    "Comity on Spark, Parquet": 2,
    "Comity on Spark, stream": 1,
}
"""How many times as fast as the fastest form of a peer pairs are to be detected."""
PEERS: dict[str, Callable[..., PeerResult]] = {
    "Flink CEP": run_flink,
    "Flink CEP, filtered": partial(run_flink, filtered=True),
    "Siddhi": run_siddhi,
    "Siddhi, a stream a type": partial(run_siddhi, streams=True),
}


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    part: str
    workload: str
    engine: str
    events: int
    seconds: float
    cpu_seconds: float
    matches: int
    expected: int | None
    profiles: int = 1
    keys: int = KEYS
    steps: int = STEPS
    kept: int = 0
    state_bytes: int = 0

    @property
    def per_cpu_s(self) -> float:
        return self.events / self.cpu_seconds

    @property
    def per_s(self) -> float:
        return self.events / self.seconds


def main() -> None:
    arguments = _arguments()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    rows: list[Row] = []
    for part in arguments.parts:
        rows += _PARTS[part](arguments)
    _show_goals([row for row in rows if row.workload == "pair" and row.part in ("compare", "spark")])
    if arguments.out:
        figures = {"machine": platform.machine(), "rows": [asdict(one) for one in rows]}
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--spark-events", type=int, default=SPARK_EVENTS)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS)
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=WORKLOADS)
    parser.add_argument("--peer-profiles", type=int, default=10, help="profiles of `many` that peers get")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.events //= 10
        arguments.spark_events //= 10
    return arguments


# Compare


def compare(arguments: argparse.Namespace) -> list[Row]:
    """Comity in this process, and the peers."""
    events = draw_events(arguments.events)
    columns = Columns.of(events)
    rows: list[Row] = []
    for workload in arguments.workloads:
        own = list(_own(columns, workload, 1))
        rows += own + list(_peers(workload, events, 1))
        _show(f"{workload}, {len(events):,} events", rows, workload)
    many = list(_own(columns, "many", arguments.peer_profiles)) + list(_peers("many", events, arguments.peer_profiles))
    many += _own(columns, "many", MANY)
    _show("many profiles", many, "many")
    return rows + many


def _own(columns: Columns, workload: str, profiles: int) -> Iterator[Row]:
    patterns = bound(texts_of(workload, columns.events, profiles))
    right = expected(workload, columns.events, profiles)
    for name, run in {"Comity": run_in_process, "Comity, in 20 batches": run_in_batches}.items():
        run(columns, patterns)  # once to load the kernels
        yield _row("compare", workload, name, run(columns, patterns), right, profiles=profiles)


def _peers(workload: str, events: object, profiles: int) -> Iterator[Row]:
    for name, run in PEERS.items():
        try:
            found = run(workload, events, profiles)
        except CannotRun as error:
            print(f"  {name}: {error}")
            continue
        took = (found.events, found.seconds, found.cpu_seconds, found.matches)
        yield Row("compare", workload, name, *took, expected(workload, events, profiles), profiles)  # type: ignore[arg-type]


def _row(part: str, workload: str, engine: str, run: Run, right: int | None, **more: int) -> Row:
    figures = {"kept": run.kept, "state_bytes": run.state_bytes} | more
    return Row(part, workload, engine, run.events, run.seconds, run.cpu_seconds, run.matches, right, **figures)


# Growth and soak


def grow(arguments: argparse.Namespace) -> list[Row]:
    """What keys, steps in the window and profiles cost."""
    rows = []
    warm = draw_events(10_000)
    run_in_batches(Columns.of(warm), bound(texts_of("many", warm, 2)))  # to load the kernels
    for keys in (10, 100, 1_000, 10_000, 100_000):
        events = draw_events(arguments.events, keys)
        columns, patterns = Columns.of(events), bound(texts_of("pair", events))
        rows.append(_row("grow", "pair", "keys", run_in_batches(columns, patterns), None, keys=keys))
    events = draw_events(arguments.events)
    columns = Columns.of(events)
    for steps in (1, 10, 100, 1_000):
        patterns = bound(texts_of("pair", events, steps=steps))
        rows.append(_row("grow", "pair", "steps", run_in_batches(columns, patterns), None, steps=steps))
    for profiles in (1, 10, 100, 1_000):
        patterns = bound(texts_of("many", events, profiles))
        right = expected("many", events, profiles)
        rows.append(_row("grow", "many", "profiles", run_in_batches(columns, patterns), right, profiles=profiles))
    _show_growth("how cost grows (in 20 batches, with the state handed on)", rows)
    return rows


def soak(arguments: argparse.Namespace) -> list[Row]:
    """State that does not grow, however long the stream is."""
    rows = []
    for share in (0.1, 0.5, 1.0):
        events = draw_events(int(5 * arguments.events * share))
        run = run_in_batches(Columns.of(events), bound(texts_of("negated", events)))
        rows.append(_row("soak", "negated", "soak", run, expected("negated", events, 1)))
    _show_growth("soak", rows)
    return rows


# Spark


def on_spark(arguments: argparse.Namespace) -> list[Row]:
    """Pairs over files, on one core of Spark, and many profiles at once."""
    from spark_detect import run_spark  # Spark takes its time to load

    rows = []
    for workload, profiles, count in (("pair", 1, arguments.spark_events), ("many", MANY, arguments.events)):
        found = run_spark(count, arguments.folder, profiles)
        rows += [_row("spark", workload, name, run, right, profiles=profiles) for name, run, right in found]
        _show(f"on Spark, {count:,} events", rows, workload)
    return rows


# Tables


def _show(title: str, rows: list[Row], workload: str) -> None:
    print(f"\n{title}\n{'':<28}{'profiles':>9}{'events/CPU s':>15}{'events/s':>13}{'matches':>11}")
    for row in (one for one in rows if one.workload == workload):
        right = "" if row.expected in (None, row.matches) else f"  WRONG, {row.expected:,} are right"
        print(f"{row.engine:<28}{row.profiles:>9,}{row.per_cpu_s:>15,.0f}{row.per_s:>13,.0f}{row.matches:>11,}{right}")


def _show_growth(title: str, rows: list[Row]) -> None:
    print(f"\n{title}\n{'':<10}{'events':>12}{'keys':>9}{'steps':>7}{'profiles':>9}", end="")
    print(f"{'events/CPU s':>14}{'kept':>11}{'MB':>8}")
    for row in rows:
        print(
            f"{row.engine:<10}{row.events:>12,}{row.keys:>9,}{row.steps:>7,}{row.profiles:>9,}{row.per_cpu_s:>14,.0f}"
            f"{row.kept:>11,}{row.state_bytes / 1e6:>8.1f}"
        )


def _show_goals(rows: list[Row]) -> None:
    """How pairs compare with the fastest form of a peer, if peers ran."""
    peers = [row for row in rows if row.engine in PEERS]
    if not peers:
        return
    peer = max(peers, key=lambda row: row.per_s)
    print(f"\ngoals for pairs, beside {peer.engine}, {peer.per_s:,.0f} events/s\n{'':<28}{'times':>9}{'goal':>6}")
    for row in (one for one in rows if one.engine in GOALS):
        times, goal = row.per_s / peer.per_s, GOALS[row.engine]
        judged = "met" if times >= goal else f"missed by {1 - times / goal:.0%}"
        print(f"{row.engine:<28}{times:>9.2f}{goal:>6}  {judged}")
    print("Peers have the events in memory, and count matches. On Spark events are read from files and checked, and")
    print("reports are lines with an identity, in order, or in a stream in files, each once whatever is killed.")


_PARTS = {"compare": compare, "spark": on_spark, "grow": grow, "soak": soak}

if __name__ == "__main__":
    main()
