"""What a stream sustains, and how long an event takes through it.

    python benchmarks/stream.py [--seconds N] [--profiles N] [--file-events N] [--quick] [--out FILE]

Files of events are made beforehand and appear in the stream's folder at a steady rate. Twice the load that it can take
gives the sustained rate: what is done while it is always behind. Then events come at 10 %, 50 % and 90 % of that rate;
an event's latency is the time from the appearance of its file to the publication of its batch, results on disk and
identities noted. The lag grows if files of the last third wait longer than those of the second one by half.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

from workload_pipeline import write_events, write_federation

from comity.federation.watch import WatchedFederation
from comity.pipeline.doubts import NO_DOUBTS, Doubts
from comity.pipeline.session import spark_session, stop_session
from comity.pipeline.stream import StreamRun

SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one load gave."""

    load: str
    offered: float
    events: int
    batches: int
    median_s: float
    p99_s: float
    is_growing: bool


class Timed(StreamRun):
    """Notes when the events of each file were published."""

    done: dict[str, tuple[float, int]]

    def take_batch(self, spark: SparkSession, files: Sequence[str], number: int, doubts: Doubts = NO_DOUBTS) -> None:
        super().take_batch(spark, files, number, doubts)
        now = time.monotonic()
        for file in files:
            self.done[Path(file).name] = (now, number)


def main() -> None:
    arguments = _arguments()
    folder = Path(arguments.folder or tempfile.gettempdir()) / "comity-benchmark-stream"
    folder.mkdir(parents=True, exist_ok=True)
    spark = spark_session("local[2]")
    try:
        federation = folder / "federation"
        write_federation(federation, arguments.profiles)
        files = _files(spark, arguments, folder)
        _saturated(spark, federation, files, arguments, folder)  # once to warm up
        rate = _saturated(spark, federation, files, arguments, folder)
        found = [_steady(spark, federation, files, rate * share, f"{share:.0%}", arguments, folder) for share in SHARES]
        _show(rate, found, arguments)
        if arguments.out:
            figures = {"sustained_per_s": rate, "loads": [asdict(one) for one in found], "profiles": arguments.profiles}
            arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    finally:
        stop_session(spark)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--profiles", type=int, default=20)
    parser.add_argument("--file-events", type=int, default=5_000)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds, arguments.files = 8.0, 200
    return arguments


def _files(spark: SparkSession, arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """Files with so many events each."""
    target = folder / f"files-{arguments.files}-{arguments.file_events}"
    if not (target / "complete").exists():
        target.mkdir(parents=True, exist_ok=True)
        _, sources = write_events(spark, arguments.files * arguments.file_events, folder)
        number, kept = 0, []
        for source in sources:
            with open(source, encoding="utf-8") as stream:
                for line in stream:
                    kept.append(line)
                    if len(kept) == arguments.file_events:
                        (target / f"{number:06d}.jsonl").write_text("".join(kept), encoding="utf-8")
                        number, kept = number + 1, []
        (target / "complete").touch()
    return sorted(target.glob("*.jsonl"))


@contextmanager
def _running(spark: SparkSession, federation: Path, folder: Path) -> Iterator[tuple[Timed, Path]]:
    """A stream on an empty folder, with the smallest trigger."""
    out, events = folder / "out", folder / "events"
    for one in (out, events):
        shutil.rmtree(one, ignore_errors=True)
        one.mkdir()
    stream = Timed(WatchedFederation(federation), out=out)
    stream.done = {}
    query = stream.start(spark, [events], trigger_s=0, until_empty=False, files_per_batch=1_000)
    try:
        yield stream, events
    finally:
        query.stop()
        stream.close()


def _saturated(
    spark: SparkSession, federation: Path, files: list[Path], arguments: argparse.Namespace, folder: Path
) -> float:
    """Events a second while there is always more to do: files appear in steps, a step for each batch that is done."""
    step = max(1, min(len(files) // 10, 100))
    with _running(spark, federation, folder) as (stream, events):
        begin = time.monotonic()
        given = 0
        first: tuple[float, int] | None = None
        while (first is None or time.monotonic() - first[0] < arguments.seconds) and given < len(files):
            assert time.monotonic() - begin < 300, "the stream does nothing"
            if given - len(stream.done) < 2 * step:
                for file in files[given : given + step]:
                    (events / file.name).hardlink_to(file)
                given += step
            if first is None and stream.done:
                first = (max(at for at, _ in stream.done.values()), len(stream.done))
            time.sleep(0.02)
        last = max(at for at, _ in stream.done.values())
        assert first is not None
        return (len(stream.done) - first[1]) * arguments.file_events / max(last - first[0], 1e-9)


def _steady(
    spark: SparkSession,
    federation: Path,
    files: list[Path],
    rate: float,
    load: str,
    arguments: argparse.Namespace,
    folder: Path,
) -> Figures:
    """Files at a steady rate, and how long each took."""
    every_s = arguments.file_events / rate
    count = min(len(files), max(10, int(arguments.seconds / every_s)))
    given: dict[str, float] = {}
    with _running(spark, federation, folder) as (stream, events):
        (events / "warm-up.jsonl").hardlink_to(files[-1])
        while "warm-up.jsonl" not in stream.done:
            time.sleep(0.02)

        def produce() -> None:
            begin = time.monotonic()
            for number, file in enumerate(files[:count]):
                time.sleep(max(0.0, begin + number * every_s - time.monotonic()))
                (events / file.name).hardlink_to(file)
                given[file.name] = time.monotonic()

        producer = threading.Thread(target=produce, daemon=True)
        producer.start()
        producer.join()
        limit = time.monotonic() + 60
        while len(stream.done) <= count and time.monotonic() < limit:
            time.sleep(0.02)
        waits = [stream.done[name][0] - at for name, at in given.items() if name in stream.done]
        batches = len({number for _, number in stream.done.values()}) - 1
    third = max(len(waits) // 3, 1)
    is_growing = statistics.median(waits[-third:]) > 1.5 * statistics.median(waits[third : 2 * third] or waits)
    cuts = statistics.quantiles(waits, n=100) if len(waits) > 1 else waits * 99
    is_complete = len(waits) == count
    return Figures(
        load,
        rate,
        count * arguments.file_events,
        batches,
        statistics.median(waits),
        cuts[98],
        is_growing or not is_complete,
    )


def _show(rate: float, found: list[Figures], arguments: argparse.Namespace) -> None:
    console = Console(width=110)
    console.print(
        f"{arguments.profiles} profiles, files of {arguments.file_events:,} events, smallest trigger, local[2]: "
        f"{rate:,.0f} events/s sustained"
    )
    table = Table()
    for name in ("load", "events/s", "events", "batches", "median latency", "p99", "lag"):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            one.load,
            f"{one.offered:,.0f}",
            f"{one.events:,}",
            str(one.batches),
            f"{one.median_s:.2f} s",
            f"{one.p99_s:.2f} s",
            "grows" if one.is_growing else "steady",
        )
    console.print(table)


if __name__ == "__main__":
    main()
