"""The live engine: events a second singly and in batches, latency, profiles added meanwhile, memory as time goes on.

    python benchmarks/engine.py [--profiles N ...] [--events N] [--quick] [--out FILE]

The floor is what has to be done for any engine: decoding each line, or scanning lines as columns. Rates of events are
by the processor's time, latencies and adds by the clock. Profiles are added in ten groups between batches, to a tenth
more of them; the rate kept is that of the batches between, beside that before.
Memory is what a snapshot takes, and the process, after each of some days of events that are remembered for six hours.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

from workload_pipeline import MACHINES, write_federation

from comity.engine.live import EnginePace, LiveEngine
from comity.event.formats.jsonlines import decode
from comity.event.scan.scanner import LineScanner
from comity.federation import load
from comity.limits import limited
from comity.plan import Plan, compile_plan

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
BATCH = 8_192
GROUPS = 10
DAYS = 5
FOREVER = EnginePace(timedelta(hours=1), None)


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """What a number of profiles gave; rates are events, or profiles, a second."""

    profiles: int
    decoding: float
    singly: float
    p50_us: float
    p99_us: float
    scanning: float
    batches: float
    adds: float
    kept: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What there is after a day of events."""

    day: int
    events: int
    snapshot_bytes: int
    process_mb: float


def lines(count: int, *, begin: int = 0, every: timedelta = timedelta(milliseconds=10)) -> list[bytes]:
    """Readings of machines, as the pipeline's benchmark has them."""
    chance = random.Random(begin)
    return [_line(chance, number, BEGIN + number * every) for number in range(begin, begin + count)]


def _line(chance: random.Random, number: int, at: datetime) -> bytes:
    data = {
        "machine": f"m-{chance.randrange(MACHINES)}",
        "temperature": round(chance.uniform(32, 212), 3),
        "load": chance.randrange(1_000),
        "pressure": round(chance.uniform(0, 10), 4),
        "status": chance.choice(("ok", "warn", "alarm", "off")),
        "test": chance.random() < 0.1,
        "vibration": round(chance.uniform(0, 1_000), 1),
        "shift": chance.randrange(3),
    }
    record = {"specversion": "1.0", "id": f"e-{number}", "source": "plant/line-1", "type": "plant.Reading"}
    return json.dumps({**record, "time": at.isoformat().replace("+00:00", "Z"), "data": data}).encode()


def with_profiles(plan: Plan, count: int) -> Plan:
    """The plan with the first of its profiles."""
    (route,) = (one for one in plan.routes if one.mediate is not None)
    kept = tuple(one for one in route.deliveries if int(one.profile[1:]) < count)
    return replace(plan, routes=(replace(route, deliveries=kept),))


def rate(work: Callable[[], object], count: int) -> float:
    """So many a second of processor time, since others may be at work on the machine."""
    started = time.process_time()
    work()
    return count / (time.process_time() - started)


def batches_of(events: list[bytes]) -> Iterator[list[bytes]]:
    return (events[at : at + BATCH] for at in range(0, len(events), BATCH))


def measure(plan: Plan, profiles: int, events: list[bytes]) -> EngineFigures:
    base = with_profiles(plan, profiles)
    types = {one.qualified_name: one for one in plan.types}.get
    some = events[: max(1, len(events) // 10)]
    engine = LiveEngine(base, FOREVER)
    engine.push_all(lines(BATCH, begin=10**9))  # kernels are loaded, or compiled
    engine.push(some[0])
    scanner = LineScanner(plan.types, require_time=True, simple_names=False)
    scanner.scan(pa.array(some, pa.binary()))
    decoding = rate(lambda: [decode(line, types, require_time=True) for line in some], len(some))
    took, begun = [], time.process_time()
    for line in some:
        started = time.perf_counter()
        engine.push(line)
        took.append(time.perf_counter() - started)
    singly = len(some) / (time.process_time() - begun)
    scanning = rate(lambda: [scanner.scan(pa.array(each, pa.binary())) for each in batches_of(events)], len(events))
    batches = rate(lambda: [engine.push_all(each) for each in batches_of(events)], len(events))
    adds, kept = _adding(engine, plan, profiles, events)
    percentiles = statistics.quantiles(took, n=100)
    return EngineFigures(
        profiles,
        decoding,
        singly,
        percentiles[49] * 1e6,
        percentiles[98] * 1e6,
        scanning,
        batches,
        adds,
        kept / batches,
    )


def _adding(engine: LiveEngine, plan: Plan, profiles: int, events: list[bytes]) -> tuple[float, float]:
    """Profiles added a second, and events a second in the batches between."""
    adding_s = pushing_s = 0.0
    pushed = list(batches_of(events))
    for group in range(1, GROUPS + 1):
        more = with_profiles(plan, profiles + profiles // 10 * group // GROUPS)
        started = time.perf_counter()
        engine.change(more)
        adding_s += time.perf_counter() - started
        changed = time.process_time()
        for each in pushed[:: len(pushed) // 4 or 1]:
            engine.push_all(each)
        pushing_s += time.process_time() - changed
    count = sum(len(each) for each in pushed[:: len(pushed) // 4 or 1]) * GROUPS
    return (profiles // 10) / adding_s, count / pushing_s


def memory(plan: Plan, a_day: int) -> Iterator[Memory]:
    """Day after day of events, every one of which is delivered."""
    engine = LiveEngine(plan, EnginePace(timedelta(minutes=5), timedelta(hours=6)))
    every = timedelta(days=1) / a_day
    for day in range(DAYS):
        for line in lines(a_day, begin=day * a_day, every=every):
            engine.push(line)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        yield Memory(day + 1, (day + 1) * a_day, len(engine.snapshot()), used)


def everything(folder: Path) -> Plan:
    """A plan with a profile that wants every event."""
    write_federation(folder, 0)
    (folder / "profiles.yaml").write_text("profiles:\n  all: {domain: office, on: Measurement}\n")
    return compile_plan(load(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=int, nargs="+", default=[20, 1_000, 10_000])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="fewer events and profiles")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    counts, events = ([20, 1_000], lines(40_000)) if given.quick else (given.profiles, lines(given.events))
    with tempfile.TemporaryDirectory() as folder, limited(max_file_bytes=1_000_000_000):
        found = []
        for count in counts:
            write_federation(Path(folder) / "federation", count + max(10, count // 10))
            found.append(measure(compile_plan(load(Path(folder) / "federation")), count, events))
            _show("events and profiles a second", found)
        grown = list(memory(everything(Path(folder) / "all"), 5_000 if given.quick else 20_000))
        _show("memory as time goes on", grown)
    if given.out is not None:
        written = {"engine": [asdict(one) for one in found], "memory": [asdict(one) for one in grown]}
        given.out.write_text(json.dumps(written, indent=1) + "\n")


def _show(title: str, rows: list[EngineFigures] | list[Memory]) -> None:
    names = list(asdict(rows[0]))
    table = Table(*(name.replace("_", " ") for name in names), title=title)
    for row in rows:
        table.add_row(*(_shown(value) for value in asdict(row).values()))
    Console(width=140).print(table)


def _shown(value: float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
