"""What a contract costs: a plan with mediation and unit conversion beside the same plan written by hand for Spark.

    python benchmarks/mediate.py [--rows N] [--runs N] [--forms parquet jsonl] [--quick] [--out FILE]

Both read the same files, choose the same events by a filter in the subscriber's unit, rename and convert every
attribute, look two of them up in tables, join texts, keep one of repeated events, and write the same lines. What is
written by hand does not check its input; ours does. The runs alternate, and the best of each counts; numbers and sums
of what comes out must be equal.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from workload_pipeline import LINE_SCHEMA, PLANT, write_events

from comity.federation import load
from comity.pipeline.run import run_on_spark
from comity.pipeline.session import spark_session, stop_session
from comity.plan import Plan, compile_plan

GOAL = 0.8
"""The share of the rate of the columns by hand that is to be reached."""

OFFICE = """\
domain: office
types:
  Warm:
    attributes:
      label: string
      celsius: float degC
      bar: float bar
      level: int
      is_test: bool
      speed: float cm/s?
"""
CONTRACT = """\
contract: readings
types:
  Measured:
    attributes:
      machine: string
      shift: string
      temperature: float kelvin
      pressure: float Pa
      level: int
      is_test: bool
      vibration: float m/s?
tables:
  levels: {ok: 0, warn: 1, alarm: 2, off: 3}
  shifts: {"0": night, "1": early, "2": late}
members:
  plant:
    type: Reading
    map:
      machine: upper(machine)
      shift: lookup('shifts', text(shift))
      temperature: temperature
      pressure: quantity(pressure, 'bar')
      level: lookup('levels', status)
      is_test: test
      vibration: quantity(vibration, 'mm/s')
observers:
  office:
    type: Warm
    map:
      label: machine + ' (' + shift + ')'
      celsius: temperature
      bar: pressure
      level: level
      is_test: is_test
      speed: vibration
"""
PROFILES = """\
profiles:
  warm: {domain: office, on: Warm, where: celsius > 80 degC and level < 3}
