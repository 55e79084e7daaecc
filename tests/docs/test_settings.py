"""The settings of Spark that the pages name are settings that Spark has, those of Kubernetes and YARN included."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

DOCS = Path(__file__).parents[2] / "docs"
NAMED = re.compile(r"(?:--spark-config |`)(spark\.[\w.-]+)=")
CONFIGURATIONS = (
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Deploy$",
    "org.apache.spark.deploy.k8s.Config$",
    "org.apache.spark.deploy.yarn.config.package$",
    "org.apache.spark.sql.internal.SQLConf$",
)
"""Objects of Spark that make their settings known when they are loaded."""
FAMILIES = (
    "spark.hadoop.fs.",
    "spark.kubernetes.executor.volumes.persistentVolumeClaim.",
    "spark.kubernetes.executor.secretKeyRef.",
)
"""How settings begin whose names somebody else chooses."""


def test_spark_has_every_setting_that_is_named(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    for name in CONFIGURATIONS:
        jvm.java.lang.Class.forName(name)
    find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
    assert find("spark.kubernetes.no.such.setting") is None
    named = {found for page in DOCS.rglob("*.md") for found in NAMED.findall(page.read_text())}
    assert {"spark.kubernetes.namespace", "spark.yarn.dist.archives", "spark.submit.pyFiles"} <= named
    assert {one for one in named if not one.startswith(FAMILIES) and find(one) is None} == set()
