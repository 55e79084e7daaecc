"""What it costs to store events for durable subscribers, beside appending the same bytes to a file with fdatasync.

    python benchmarks/store.py [--seconds S] [--rounds N] [--held N] [--quick] [--out FILE]

Groups: one publisher stores so many events at once, and waits until they are on the disk; the floor writes as many
bytes and waits for fdatasync. Both are rates on the clock, since the disk is what is waited for, and alternate on the
same disk; the best round of each counts. Beside them stands the processor time of an event here, in all threads: on a
machine that others use, too, the clock counts what they take, which is much for us and little for the floor.
Publishers: so many at once, each with one event at a time, so that commits bring them together; the floor is that of
the group which came about on average. Held: events that wait for a client, read from its cursor, without a filter and
with one that wants one in a hundred, and the time until a store that holds them is open again; the floor reads the same
lines from a file.

The folder is made in the current one, or where `--folder` says: the disk that counts is the one that brokers have.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from comity.server.store import NewEvent, SqliteStore, StoredEvent, StoredSubscription, open_store

GROUPS = (1, 64, 256, 1_024, 4_096)
PUBLISHERS = (1, 64, 1_000)
LINE_BYTES = 200
GOAL = 0.5
"""The share of the floor that a group is to reach."""


@dataclass(frozen=True)
class Measured:
    """A case: events a second here and at the floor, and, where somebody waits for each, how long."""

    name: str
    rate: float
    floor: float
    p50_ms: float | None = None
    p99_ms: float | None = None
    group: float | None = None
    cpu_us: float | None = None

    @property
    def share(self) -> float:
        return self.rate / self.floor

    @property
    def row(self) -> list[str]:
        waits = [f"{one:.1f}" if one is not None else "" for one in (self.p50_ms, self.p99_ms)]
        group = f"{self.group:.0f}" if self.group is not None else ""
        cpu = f"{self.cpu_us:.1f}" if self.cpu_us is not None else ""
        return [self.name, f"{self.rate:,.0f}", f"{self.floor:,.0f}", f"{self.share:.0%}", cpu, *waits, group]


def event(number: int) -> NewEvent:
    line = b'{"id":"%d","source":"/quotes","type":"stocks.Quote","data":{"pad":"' % number
    return NewEvent("/quotes", str(number), line.ljust(LINE_BYTES - 3, b"x") + b'"}}')


class Numbers:
    """New events, as many as are asked for."""

    def __init__(self) -> None:
        self._next = 0

    def take(self, count: int) -> list[NewEvent]:
        self._next += count
        return [event(number) for number in range(self._next - count, self._next)]


def floor_rate(folder: Path, group: int, seconds: float) -> float:
    """Lines a second that are appended and synced so many at a time."""
    handle = os.open(folder / "floor", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    together, count, started = b"x" * LINE_BYTES * group, 0, time.monotonic()
    while time.monotonic() - started < seconds:
        os.write(handle, together)
        os.fdatasync(handle)
        count += group
    taken = time.monotonic() - started
    os.close(handle)
    (folder / "floor").unlink()
    return count / taken


async def store_rate(store: SqliteStore, numbers: Numbers, group: int, seconds: float) -> tuple[float, float]:
    """The same for the store, of events that are made before the clocks run, and the processor time of an event."""
    count, taken, cpu = 0, 0.0, 0.0
    while taken < seconds:
        events = numbers.take(group)
        started, before = time.monotonic(), time.process_time()
        await store.append(events)
        taken += time.monotonic() - started
        cpu += time.process_time() - before
        count += group
    return count / taken, 1e6 * cpu / count


async def measure_group(folder: Path, store: SqliteStore, numbers: Numbers, group: int, args: Any) -> Measured:
    rounds, floors = [], []
    for _ in range(args.rounds):
        floors.append(floor_rate(folder, group, args.seconds))
        rounds.append(await store_rate(store, numbers, group, args.seconds))
    rate, cpu_us = max(one for one, _ in rounds), min(one for _, one in rounds)
    return Measured(f"group of {group:,}", rate, max(floors), cpu_us=cpu_us)


async def measure_publishers(folder: Path, store: SqliteStore, numbers: Numbers, many: int, args: Any) -> Measured:
    waits: list[float] = []
    commits = await count_commits(store)

    async def publish(until: float) -> None:
        while time.monotonic() < until:
            events = numbers.take(1)
            started = time.monotonic()
            await store.append(events)
            waits.append(time.monotonic() - started)

    started = time.monotonic()
    await asyncio.gather(*(publish(started + args.seconds * args.rounds) for _ in range(many)))
    taken = time.monotonic() - started
    waits.sort()
    group = len(waits) / max(1, await count_commits(store) - commits)
    p50, p99 = (1e3 * waits[int(len(waits) * share)] for share in (0.5, 0.99))
    floor = floor_rate(folder, max(1, round(group)), args.seconds)
    return Measured(f"{many:,} publishers", len(waits) / taken, floor, p50, p99, group)


async def count_commits(store: SqliteStore) -> int:
    """Commits that stored something, so far."""
    found = await store._read(lambda database: database.execute("select count(*) from known").fetchone()[0])
    return int(found)


async def measure_held(folder: Path, held: int) -> list[Measured]:
    """Fill a store, open it again, and read all."""
    place, numbers = folder / "held", Numbers()
    async with open_store(place) as store:
        await store.keep(StoredSubscription("reader", "all", "true"))
        for _ in range(0, held, 4_096):
            await store.append(numbers.take(4_096))
    with (folder / "lines").open("wb") as stream:
        stream.writelines(event(number).line + b"\n" for number in range(numbers._next))
    started = time.monotonic()
    async with open_store(place) as store:
        opening = time.monotonic() - started
        print(f"a store with {store.last:,} events that wait is open again after {opening:.2f} s", flush=True)
        floor = timed_rate(lambda: sum(1 for _ in (folder / "lines").open("rb")))
        everything = await reading_rate(lambda: read_all(store, None))
        some = await reading_rate(lambda: read_all(store, one_in_a_hundred))
    return [
        Measured("read, everything", everything, floor),
        Measured("read, one in a hundred", some, floor),
        Measured("open again, events", held / opening, floor),
    ]


def one_in_a_hundred(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    return [one for one in events if one.sequence % 100 == 0]


async def read_all(store: SqliteStore, choose: Any) -> int:
    position = 0
    while position < store.last:
        position = (await store.read(position, choose)).position
    return position


def timed_rate(work: Callable[[], int]) -> float:
    started = time.monotonic()
    count = work()
    return count / (time.monotonic() - started)


async def reading_rate(work: Callable[[], Coroutine[Any, Any, int]]) -> float:
    started = time.monotonic()
    count = await work()
    return count / (time.monotonic() - started)


async def measure(folder: Path, args: Any) -> list[Measured]:
    numbers = Numbers()
    found: list[Measured] = []
    async with open_store(folder / "store") as store:
        await store.keep(StoredSubscription("reader", "all", "true"))
        found += [await measure_group(folder, store, numbers, group, args) for group in GROUPS]
        found += [await measure_publishers(folder, store, numbers, many, args) for many in PUBLISHERS]
    return [*found, *await measure_held(folder, args.held)]


def show(found: list[Measured]) -> None:
    table = Table("case", "events/s", "floor", "share", "CPU µs", "p50 ms", "p99 ms", "group", title="durable store")
    for one in found:
        table.add_row(*one.row)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--held", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--quick", action="store_true", help="a first look")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.quick:
        args.seconds, args.rounds, args.held = 0.3, 1, 100_000
    with tempfile.TemporaryDirectory(prefix=".store-", dir=args.folder) as folder:
        found = asyncio.run(measure(Path(folder), args))
    show(found)
    if args.out is not None:
        results = [asdict(one) | {"share": one.share} for one in found]
        content = {"machine": platform.machine(), "cpus": os.cpu_count(), "goal": GOAL, "results": results}
        args.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
