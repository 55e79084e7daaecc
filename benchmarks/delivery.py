"""What the end of a stream costs: to deliver once, beside plain Spark, which reads, keeps, deduplicates and writes.

    python benchmarks/delivery.py [--events N] [--batches N] [--shares S …] [--repeat N] [--quick] [--out FILE]
    python benchmarks/delivery.py --known 1000000 100000000    # beside streams that know so many identities before
    python benchmarks/delivery.py --growth [AGE …]             # only: a batch of one event after so many batches
    python benchmarks/delivery.py --growth 1 --result-files 10 100000     # and beside so many files of results

One profile takes a share of the events. The floor reads the same files with Spark's own readers in the same session,
keeps the same events, drops repeats of (source, id), and writes lines. A batch run delivers all files at once, a stream
in batches, from an empty results folder. Processor time of driver, Java and workers is what is compared, since it holds
on a machine that others use, too: the best of some runs, which alternate, after one that warms up. The driver's time
for a notification includes what a batch costs whatever it delivers, so it is small only if there are many.

A stream that knows identities is measured at the largest share, on a copy of a folder that is made once; opening the
folder does not count, as it happens once in the life of a stream. Of several numbers the others are compared with the
least. Ages are measured beside a stream with a new folder, a batch of each in turn, because Java becomes quicker all
the time; batches are taken without a query, so Spark's listing of the input folder is not in them.

How long it takes: events times the sum of the shares times one more than `--repeat`; every identity that is to be known
takes 16 bytes on the disk; an age takes as many batches, of about half a second each.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from processor_time import CpuCase
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from timed import take_times
from workload_pipeline import plain_line, read_events, write_events, write_filters

from comity.connect.commits import Commits, new_name
from comity.connect.delivered import EARLIER
from comity.connect.key_files import Keys, write_keys
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.pipeline.run import run_on_spark
from comity.pipeline.session import spark_session, stop_session
from comity.pipeline.stream import StreamRun
from comity.plan import Plan, compile_plan
from comity.plan.stages import Summary

SHARES = (0.01, 0.1, 0.5, 1.0)
AGES = (1, 10, 100, 1_000)
MASTER = "local[2]"
PROFILE = "p0"
MAX_PRESSURE = 10.0

FLOOR_GOALS = {"parquet": 0.7, "jsonl": 0.6}
"""The share of the floor that a stream is to reach that delivers all events."""
KNOWN_FLOOR_GOAL, KNOWN_GOAL = 0.6, 1.3
"""The same of one that knows identities before, and how much of the time of one that knows none it may take."""
DRIVER_GOAL_US = 0.5
GROWTH_GOAL, BATCH_GOAL_S = 1.2, 0.25
"""How much processor time a batch may take of that on a new folder, and how much wall time."""
WARM_UP_BATCHES = 20
SPENT = ("wall s", "CPU s", "driver", "JVM", "workers")


@dataclass(slots=True)
class DeliveryCase(CpuCase):
    """A job that delivers."""

    share: float
    delivered: int
    known: int | None = None
    """How many identities a stream knows before; None if it is no stream."""

    @property
    def driver_us(self) -> float:
        """For each notification."""
        return self.best_cpu.driver * 1e6 / self.delivered


@dataclass(slots=True)
class Stream:
    """Batches of a stream, taken without a query."""

    spark: SparkSession
    federation: Path
    out: Path
    number: int = 0
    delivered: int = 0
    run: StreamRun = field(init=False)

    def begin(self, known: Path | None = None) -> None:
        """On a new folder, or on a copy of one that knows something."""
        shutil.rmtree(self.out, ignore_errors=True)
        if known is not None:
            shutil.copytree(known, self.out, copy_function=_linked)
        self.number = self.delivered = 0
        self.run = StreamRun(WatchedFederation(self.federation), out=self.out, on_batch=self._count)
        self.run.federation.current()
        self.run.check_notes()

    def take(self, files: Sequence[str]) -> None:
        self.run.take_batch(self.spark, files, self.number)
        self.number += 1

    def _count(self, number: int, summary: Summary) -> None:
        assert not summary.rejected, summary
        self.delivered += sum(summary.delivered.values())


@dataclass(frozen=True, slots=True)
class Work:
    """Events of one form, and the profile that wants a share of them."""

    spark: SparkSession
    form: str
    files: list[str]
    share: float
    delivered: int
    federation: Path
    plan: Plan
    out: Path

    def case(self, name: str, job: partial[None], before: partial[None] | None = None) -> DeliveryCase:
        before = before or partial(shutil.rmtree, self.out, ignore_errors=True)
        return DeliveryCase(name, self.form, job, self.share, self.delivered, before=before)

    def stream_case(self, batches: int, known: int, knowing: Path | None) -> DeliveryCase:
        stream = Stream(self.spark, self.federation, self.out)
        name = f"stream, {known:,} known" if known else "stream"
        case = self.case(name, partial(self.take_stream, stream, batches), partial(stream.begin, knowing))
        case.known = known
        return case

    def write_floor(self) -> None:
        kept = read_events(self.spark, self.form, self.files).filter(_is_wanted(self.share))
        kept.dropDuplicates(["source", "id"]).select(plain_line().alias("line")).write.text(str(self.out))

    def run_batch(self) -> None:
        summary = run_on_spark(self.plan, self.files, self.out, self.spark)
        assert summary.delivered == {PROFILE: self.delivered}, summary

    def take_stream(self, stream: Stream, batches: int) -> None:
        ends = [len(self.files) * number // batches for number in range(batches + 1)]
        for first, end in pairwise(ends):
            stream.take(self.files[first:end])
        stream.run.close()
        assert stream.delivered == self.delivered, stream


def main() -> None:
    arguments = _arguments()
    folder = Path(arguments.folder or tempfile.gettempdir()) / "comity-benchmark-delivery"
    folder.mkdir(parents=True, exist_ok=True)
    spark = spark_session(MASTER)
    try:
        tables, lines = write_events(spark, arguments.events, folder)
        if arguments.growth is not None:
            cases = _take_ages(spark, lines, arguments, folder)
            _show_ages(cases)
        else:
            cases = _take_shares(spark, {"parquet": tables, "jsonl": lines}, arguments, folder)
            _show_shares(cases, arguments)
        if arguments.out:
            _write(arguments.out, cases, arguments)
    finally:
        stop_session(spark)
        for left in folder.glob("out*"):
            shutil.rmtree(left)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--forms", nargs="+", default=["parquet", "jsonl"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--known", type=int, nargs="+", default=[])
    parser.add_argument("--growth", type=int, nargs="*", metavar="AGE")
    parser.add_argument("--result-files", type=int, nargs="+", default=[], metavar="N")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.growth == []:
        arguments.growth = AGES[:2] if arguments.quick else AGES
    if arguments.quick:
        arguments.events, arguments.shares, arguments.repeat = 100_000, [0.1, 1.0], 1
    return arguments


def _is_wanted(share: float) -> Column:
    return F.col("data.pressure") <= MAX_PRESSURE * share


def _write_profile(folder: Path, share: float) -> Path:
    """The federation whose profile takes this share of the events."""
    federation = folder / f"federation-{share:g}"
    write_filters(federation, [f"pressure <= {MAX_PRESSURE * share:.6f}"])
    return federation


def _take_shares(
    spark: SparkSession, files: dict[str, list[str]], arguments: argparse.Namespace, folder: Path
) -> list[DeliveryCase]:
    """Form after form: workers end when they wait for a minute, and would have to start again."""
    knowing = {count: know(folder / f"out-known-{count}", count) for count in arguments.known}
    taken: list[DeliveryCase] = []
    for form in arguments.forms:
        cases: list[DeliveryCase] = []
        for share in arguments.shares:
            work = write_work(spark, form, files[form], share, folder)
            cases += _cases(work, arguments.batches, knowing if share == max(arguments.shares) else {})
        _take(cases, arguments.repeat)
        taken += cases
    return taken


def write_work(spark: SparkSession, form: str, files: list[str], share: float, folder: Path) -> Work:
    """What there is to do with these files, after its federation is written."""
    federation = _write_profile(folder, share)
    delivered = read_events(spark, form, files).filter(_is_wanted(share)).count()
    return Work(spark, form, files, share, delivered, federation, compile_plan(load(federation)), folder / "out")


def _cases(work: Work, batches: int, knowing: dict[int, Path]) -> list[DeliveryCase]:
    return [
        work.case("floor", partial(work.write_floor)),
        work.case("batch", partial(work.run_batch)),
        work.stream_case(batches, 0, None),
        *(work.stream_case(batches, known, folder) for known, folder in knowing.items()),
    ]


def _take(cases: Sequence[DeliveryCase], runs: int) -> None:
    take_times(cases, 1)
    for case in cases:
        case.forget()
    take_times(cases, runs)


def _take_ages(
    spark: SparkSession, lines: list[str], arguments: argparse.Namespace, folder: Path
) -> list[DeliveryCase]:
    """For each age a batch of one event, and one on a new folder; then the same for each number of files of results.

    No event is taken twice: batches of files that another stream had taken were quicker than others by a quarter.
    """
    ages, runs = arguments.growth, arguments.repeat
    federation = _write_profile(folder, 1.0)
    count = WARM_UP_BATCHES + max(ages) + runs + 2 * (len(ages) + len(arguments.result_files)) * (runs + 2)
    files = iter(_single_events(lines[0], count, folder / "out-single"))
    aged, new = (Stream(spark, federation, folder / name) for name in ("out-aged", "out-new"))
    _begin(new, files, WARM_UP_BATCHES)
    _begin(aged, files, 0)
    cases: list[DeliveryCase] = []
    for age in ages:
        new.run.close()
        _begin(new, files, 1)
        while aged.number < age:
            aged.take([next(files)])
        pair = [_single_case(f"after {age:,}", aged, files), _single_case(f"beside {age:,}", new, files)]
        take_times(pair, runs)
        cases += pair
    for number in arguments.result_files:
        new.run.close()
        _begin(new, files, 1)
        _fill(aged.out, number)
        pair = [
            _single_case(f"after {number:,} files", aged, files),
            _single_case(f"beside {number:,} files", new, files),
        ]
        take_times(pair, runs)
        cases += pair
    for stream in (aged, new):
        assert stream.delivered == stream.number, stream
        stream.run.close()
    return cases


def _fill(out: Path, count: int) -> None:
    """Put as many files of results beside those that are there."""
    (results,) = {file.parent for file in out.glob("[!.r]*/batch-*.jsonl")}
    for number in range(count):
        (results / f"batch-{10_000_000 + number:08d}-00000.jsonl").touch()


def _begin(stream: Stream, files: Iterator[str], batches: int) -> None:
    stream.begin()
    for file in islice(files, batches):
        stream.take([file])


def _single_case(name: str, stream: Stream, files: Iterator[str]) -> DeliveryCase:
    return DeliveryCase(name, "jsonl", lambda: stream.take([next(files)]), 1.0, 1)


def _single_events(source: str, count: int, folder: Path) -> list[str]:
    """Files with one event each."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    files: list[str] = []
    with open(source, encoding="utf-8") as stream:
        for line in islice(stream, count):
            files.append(str(folder / f"{len(files):06d}.jsonl"))
            Path(files[-1]).write_text(line, encoding="utf-8")
    assert len(files) == count, "there are too few events"
    return files


