"""A job of somebody who has a session of Spark Connect; `test_connect.py` runs it in a process of its own.

PySpark is of one kind in a process: classic, or of Spark Connect.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame, SparkSession

import comity.spark as cs
from comity import Misuse
from comity.limits import limited

ZONE = "spark.sql.session.timeZone"


def main(federation: str, lines: str, rows: str) -> None:
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.caseSensitive", "true")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set(ZONE, "Europe/Vienna")
    texts = spark.read.text(lines, lineSep="\n").select("value")
    try:
        cs.deliver(texts, federation, lines="value")
    except Misuse as error:
        print(json.dumps({"code": error.code, "hint": error.hint}))
    spark.conf.set(ZONE, "UTC")
    tell("lines", cs.deliver(texts, federation, lines="value"), cs.rejected(texts, federation, lines="value"))
    table = spark.read.parquet(rows)
    tell("columns", cs.deliver(table, federation), cs.rejected(table, federation))
    with limited(max_column_profiles=0):
        tell("kernel", cs.deliver(table, federation), cs.rejected(table, federation))
    names = cs.match(table.limit(3), {"any": "true"}).collect()
    print(json.dumps({"names": [row["profiles"] for row in names]}))
    spark.stop()


def tell(form: str, told: DataFrame, refused: DataFrame) -> None:
    for row in told.collect():
        print(json.dumps({"form": form, "to": row["subscriber"], "notification": json.loads(row["notification"])}))
    for row in refused.collect():
        print(json.dumps({"form": form, "rejected": row.asDict(recursive=True)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
