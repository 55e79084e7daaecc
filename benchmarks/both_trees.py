"""Two trees in one run: how long the benchmarks take in an earlier commit, and in this one.

    python benchmarks/both_trees.py REVISION [--benchmarks NAME …] [--rounds N] [--out FILE]

The earlier tree is checked out beside this one, each runs its own files with the packages that are installed, and
their runs alternate. The best time of a case counts. Floors, which no change of ours can move, show how much of a
difference is the machine's; so does the processor time of a whole benchmark, Java and workers included, which other
programs disturb least.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parents[1]
BENCHMARKS = {
    "pipeline": ("--rows", "1000000", "--runs", "3", "--profiles", "20", "1000"),
    "mediate": ("--rows", "1000000", "--runs", "3"),
    "detect": ("--parts", "spark,grow", "--events", "500000"),
}
NOISE = 0.1
"""A difference up to this share is not told from the machine's."""

Times = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the earlier commit")
    parser.add_argument("--benchmarks", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    before: Times = {}
    now: Times = {}
    with checked_out(given.revision) as earlier, tempfile.TemporaryDirectory() as scratch:
        for round in range(given.rounds):
            for name in given.benchmarks:
                for tree, best in ((earlier, before), (HERE, now)):
                    print(f"round {round + 1}: {name}, {'before' if tree == earlier else 'now'}", flush=True)
                    keep_best(best, measured(tree, name, Path(scratch) / "out.json"))
    show(before, now)
    if given.out is not None:
        rows = {case: {"before_s": before[case], "now_s": now[case]} for case in before.keys() & now.keys()}
        given.out.write_text(
            json.dumps({"before": given.revision, "cases": dict(sorted(rows.items()))}, indent=1) + "\n"
        )


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """A folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision], cwd=HERE, check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x"], cwd=folder, check=True, input=archive.stdout)
        yield Path(folder)


def measured(tree: Path, benchmark: str, out: Path) -> Times:
    """The seconds of each case of a benchmark of a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, f"benchmarks/{benchmark}.py", *BENCHMARKS[benchmark], "--out", str(out)]
    started = _processor_s()
    subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    whole = {f"{benchmark}: all of it, processor time": _processor_s() - started}
    return {**dict(_cases(benchmark, json.loads(out.read_text()))), **whole}


def _processor_s() -> float:
    """What children that have ended took, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cases(benchmark: str, found: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for case in found.get("cases", ()):
        yield f"{benchmark}: {case['form']}, {case['name']}", min(case["seconds"])
    for row in found.get("rows", ()) if "cases" not in found else ():
        sizes = f"{row['profiles']} profiles, {row['keys']} keys, {row['steps']} steps"
        # In this process it is processor time, which other programs do not disturb; Spark's is not known here.
        seconds = row["seconds"] if row["part"] == "spark" else row["cpu_seconds"]
        yield f"{benchmark}: {row['engine']}, {sizes}", seconds


def keep_best(best: Times, times: Times) -> None:
    for case, seconds in times.items():
        best[case] = min(seconds, best.get(case, seconds))


def show(before: Times, now: Times) -> None:
    table = Table("case", "before, s", "now, s", "now / before", "")
    for case in (one for one in before if one in now):
        ratio = now[case] / before[case]
        judged = "slower" if ratio > 1 + NOISE else "faster" if ratio < 1 - NOISE else "the same"
        table.add_row(case, f"{before[case]:.2f}", f"{now[case]:.2f}", f"{ratio:.2f}", judged)
    Console(width=140).print(table)
    for case in sorted(before.keys() ^ now.keys()):
        print(f"only {'before' if case in before else 'now'}: {case}")


if __name__ == "__main__":
    main()