def _beside(case: DeliveryCase, cases: Sequence[DeliveryCase], name: str) -> DeliveryCase:
    return next(one for one in cases if (one.form, one.share, one.name) == (case.form, case.share, name))


def _show_shares(cases: Sequence[DeliveryCase], arguments: argparse.Namespace) -> None:
    table = Table(title=f"{arguments.events:,} events, streams of {arguments.batches} batches, 1 profile, {MASTER}")
    names = ("input", "delivered", "job", *SPENT, "of floor", "driver µs each", "goals")
    for name in names:
        table.add_column(name, justify="left" if name in ("input", "job", "goals") else "right", no_wrap=True)
    for case in cases:
        of_floor = _beside(case, cases, "floor").best_cpu.total / case.best_cpu.total
        figures = (*_spent(case), f"{of_floor:.0%}", f"{case.driver_us:.2f}")
        goals = "\n".join(_goals(case, cases, of_floor))
        if case.name == "floor":
            table.add_section()
        table.add_row(case.form, f"{case.share:.0%}", case.name, *figures, goals)
    Console(width=150).print(table)


def _spent(case: DeliveryCase) -> Iterator[str]:
    cpu = case.best_cpu
    return (f"{seconds:.2f}" for seconds in (case.best, cpu.total, cpu.driver, cpu.jvm, cpu.workers))


