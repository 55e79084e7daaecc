"""The options about Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from comity.cli.options import option
from comity.cli.session import Session
from comity.errors import Misuse
from comity.run.request import SparkOptions

SparkConfigOption = Annotated[
    list[str] | None,
    option("KEY=VALUE", "A setting of Spark. May be repeated.", "--spark-config"),
]


def read_spark_config(given: Sequence[str] | None) -> dict[str, str]:
    """The settings in `KEY=VALUE` texts; of one that is given twice the last.

    >>> read_spark_config(["spark.executor.memory=4g", "spark.executorEnv.OPTIONS=a=b"])
    {'spark.executor.memory': '4g', 'spark.executorEnv.OPTIONS': 'a=b'}
    """
    parts = [(text, *text.partition("=")) for text in given or ()]
    for text, key, equals, _ in parts:
        if not equals or not key.startswith("spark."):
            hint = "write --spark-config spark.executor.memory=4g"
            raise Misuse(f"this is no setting of Spark: {text}", code="spark-config", hint=hint)
    return {key: value for _, key, _, value in parts}


def spark_options(session: Session, master: str | None = None, config: Sequence[str] | None = None) -> SparkOptions:
    """How Spark is to be started."""
    return SparkOptions(master, read_spark_config(config), session.verbose)
