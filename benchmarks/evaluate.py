"""What Comity's filters cost in Spark beside the same conditions written by hand.

    python benchmarks/evaluate.py [--rows N] [--runs N] [--quick] [--out FILE]

The rows are generated once and kept in memory. The runs of the two sides alternate, the best of each side counts, and
both must find the same rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.pipeline.columns.columns import TypedColumns, compile_filter
from comity.pipeline.session import spark_session, stop_session

READING = EventType(
    "Reading",
    "bench",
    own={
        "count": AttributeType(Kind.INT, optional=True),
        "load": AttributeType(Kind.FLOAT, optional=True),
        "temperature": AttributeType(Kind.FLOAT, unit="degC"),
        "room": AttributeType(Kind.STRING, optional=True),
        "since": AttributeType(Kind.TIMESTAMP),
    },
)
"""The type of the generated rows: one in ten of the optional values is missing."""

GOAL = 1.1
"""How many times the time of the hand-written condition a filter may take."""


@dataclass(frozen=True, slots=True)
class Case:
    """A filter, and what a person would write in Spark for it."""

    name: str
    text: str
    by_hand: Callable[[], Column]


def _within_a_day() -> Column:
    age = F.unix_micros("time") - F.unix_micros("since")
    return (age < 86_400_000_000) & (F.hour("since") >= 6)


CASES = [
    Case(
        "numbers",
        "count > 500 and load < 0.75 and count != 700",
        lambda: (F.col("count") > 500) & (F.col("load") < 0.75) & (F.col("count") != 700),
    ),
    Case(
        "units and arithmetic",
        "temperature > 77 degF and load * 100 + count % 7 >= 42",
        lambda: (F.col("temperature") > 25) & (F.col("load") * 100 + F.col("count") % 7 >= 42),
    ),
    Case(
        "conversion of a value",
        "value(temperature, 'degF') * 2 > 150",
        lambda: (F.col("temperature") * 9 / 5 + 32) * 2 > 150,
    ),
    Case(
        "texts",
        "room like 'room-1%' or room ends with '77' or lower(room) contains 'om-4'",
        lambda: F.col("room").like("room-1%") | F.col("room").endswith("77") | F.lower("room").contains("om-4"),
    ),
    Case(
        "lists and ranges",
        "room in ('room-1', 'room-22', 'room-333') or count between 100 and 200",
        lambda: F.col("room").isin("room-1", "room-22", "room-333") | F.col("count").between(100, 200),
    ),
    Case(
        "negation",
        "not (count < 500 or load > 0.9) and not exists room",
        lambda: ~F.coalesce((F.col("count") < 500) | (F.col("load") > 0.9), F.lit(False)) & F.col("room").isNull(),
    ),
    Case("times", "event.time - since < 1 d and hour(since) >= 6", _within_a_day),
]


@dataclass(frozen=True, slots=True)
class Result:
    """The best time of each side, in seconds."""

    name: str
    rows: int
    found: int
    comity_s: float
    by_hand_s: float
    same_plan: bool
    """Whether Spark makes the same plan of both; then a difference in time is noise of the machine."""

    @property
    def ratio(self) -> float:
        return self.comity_s / self.by_hand_s


def generate(spark: SparkSession, rows: int) -> DataFrame:
    """Rows with attributes in columns of their own, in memory."""
    number = F.col("id")
    moment = F.timestamp_micros(F.lit(1_700_000_000_000_000).cast("long") + number * 1_000_000)
    frame = spark.range(rows).select(
        F.when(number % 10 != 3, F.pmod(number * 7919, F.lit(1000))).alias("count"),
        F.when(number % 10 != 5, F.pmod(number * 104_729, F.lit(1_000_003)) / 1_000_003.0).alias("load"),
        (F.pmod(number * 15_485_863, F.lit(60_000)) / 1_000.0 - 10.0).alias("temperature"),
        F.when(number % 10 != 7, F.concat(F.lit("room-"), F.pmod(number * 31, F.lit(500)).cast("string"))).alias(
            "room"
        ),
        F.timestamp_micros(F.unix_micros(moment) - F.pmod(number, F.lit(200_000)) * 1_000_000).alias("since"),
        moment.alias("time"),
    )
    kept = frame.cache()
    kept.count()
    return kept


def measure(frame: DataFrame, case: Case, runs: int) -> Result:
    """The best of alternating runs."""
    filtered = compile_filter(bind_text(case.text, Scope(type=READING)), TypedColumns(READING))
    sides = {"comity": frame.filter(filtered), "hand": frame.filter(case.by_hand())}
    times: dict[str, list[float]] = {name: [] for name in sides}
    found = {name: side.count() for name, side in sides.items()}
    if found["comity"] != found["hand"]:
        raise AssertionError(f"{case.name}: {found}")
    for run in range(runs):
        for name in sorted(sides, reverse=run % 2 == 1):
            started = time.perf_counter()
            sides[name].count()
            times[name].append(time.perf_counter() - started)
    same_plan = len({_plan(side) for side in sides.values()}) == 1
    return Result(case.name, frame.count(), found["comity"], min(times["comity"]), min(times["hand"]), same_plan)


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().optimizedPlan())


def show(results: list[Result]) -> None:
    table = Table(
        "filter", "rows", "found", "Comity ms", "by hand ms", "ratio", "plan", title="Filters as Spark columns"
    )
    for result in results:
        numbers = (
            f"{result.rows:,}",
            f"{result.found:,}",
            f"{result.comity_s * 1e3:.0f}",
            f"{result.by_hand_s * 1e3:.0f}",
        )
        table.add_row(result.name, *numbers, f"{result.ratio:.2f}", "same" if result.same_plan else "other")
    Console().print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6_000_000, help="rows to generate")
    parser.add_argument("--runs", type=int, default=15, help="runs of each side")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, 5 runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "evaluate.json")
    options = parser.parse_args()
    rows, runs = (options.rows // 10, 5) if options.quick else (options.rows, options.runs)
    spark = spark_session()
    try:
        frame = generate(spark, rows)
        results = [measure(frame, case, runs) for case in CASES]
    finally:
        stop_session(spark)
    show(results)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    report = [{**asdict(result), "ratio": round(result.ratio, 3)} for result in results]
    options.out.write_text(json.dumps({"goal": GOAL, "results": report}, indent=2) + "\n")
    return int(any(result.ratio > GOAL and not result.same_plan for result in results) and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
