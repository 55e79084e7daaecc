"""The whole plan on Spark beside its floors: the same job with no stage of ours in it.

    python benchmarks/pipeline.py [--rows N] [--runs N] [--profiles N …] [--cluster] [--quick] [--out FILE]

Floor a reads the same files with Spark's own readers, keeps as many rows as the profiles want (chosen by a hash of the
id), and writes them as the same kind of lines. It may write a repeated event twice; "once each" is floor a that drops
repeats, as the plan does. Floor b is floor a with a crossing into Python that does nothing, with the columns that the
profiles look at. The runs of all of them alternate, and the best of each counts. Parquet and
JSON Lines must give the same number of notifications for each profile.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import ArrowUDFType, arrow_udf
from rich.console import Console
from rich.table import Table
from timed import Case, take_times
from workload_pipeline import plain_line, read_events, write_events, write_federation

from comity.event.window import Window
from comity.federation import load
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.pipeline.rows import RowTable
from comity.pipeline.run import run_on_spark
from comity.pipeline.session import spark_session, stop_session
from comity.plan import Plan, compile_plan
from comity.plan.matching import choose_matching

FLOORS = ("floor a", "floor a, once each", "floor b")
GOALS = {20: (FLOORS[1], 0.75), 1_000: (FLOORS[2], 0.85), 10_000: (FLOORS[2], 0.8)}
"""By the number of profiles: of which floor's rate which share is to be reached."""


@dataclass(slots=True)
class PlanCase(Case):
    """A plan, or a floor, that is timed."""

    profiles: int = 0
    how: str = ""


def main() -> None:
    arguments = _arguments()
    folder = Path(arguments.folder or tempfile.gettempdir()) / "comity-benchmark-pipeline"
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.cluster:
        from comity.testing.cluster import local_cluster

        with local_cluster(workers=2, cores=1, memory_mb=2048) as master:
            _run(arguments, folder, master)
    else:
        _run(arguments, folder, "local[2]")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profiles", type=int, nargs="*", default=[20, 1_000, 10_000, 100_000])
    parser.add_argument("--forms", nargs="*", default=["parquet", "jsonl"])
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.runs, arguments.profiles = 500_000, 1, [20, 1_000]
    return arguments


def _run(arguments: argparse.Namespace, folder: Path, master: str) -> None:
    spark = spark_session(master, config={"spark.executor.memory": "1g"})
    try:
        tables, lines = write_events(spark, arguments.rows, folder)
        files = {"parquet": tables, "jsonl": lines}
        plans = {number: _plan(folder, number) for number in arguments.profiles}
        keys: dict[tuple[str, int], dict[str, int]] = {}
        cases: list[PlanCase] = []
        for form in arguments.forms:
            cases += _cases(spark, form, files[form], plans, folder, keys, arguments.rows)
        take_times(cases, arguments.runs)
        _check(keys)
        shares = [_shares(spark, form, files[form], plans[min(plans)]) for form in arguments.forms]
        _show(cases, shares, arguments.rows, master)
        if arguments.out:
            _write(arguments.out, cases, shares, arguments.rows, master)
    finally:
        stop_session(spark)


def _plan(folder: Path, profiles: int) -> Plan:
    where = folder / f"federation-{profiles}"
    write_federation(where, profiles)
    started = time.monotonic()
    plan = compile_plan(load(where))
    print(f"{profiles:,} profiles: read, checked and compiled in {time.monotonic() - started:.1f} s", flush=True)
    return plan


def _cases(
    spark: SparkSession,
    form: str,
    files: list[str],
    plans: dict[int, Plan],
    folder: Path,
    keys: dict[tuple[str, int], dict[str, int]],
    rows: int,
) -> list[PlanCase]:
    out = folder / "out"
    cases = [
        PlanCase(FLOORS[0], form, lambda: _write_floor(read_events(spark, form, files), out)),
        PlanCase(FLOORS[1], form, lambda: _write_floor(read_events(spark, form, files), out, once_each=True)),
        PlanCase(FLOORS[2], form, lambda: _write_floor(_cross(read_events(spark, form, files)), out)),
    ]
    for number, plan in plans.items():

        def job(number: int = number, plan: Plan = plan) -> None:
            shutil.rmtree(out, ignore_errors=True)
            summary = run_on_spark(plan, files, out, spark)
            assert summary.records == rows, summary
            assert summary.rejected == 0, summary
            keys[form, number] = summary.delivered

        how = choose_matching(plan, of_lines=form == "jsonl").how.value
        cases.append(PlanCase(f"{number:,} profiles", form, job, number, how))
    return cases


