"""The hash of texts is Spark's."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from comity.pipeline.spark_hash import xxhash64

CHARS = "aZ09/-_. ßé€𝄞\0"


@pytest.mark.spark
def test_texts_of_every_length_have_the_hash_that_spark_gives_them(spark: SparkSession) -> None:
    chance = Random(3)
    texts = [["".join(chance.choices(CHARS, k=length)) for _ in range(3)] for length in range(100) for _ in range(3)]
    rows = spark.createDataFrame([tuple(some) for some in texts], "a string, b string, c string")
    found = rows.select("a", "b", "c", F.xxhash64("a", "b", "c").alias("hash")).collect()
    assert len(found) == len(texts)
    for one in found:
        assert xxhash64(one["a"], one["b"], one["c"]) == one["hash"]
