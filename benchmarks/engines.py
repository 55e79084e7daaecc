"""When Spark pays for its start: `comity run` over stored events with either engine, each run a program of its own.

    python benchmarks/engines.py [--events N …] [--runs N] [--out FILE]

What `--engine auto` estimates (`comity/run/choice.py`) is beside what was measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from timed import Case, take_times
from workload_pipeline import write_events, write_federation

from comity.pipeline.session import spark_session, stop_session
from comity.run.choice import Estimate
from comity.run.request import Engine
from comity.run.sources import StoredFiles


@dataclass(slots=True)
class EngineCase(Case):
    """A run over so many events."""

    events: int
    estimated_s: float
    bytes: int


def main() -> None:
    arguments = _arguments()
    folder = Path(tempfile.gettempdir()) / "comity-benchmark-engines"
    folder.mkdir(parents=True, exist_ok=True)
    write_federation(folder / "federation", 20)
    cases = [
        case for count, files in _events(arguments.events, folder).items() for case in _cases(count, files, folder)
    ]
    take_times(cases, arguments.runs)
    table = Table(title="comity run, 20 profiles")
    for name in ("events", "MB", "engine", "seconds", "estimated"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for case in cases:
        table.add_row(
            f"{case.events:,}", f"{case.bytes / 1e6:,.1f}", case.name, f"{case.best:.1f}", f"{case.estimated_s:.1f}"
        )
    Console().print(table)
    if arguments.out:
        told = [{"events": one.events, "engine": one.name, "bytes": one.bytes, "seconds": one.seconds} for one in cases]
        arguments.out.write_text(json.dumps(told, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000, 30_000, 100_000, 300_000])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def _events(counts: list[int], folder: Path) -> dict[int, list[str]]:
    spark = spark_session("local[2]")
    try:
        return {count: write_events(spark, count, folder)[1] for count in counts}
    finally:
        stop_session(spark)


def _cases(count: int, files: list[str], folder: Path) -> list[EngineCase]:
    estimate = Estimate.of(StoredFiles(files))
    seconds = {Engine.LOCAL: estimate.here_s, Engine.SPARK: estimate.spark_s}
    return [
        EngineCase(one.value, "jsonl", partial(_run, one, files, folder), count, seconds[one], estimate.bytes)
        for one in Engine
    ]


def _run(engine: Engine, files: list[str], folder: Path) -> None:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    named = [part for file in files for part in ("--events", file)]
    command = [sys.executable, "-m", "comity", "run", str(folder / "federation"), "--out", str(out), *named]
    subprocess.run([*command, "--engine", engine.value], check=True, capture_output=True)


if __name__ == "__main__":
    main()