def _cross(rows: DataFrame) -> DataFrame:
    """The no-op crossing with the columns that the profiles look at."""

    def nothing(*columns: pa.Array) -> pa.Array:
        return pa.nulls(len(columns[0]), pa.bool_())

    wanted = [F.col(f"data.{name}") for name in ("machine", "temperature", "load", "pressure")]
    return rows.withColumn("crossed", arrow_udf(nothing, "boolean", ArrowUDFType.SCALAR)(*wanted))


def _write_floor(rows: DataFrame, out: Path, *, once_each: bool = False) -> None:
    shutil.rmtree(out, ignore_errors=True)
    chosen = F.pmod(F.hash("id"), F.lit(100)) == 0
    # What comes out of the crossing must be looked at, or Spark would choose the rows before they cross.
    kept = rows.filter(F.coalesce("crossed", chosen) if "crossed" in rows.columns else chosen)
    kept = kept.dropDuplicates(["source", "id"]) if once_each else kept
    kept.select(F.lit("office").alias("to"), plain_line().alias("line")).write.partitionBy("to").text(str(out))


def _check(keys: dict[tuple[str, int], dict[str, int]]) -> None:
    for form, number in keys:
        assert keys[form, number] == keys[next(iter(keys))[0], number], f"{form} finds other events: {keys}"


def _shares(spark: SparkSession, form: str, files: list[str], plan: Plan) -> dict[str, object]:
    """How long each stage takes, by running the plan up to it and throwing the rows away."""
    prepared = PreparedPlan(plan, spark)
    window = Window.around(datetime.now(UTC))
    tables = Tables.of(spark, Inputs.of(files))
    steps: dict[str, DataFrame] = {}
    if tables.lines is not None:
        steps["read lines"] = tables.lines
        steps["decode and match"] = prepared.hits(tables, window)
    else:
        rows, facts = tables.rows[0].table, tables.rows[0].facts
        steps["read rows"] = rows
        steps["check"] = rows.filter(RowTable(rows, prepared.work, window, facts).vouched)
        steps["match"] = prepared.hits(tables, window)
    steps["mediate, observe, make lines"] = prepared.outcomes(prepared.hits(tables, window))
    seconds: dict[str, float] = {}
    for name, table in steps.items():
        seconds[name] = min(_noop(table) for _ in range(2))
    return {"form": form, "profiles": len(plan.profiles), "seconds": seconds}


def _noop(table: DataFrame) -> float:
    started = time.monotonic()
    table.write.format("noop").mode("overwrite").save()
    return time.monotonic() - started


def _show(cases: list[PlanCase], shares: list[dict[str, object]], rows: int, master: str) -> None:
    console = Console(width=140)
    table = Table(title=f"{rows:,} events on {master}")
    for name in ("input", "job", "matched by", "seconds", "events/s", *(f"of {floor}" for floor in FLOORS), "goal"):
        table.add_column(name, justify="left" if name in ("input", "job", "matched by") else "right")
    for case in cases:
        best = {one.name: one.best for one in cases if one.form == case.form and not one.profiles}
        shares_of = {floor: best[floor] / case.best for floor in FLOORS}
        table.add_row(
            case.form,
            case.name,
            case.how,
            f"{case.best:.1f}",
            f"{rows / case.best:,.0f}",
            *(f"{shares_of[floor]:.0%}" for floor in FLOORS),
            _goal(case.profiles, shares_of),
        )
    console.print(table)
    for one in shares:
        seconds: dict[str, float] = one["seconds"]  # type: ignore[assignment]
        told = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
        console.print(f"{one['form']}, {one['profiles']} profiles, up to each stage: {told}")


def _goal(profiles: int, shares_of: dict[str, float]) -> str:
    if profiles not in GOALS:
        return ""
    floor, share = GOALS[profiles]
    return f"{share:.0%} of {floor}: {'met' if shares_of[floor] >= share else 'missed'}"


def _write(path: Path, cases: list[PlanCase], shares: list[dict[str, object]], rows: int, master: str) -> None:
    found = [{one.name: getattr(case, one.name) for one in fields(case) if one.name != "job"} for case in cases]
    path.write_text(json.dumps({"rows": rows, "master": master, "cases": found, "stages": shares}, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