def _goals(case: DeliveryCase, cases: Sequence[DeliveryCase], of_floor: float) -> Iterator[str]:
    """What is wanted of a stream that delivers everything."""
    if case.known is None or case.share < 1:
        return
    least = KNOWN_FLOOR_GOAL if case.known else FLOOR_GOALS[case.form]
    yield _goal(f"≥ {least:.0%}", of_floor >= least)
    yield _goal(f"≤ {DRIVER_GOAL_US} µs", case.driver_us <= DRIVER_GOAL_US)
    if case.known:
        times = case.best_cpu.total / _beside(case, cases, "stream").best_cpu.total
        yield _goal(f"{times:.2f} ≤ {KNOWN_GOAL} × none known", times <= KNOWN_GOAL)
    fewest = min((one.known for one in cases if one.known), default=0)
    if case.known and case.known > fewest:
        times = case.best_cpu.total / _beside(case, cases, f"stream, {fewest:,} known").best_cpu.total
        yield _goal(f"{times:.2f} ≤ {GROWTH_GOAL} × {fewest:,} known", times <= GROWTH_GOAL)


def _goal(wanted: str, is_met: bool) -> str:
    return f"{wanted}: {'met' if is_met else 'missed'}"


def _show_ages(cases: Sequence[DeliveryCase]) -> None:
    table = Table(title=f"A batch of one event, 1 profile, {MASTER}; beside: on a new folder")
    for name in ("batches", *SPENT, "beside: wall s", "CPU s", "times wall", "CPU", "goals"):
        table.add_column(name, justify="left" if name in ("batches", "goals") else "right")
    for aged, new in zip(cases[::2], cases[1::2], strict=True):
        times = (aged.best / new.best, aged.best_cpu.total / new.best_cpu.total)
        goals = [
            _goal(f"≤ {BATCH_GOAL_S} s", aged.best <= BATCH_GOAL_S),
            _goal(f"≤ {GROWTH_GOAL} times CPU", times[1] <= GROWTH_GOAL),
        ]
        beside = (f"{new.best:.2f}", f"{new.best_cpu.total:.2f}", *(f"{one:.2f}" for one in times))
        table.add_row(aged.name, *_spent(aged), *beside, "\n".join(goals))
    Console(width=150).print(table)


