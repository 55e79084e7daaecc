"""A job with streams on a session of Spark Connect; `test_connect.py` runs it in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import comity.spark as cs
from comity import Misuse
from comity.pipeline.given import EventColumns

ROWS = "nr long, machine string, heat double, at timestamp"


def main(federation: str, home: str) -> None:
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    for name, value in {"timeZone": "UTC", "shuffle.partitions": "2"}.items():
        spark.conf.set(f"spark.sql.{'session.' * (name == 'timeZone')}{name}", value)
    given, folder = json.loads(Path(federation).read_text()), Path(home)
    batches = sorted((folder / "batches").iterdir())
    for batch in batches:  # each is read by a stream of its own, which goes on
        batch.rename(folder / "events" / batch.name)
        lines_of(spark, given, folder).to_folder(folder / "out", until_empty=True).start().finish()
    rows = spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 1).json(str(folder / "rows"))
    parts: EventColumns = {"id": F.col("nr").cast("string"), "source": "/p", "type": "plant.Reading", "time": "at"}
    cs.stream(rows, given, **parts).to_table(folder / "tables", typed=True, until_empty=True).start().finish()
    refused(spark, given, folder)
    spark.stop()


def lines_of(spark: SparkSession, given: dict[str, Any], folder: Path) -> Any:
    events = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "events"), lineSep="\n")
    return cs.stream(events, given, lines="value")


def refused(spark: SparkSession, given: dict[str, Any], folder: Path) -> None:
    """A second stream on a folder, and one whose place cannot be."""
    with lines_of(spark, given, folder).to_folder(folder / "busy").start() as first:
        while not list((folder / "busy").glob("office/*.jsonl")):
            first.wait(0.2)
        for delivery in (
            lines_of(spark, given, folder).to_folder(folder / "busy"),
            lines_of(spark, given, folder).to_folder(folder / "tables"),
        ):
            try:
                delivery.start().finish()
            except Misuse as error:
                print(json.dumps({"code": error.code, "place": str(error.place)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
