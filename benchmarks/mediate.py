"""What a contract costs: a plan with mediation and unit conversion beside the same plan written by hand for Spark.

    python benchmarks/mediate.py [--rows N] [--runs N] [--forms parquet jsonl] [--quick] [--out FILE]

All of them read the same files, choose the same events by a filter in the subscriber's unit, rename and convert every
attribute, look two of them up in tables, join texts, keep one of repeated events, and write the same lines. What is
written by hand also rejects what it cannot translate, with the record and the reasons, and waits until its files are on
the disk, as the plan does; written bare it loses such records without a word, and files when the power goes. The runs
alternate, and the best of each counts; numbers and sums of what comes
out must be equal.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import reduce
from operator import or_
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from timed import Case, take_times
from workload_pipeline import PLANT, read_events, write_events

from comity.federation import load
from comity.pipeline.run import run_on_spark
from comity.pipeline.session import spark_session, stop_session
from comity.plan import Plan, compile_plan
from comity.storage.durable import sync_all

GOAL = 0.9
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


PEERS = ("by hand, bare", "by hand")


def main() -> None:
    arguments = _arguments()
    folder = Path(tempfile.gettempdir()) / "comity-benchmark-pipeline"
    folder.mkdir(parents=True, exist_ok=True)
    # What is written by hand may keep its writers open, too, and need not sort its lines by where they go.
    spark = spark_session("local[2]", config={"spark.sql.maxConcurrentOutputFileWriters": "16"})
    try:
        tables, lines = write_events(spark, arguments.rows, folder)
        files = {"parquet": tables, "jsonl": lines}
        plan = _plan(folder / "mediate")
        cases = [case for form in arguments.forms for case in _cases(spark, plan, form, files[form], folder)]
        take_times(cases, arguments.runs)
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
    parser.add_argument("--runs", type=int, default=5)
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
    return folder / f"out-{case.form}-{case.name.replace(', ', ' ').replace(' ', '-')}"


def _cases(spark: SparkSession, plan: Plan, form: str, files: list[str], folder: Path) -> list[Case]:
    def ours() -> None:
        summary = run_on_spark(plan, files, _emptied(folder, cases[-1]), spark)
        assert summary.rejected == 0, summary

    def peer(number: int, mediated: Callable[[DataFrame], DataFrame]) -> Path:
        rows, out = read_events(spark, form, files), _emptied(folder, cases[number])
        mediated(rows).write.partitionBy("to").text(str(out))
        return out

    cases = [
        Case(PEERS[0], form, lambda: peer(0, _bare_by_hand)),
        Case(PEERS[1], form, lambda: sync_all(peer(1, _same_by_hand).rglob("*"))),
        Case("comity", form, ours),
    ]
    return cases


def _emptied(folder: Path, case: Case) -> Path:
    shutil.rmtree(_out(folder, case), ignore_errors=True)
    return _out(folder, case)


def _bare_by_hand(rows: DataFrame) -> DataFrame:
    """Only what is asked for: rows that the tables do not know are lost without a word."""
    wanted = rows.filter((_celsius() > 80) & (_level() < 3)).dropDuplicates(["source", "id"])
    return wanted.select(F.lit("office").alias("to"), _line().alias("line"))


def _same_by_hand(rows: DataFrame) -> DataFrame:
    """The same plan: what cannot be translated goes to the rejected set, with the record and the reasons."""
    unknown = {
        "shift": _shift().isNull(),
        "level": _level().isNull(),
        "temperature": ~F.coalesce(F.abs(F.col("data.temperature")) < 1e300, F.lit(False)),
        "pressure": ~F.coalesce(F.abs(F.col("data.pressure")) < 1e300, F.lit(False)),
        "vibration": ~F.coalesce(F.abs(F.col("data.vibration")) < 1e300, F.lit(True)),
    }
    is_refused = reduce(or_, unknown.values())
    seen = rows.filter(is_refused | ((_celsius() > 80) & (_level() < 3))).withColumn("refused", is_refused)
    number = F.when(F.col("refused"), F.monotonically_increasing_id())
    once = seen.withColumn("number", number).dropDuplicates(["source", "id", "number"])
    reasons = F.concat_ws(", ", *(F.when(test, F.lit(name)) for name, test in unknown.items()))
    envelope = [F.lit("1.0").alias("specversion"), "id", "source", "type", F.col("time").cast("string").alias("time")]
    refused = F.to_json(F.struct(F.to_json(F.struct(*envelope, "data")).alias("raw"), reasons.alias("faults")))
    to = F.when(F.col("refused"), F.lit("rejected")).otherwise(F.lit("office"))
    return once.select(to.alias("to"), F.when(F.col("refused"), refused).otherwise(_line()).alias("line"))


def _celsius() -> Column:
    return (F.col("data.temperature") - 32) * 5 / 9


def _level() -> Column:
    return _looked_up(F.col("data.status"), {"ok": 0, "warn": 1, "alarm": 2, "off": 3})


def _shift() -> Column:
    return _looked_up(F.col("data.shift"), {0: "night", 1: "early", 2: "late"})


def _line() -> Column:
    seen = F.struct(
        F.concat(F.upper(F.col("data.machine")), F.lit(" ("), _shift(), F.lit(")")).alias("label"),
        _celsius().alias("celsius"),
        F.col("data.pressure").alias("bar"),
        _level().cast("long").alias("level"),
        F.col("data.test").alias("is_test"),
        (F.col("data.vibration") / 10).alias("speed"),
    )
    return F.to_json(
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


def _looked_up(key: Column, table: dict[object, object]) -> Column:
    (first, value), *rest = table.items()
    found = F.when(key == first, value)
    for known, other in rest:
        found = found.when(key == known, other)
    return found


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
    for name in ("input", "job", "seconds", "events/s", *(f"of {peer}" for peer in PEERS), "goal"):
        table.add_column(name, justify="left" if name in ("input", "job") else "right")
    for case in cases:
        own = {one.name: one.best / case.best for one in cases if one.form == case.form}
        is_met = own["by hand"] >= GOAL
        goal = "" if case.name in PEERS else f"{GOAL:.0%} of by hand: {'met' if is_met else 'missed'}"
        shares = [f"{own[peer]:.0%}" for peer in PEERS]
        table.add_row(case.form, case.name, f"{case.best:.1f}", f"{rows / case.best:,.0f}", *shares, goal)
    Console(width=120).print(table)


def _write(path: Path, cases: list[Case], rows: int) -> None:
    found = [{"name": case.name, "form": case.form, "seconds": case.seconds} for case in cases]
    path.write_text(json.dumps({"rows": rows, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
