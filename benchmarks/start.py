"""What starting Spark costs, up to the end of its first small job: with the archive of `comity warm-up`, and without.

    python benchmarks/start.py [--repeat N]

Each start is a process of its own, in turn with and without; the best of each counts. Processor time is that of Python,
Java and workers together, and holds on a machine that others use, too. It makes the archive first if there is none.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

JOB = """
import sys
from comity.pipeline.session import spark_session, stop_session
spark = spark_session("local[2]", brief=sys.argv[1] == "brief")
spark.range(1_000).selectExpr("sum(id)").collect()
stop_session(spark)
"""


def start(kind: str, variables: Mapping[str, str]) -> tuple[float, float]:
    """Seconds on the clock, and of processors."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", JOB, kind], env={**os.environ, **variables})
    _, code, used = os.wait4(process.pid, 0)
    assert code == 0
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    subprocess.run([sys.executable, "-m", "comity", "warm-up"], check=True)
    table = Table("start", "archive", "wall s", "CPU s")
    for kind in ("brief", "usual"):
        with tempfile.TemporaryDirectory() as empty:  # a cache without an archive
            taken = [(start(kind, {}), start(kind, {"XDG_CACHE_HOME": empty})) for _ in range(repeat)]
        for name, figures in zip(("with", "without"), zip(*taken, strict=True), strict=True):
            wall, cpu = map(min, zip(*figures, strict=True))
            table.add_row(kind, name, f"{wall:.1f}", f"{cpu:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
