"""The workload of `pipeline`: readings of machines in one domain, profiles of another, a contract with units between.

A profile asks for one machine, or for all of them, and for ranges of what the machine measures, so wide that all
profiles together want one event in a hundred. Everything follows from the seeds.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

MACHINES = 10_000
SHARE = 0.01
"""Of the events, those that some profile wants."""
SEED = 7

LINE_SCHEMA = (
    "specversion string, id string, source string, type string, time string, data struct<machine string, "
    "temperature double, load bigint, pressure double, status string, test boolean, vibration double, shift bigint>"
)
PLANT = """\
domain: plant
types:
  Reading:
    attributes:
      machine: string
      temperature: float degF
      load: int?
      pressure: float
      status: string
      test: bool
      vibration: float?
      shift: int
"""
OFFICE = """\
domain: office
types:
  Measurement:
    attributes:
      machine: string
      temperature: float degC
      load: int?
      pressure: float
      is_test: bool
      vibration: float?
"""
CONTRACT = """\
contract: readings
types:
  Measured:
    attributes:
      machine: string
      temperature: float kelvin
      load: int?
      pressure: float
      is_test: bool
      vibration: float?
members:
  plant:
    type: Reading
    map:
      machine: machine
      temperature: temperature
      load: load
      pressure: pressure
      is_test: test
      vibration: vibration
observers:
  office:
    type: Measurement
    map:
      machine: machine
      temperature: temperature
      load: load
      pressure: pressure
      is_test: is_test
      vibration: vibration
"""


def write_federation(folder: Path, profiles: int) -> None:
    """The files of the federation, with so many profiles."""
    chance = random.Random(SEED)
    write_filters(folder, [_filter(chance, profiles) for _ in range(profiles)])


def write_filters(folder: Path, filters: Sequence[str]) -> None:
    """The files of the federation, with a profile `p0`, `p1` … for each of these filters."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "plant.yaml").write_text(PLANT)
    (folder / "office.yaml").write_text(OFFICE)
    (folder / "contract.yaml").write_text(CONTRACT)
    for first in range(0, len(filters), _FILE):
        lines = [
            f'  p{number}: {{domain: office, on: Measurement, where: "{where}"}}'
            for number, where in enumerate(filters[first : first + _FILE], first)
        ]
        (folder / f"profiles-{first:06d}.yaml").write_text("\n".join(["profiles:", *lines]) + "\n")


_FILE = 10_000
"""Profiles in one file."""


def _filter(chance: random.Random, profiles: int) -> str:
    """A filter that matches `SHARE / profiles` of the events."""
    wanted = SHARE / profiles
    parts = []
    if profiles > 100:
        parts.append(f"machine = 'm-{chance.randrange(MACHINES)}'")
        wanted *= MACHINES
    widths = _widths(chance, min(wanted, 1.0))
    parts.append(_range(chance, "temperature", 0.0, 100.0, widths[0]))
    parts.append(_range(chance, "pressure", 0.0, 10.0, widths[1]))
    parts.append(_range(chance, "load", 0.0, 1000.0, widths[2]))
    return " and ".join(parts)


def _widths(chance: random.Random, wanted: float) -> list[float]:
    """Three shares whose product is the wanted one; the load is there in nine of ten events."""
    first = wanted ** chance.uniform(0.2, 0.5)
    second = (wanted / first) ** chance.uniform(0.3, 0.7)
    return [first, second, min(wanted / first / second / 0.9, 1.0)]


def _range(chance: random.Random, name: str, low: float, high: float, width: float) -> str:
    unit = " degC" if name == "temperature" else ""
    begin = chance.uniform(0.0, 1.0 - width)
    ends = (low + (high - low) * end for end in (begin, begin + width))
    first, last = (f"{end:.6f}{unit}" for end in ends)
    return f"{name} between {first} and {last}"


def events(spark: SparkSession, rows: int) -> DataFrame:
    """The events as columns: the envelope, and a struct `data`."""
    number = F.col("id")

    def draw(seed: int) -> Column:
        return F.rand(SEED * 100 + seed)

    status = F.element_at(F.array(*map(F.lit, ("ok", "warn", "alarm", "off"))), (draw(5) * 4).cast("int") + 1)
    return spark.range(0, rows, 1, 16).select(
        F.concat(F.lit("e-"), number).alias("id"),
        F.concat(F.lit("plant/line-"), (draw(1) * 50).cast("int")).alias("source"),
        F.lit("plant.Reading").alias("type"),
        F.timestamp_micros(F.lit(1_763_200_000_000_000) + number * 10_000).alias("time"),
        F.struct(
            F.concat(F.lit("m-"), (draw(2) * MACHINES).cast("int")).alias("machine"),
            F.round(draw(3) * 180 + 32, 3).alias("temperature"),
            F.when(draw(4) < 0.9, (draw(6) * 1000).cast("long")).alias("load"),
            F.round(draw(7) * 10, 4).alias("pressure"),
            status.alias("status"),
            (draw(8) < 0.1).alias("test"),
            F.when(draw(9) < 0.7, F.round(draw(10) * 1000, 1)).alias("vibration"),
            (draw(11) * 3).cast("long").alias("shift"),
        ).alias("data"),
    )


def write_events(spark: SparkSession, rows: int, folder: Path) -> tuple[list[str], list[str]]:
    """The files of Parquet, and those of JSON Lines, made if they are not there yet."""
    tables, lines = folder / f"events-{rows}.parquet", folder / f"events-{rows}.jsonl"
    if not (tables / "_SUCCESS").exists():
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        events(spark, rows).write.mode("overwrite").parquet(str(tables))
    if not (lines / "_SUCCESS").exists():
        time = F.date_format("time", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'").alias("time")
        line = F.to_json(F.struct(F.lit("1.0").alias("specversion"), "id", "source", "type", time, "data"))
        spark.read.parquet(str(tables)).select(line).write.mode("overwrite").text(str(lines))
    return [str(path) for path in sorted(tables.glob("*.parquet"))], [str(path) for path in sorted(lines.glob("*.txt"))]


def read_events(spark: SparkSession, form: str, files: list[str]) -> DataFrame:
    """The events of such files, with Spark's own readers."""
    if form == "parquet":
        return spark.read.parquet(*files)
    return spark.read.schema(LINE_SCHEMA).json(files)


def plain_line() -> Column:
    """An event as JSON by Spark's own functions."""
    return F.to_json(F.struct("id", "source", "type", F.col("time").cast("string").alias("time"), "data"))