"""


@dataclass(slots=True)
class Case:
    """One thing that is timed."""

    name: str
    form: str
    job: Callable[[], None]
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.seconds)


def main() -> None:
    arguments = _arguments()
    folder = Path(tempfile.gettempdir()) / "comity-benchmark-pipeline"
    folder.mkdir(parents=True, exist_ok=True)
    spark = spark_session("local[2]")
    try:
        tables, lines = write_events(spark, arguments.rows, folder)
        files = {"parquet": tables, "jsonl": lines}
        plan = _plan(folder / "mediate")
        cases = [case for form in arguments.forms for case in _cases(spark, plan, form, files[form], folder)]
        _time(cases, arguments.runs)
        sums = {(case.form, case.name): _sums(spark, _out(folder, case)) for case in cases}
        assert len(set(sums.values())) == 1, sums
        _show(cases, arguments.rows, next(iter(sums.values()))[0])
        if arguments.out:
            _write(arguments.out, cases, arguments.rows)
    finally:
        stop_session(spark)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--forms", nargs="*", default=["parquet", "jsonl"])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.runs = 500_000, 2
    return arguments


def _plan(folder: Path) -> Plan:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in (("plant", PLANT), ("office", OFFICE), ("contract", CONTRACT), ("profiles", PROFILES)):
        (folder / f"{name}.yaml").write_text(text)
    return compile_plan(load(folder))


def _out(folder: Path, case: Case) -> Path:
    return folder / f"out-{case.form}-{case.name.replace(' ', '-')}"


def _cases(spark: SparkSession, plan: Plan, form: str, files: list[str], folder: Path) -> list[Case]:
    def ours() -> None:
        shutil.rmtree(_out(folder, cases[1]), ignore_errors=True)
        summary = run_on_spark(plan, files, _out(folder, cases[1]), spark)
        assert summary.rejected == 0, summary

    def by_hand() -> None:
        out = _out(folder, cases[0])
        shutil.rmtree(out, ignore_errors=True)
        rows = spark.read.parquet(*files) if form == "parquet" else spark.read.schema(LINE_SCHEMA).json(files)
        _mediated_by_hand(rows).write.partitionBy("to").text(str(out))

    cases = [Case("by hand", form, by_hand), Case("comity", form, ours)]
    return cases


def _mediated_by_hand(rows: DataFrame) -> DataFrame:
    """The plan as a person would write it for Spark."""
    data = F.col("data")
    celsius = (data.temperature - 32) * 5 / 9
    level = _looked_up(data.status, {"ok": 0, "warn": 1, "alarm": 2, "off": 3})
    shift = _looked_up(data.shift, {0: "night", 1: "early", 2: "late"})
    seen = F.struct(
        F.concat(F.upper(data.machine), F.lit(" ("), shift, F.lit(")")).alias("label"),
        celsius.alias("celsius"),
        data.pressure.alias("bar"),
        level.cast("long").alias("level"),
        data.test.alias("is_test"),
        (data.vibration / 10).alias("speed"),
    )
    wanted = rows.filter((celsius > 80) & (level < 3)).dropDuplicates(["source", "id"])
    line = F.to_json(
        F.struct(
            F.lit("1.0").alias("specversion"),
            "id",
            "source",
            F.lit("office.Warm").alias("type"),
            F.col("time").cast("string").alias("time"),
            F.lit("warm").alias("profile"),
            seen.alias("data"),
        )
    )
    return wanted.select(F.lit("office").alias("to"), line.alias("line"))


def _looked_up(key: Column, table: dict[object, object]) -> Column:
    (first, value), *rest = table.items()
    found = F.when(key == first, value)
    for known, other in rest:
        found = found.when(key == known, other)
    return found


def _time(cases: list[Case], runs: int) -> None:
    for run in range(runs):
        for case in cases:
            started = time.monotonic()
            case.job()
            case.seconds.append(time.monotonic() - started)
            print(f"run {run + 1}: {case.form} {case.name}: {case.seconds[-1]:.1f} s", flush=True)


def _sums(spark: SparkSession, out: Path) -> tuple[int, float, float, int]:
    """How many lines there are, and sums of what is in them, to the precision that two ways of converting share."""
    folder = next(path for path in sorted(out.iterdir()) if path.is_dir() and "office" in path.name)
    schema = "data struct<label string, celsius double, bar double, level bigint, speed double>"
    data = F.col("data")
    found = (
        spark.read.schema(schema)
        .json(str(folder))
        .select(
            F.count("*"),
            F.round(F.sum(data.celsius), 1),
            F.round(F.sum(data.bar) + F.sum(data.speed), 1),
            F.sum(data.level + F.length(data.label)),
        )
    )
    row = found.first()
    assert row is not None, "an aggregate has one row"
    return tuple(row)  # type: ignore[return-value]


def _show(cases: list[Case], rows: int, delivered: int) -> None:
    table = Table(title=f"{rows:,} events, {delivered:,} delivered, local[2]")
    for name in ("input", "job", "seconds", "events/s", "of by hand", "goal"):
        table.add_column(name, justify="left" if name in ("input", "job") else "right")
    for case in cases:
        by_hand = next(one.best for one in cases if one.form == case.form and one.name == "by hand")
        share = by_hand / case.best
        goal = "" if case.name == "by hand" else f"{GOAL:.0%}: {'met' if share >= GOAL else 'missed'}"
        table.add_row(case.form, case.name, f"{case.best:.1f}", f"{rows / case.best:,.0f}", f"{share:.0%}", goal)
    Console(width=110).print(table)


def _write(path: Path, cases: list[Case], rows: int) -> None:
    found = [{"name": case.name, "form": case.form, "seconds": case.seconds} for case in cases]
    path.write_text(json.dumps({"rows": rows, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