def _write(path: Path, cases: Sequence[DeliveryCase], arguments: argparse.Namespace) -> None:
    names = ("name", "form", "share", "delivered", "known", "seconds")
    found = [
        {name: getattr(case, name) for name in names} | {"cpu_seconds": [asdict(one) for one in case.cpu]}
        for case in cases
    ]
    about = {"rows": arguments.events, "master": MASTER, "batches": arguments.batches}
    path.write_text(json.dumps(about | {"cases": found}, indent=1) + "\n")


def know(out: Path, count: int) -> Path:
    """A results folder that knows so many identities, of other events than those that are measured.

    They are drawn by lot, as digests are spread, and noted as those that were delivered before a stream.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    commits, day = Commits(out), date.today().isoformat()
    commits.begin((), day)
    chance = np.random.default_rng(count)
    high, low = (chance.integers(0, 2**64, count, np.uint64) for _ in range(2))
    high.sort()
    file = write_keys(commits.place, new_name("earlier"), Keys(high, low), day)
    commits.notes.save(EARLIER, replace(commits.last(), keys=(file,)))
    assert commits.remembered().count == count
    return out


def _linked(source: str, target: str) -> None:
    """Files of keys never change, so a second name is as good as a copy."""
    (os.link if source.endswith(".keys") else shutil.copy2)(source, target)


if __name__ == "__main__":
    main()
