"""Files of stores on Spark: which addresses Spark itself can read, and how files are called on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from comity.errors import Misuse, Place
from comity.storage.access import StorageAccess
from comity.storage.place import is_address

_PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws:3.5.0",
    "abfs": "org.apache.hadoop:hadoop-azure:3.5.0",
    "abfss": "org.apache.hadoop:hadoop-azure:3.5.0",
}
_SAFE = "/:"


def readable_by_spark(files: Iterable[str], spark: SparkSession, access: StorageAccess) -> frozenset[str]:
    """The schemes among these addresses that Spark can read, with the access that is known."""
    schemes = {_scheme(file) for file in files if is_address(file)}
    known = frozenset(scheme for scheme in schemes if _has_file_system(spark, scheme))
    if known:
        _hand_over(spark, access)
    return known


def check_readable_by_spark(folders: Iterable[str], spark: SparkSession, access: StorageAccess) -> None:
    """Raise `Misuse` for an address of which Spark cannot say what is new there."""
    folders = list(folders)
    known = readable_by_spark(folders, spark, access)
    for folder in folders:
        if is_address(folder) and _scheme(folder) not in known:
            package = _PACKAGES.get(_scheme(folder), "PACKAGE")
            hint = f"give Spark what it needs for it: --spark-config spark.jars.packages={package}"
            reason = f"this Spark has no file system for {_scheme(folder)}://, so it cannot follow what comes there"
            raise Misuse(reason, code="no-file-system", place=Place(folder), hint=hint)


def is_spark_own(file: str, known: frozenset[str]) -> bool:
    """Whether Spark reads a file, and not a worker that fetches it."""
    return not is_address(file) or _scheme(file) in known


def spark_name(file: str) -> str:
    """A file as Spark calls it in columns: addresses are URLs there.

    >>> spark_name("s3a://b/a b%.jsonl"), spark_name("/a b")
    ('s3a://b/a%20b%25.jsonl', '/a b')
    """
    return quote(file, safe=_SAFE) if is_address(file) else file


def plain_name(name: str | None) -> str | None:
    """A file of this machine by its path, one of a store by its address; Spark knows both by their URLs.

    >>> plain_name("file:/a%20b"), plain_name("s3a://b/a%20b%25.jsonl"), plain_name("/a%20b")
    ('/a b', 's3a://b/a b%.jsonl', '/a%20b')
    """
    if name is None:
        return None
    if name.startswith("file:"):
        return unquote(urlsplit(name).path)
    return unquote(name) if is_address(name) else name


def _scheme(address: str) -> str:
    return address.partition("://")[0]


def _has_file_system(spark: SparkSession, scheme: str) -> bool:
    jvm, context = spark.sparkContext._jvm, spark.sparkContext._jsc
    assert jvm is not None, "it runs"
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, context.hadoopConfiguration())
    except Py4JJavaError:
        return False
    return True


def _hand_over(spark: SparkSession, access: StorageAccess) -> None:
    """Let Hadoop know what the environment says, which is not on any command line then."""
    known = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in access.settings:
        if not known.get(name):
            known.set(name, value)
