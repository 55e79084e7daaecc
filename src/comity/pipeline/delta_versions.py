"""Delta tables as DataFrames: a version, and a stream of versions.

There is no connector of Delta for this Spark. A version is read by Spark's reader of Parquet, unless it is in parts:
what Spark makes of the names of their folders is not always what Delta's log says. Those, and streams, are read by a
source of ours, a file by each task. A stream notes the number of a version. Its first batch is the table as it is;
after that, the files that each version adds are new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from zlib import crc32

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from comity.connect.destination import check_delta
from comity.connect.tables.versions import TableVersions, VersionFile
from comity.pipeline.wrap import NO_GLOBS
from comity.storage.access import StorageAccess
from comity.storage.place import LocalStorage, storage_at

_BEFORE_ALL = -1


def read_version(spark: SparkSession, address: str) -> DataFrame:
    """The newest version of the table at a path or an address."""
    versions = _versions(spark, address)
    schema = _spark_schema(versions)
    files = versions.files()
    if not files:
        return spark.createDataFrame([], schema)
    if any(one.values for one in files):
        return spark.read.format(_registered(spark, versions, schema)).load()
    base = _for_spark(versions)
    return spark.read.schema(schema).option(*NO_GLOBS).parquet(*(f"{base}/{one.path}" for one in files))


def follow_versions(spark: SparkSession, address: str) -> DataFrame:
    """A stream of the rows of a table that only grows."""
    versions = _versions(spark, address)
    return spark.readStream.format(_registered(spark, versions, _spark_schema(versions))).load()


def _registered(spark: SparkSession, versions: TableVersions, fields: StructType) -> str:
    """The format by which Spark knows the table. Its place may hold keys, which options would show, so it goes along
    with the class.
    """
    format = f"comity_delta_{crc32(versions.address.encode()):08x}"
    known = {"versions": versions, "fields": fields, "format": format}
    spark.dataSource.register(type("DeltaRows", (DeltaRows,), known))
    return format


@dataclass
class FilePartition(InputPartition):
    """A file, for a task."""

    file: VersionFile


class DeltaRows(DataSource):
    """The rows of a table, version by version."""

    versions: ClassVar[TableVersions]
    fields: ClassVar[StructType]
    format: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.format

    def schema(self) -> StructType:
        return self.fields

    def reader(self, schema: StructType) -> DeltaFileReader:
        return DeltaFileReader(self.versions, schema)

    def streamReader(self, schema: StructType) -> DeltaVersionReader:
        return DeltaVersionReader(self.versions, schema)


@dataclass
class DeltaFileReader(DataSourceReader):
    """The files of the newest version."""

    versions: TableVersions
    fields: StructType

    def partitions(self) -> Sequence[InputPartition]:
        return [FilePartition(one) for one in self.versions.files()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows_of(self.versions, partition, self.fields)


@dataclass
class DeltaVersionReader(DataSourceStreamReader):
    """What Spark asks about the versions; a position is the number of the last one that was read."""

    versions: TableVersions
    fields: StructType

    def initialOffset(self) -> dict[str, int]:
        return {"version": _BEFORE_ALL}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        return {"version": self.versions.newest()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        first, last = start["version"], end["version"]
        if first == _BEFORE_ALL:
            return [FilePartition(one) for one in self.versions.files(last)]
        return [FilePartition(one) for number in range(first + 1, last + 1) for one in self.versions.added(number)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _rows_of(self.versions, partition, self.fields)


def _rows_of(versions: TableVersions, partition: InputPartition, fields: StructType) -> Iterator[pa.RecordBatch]:
    """In a worker."""
    from pyarrow import parquet

    assert isinstance(partition, FilePartition), "partitions are ours"
    schema = to_arrow_schema(fields, timezone="UTC")
    with versions.opened(partition.file) as stream, parquet.ParquetFile(stream) as file:
        for batch in file.iter_batches():
            yield _as(schema, batch, partition.file.values)


def _as(schema: pa.Schema, batch: pa.RecordBatch, values: Mapping[str, Any]) -> pa.RecordBatch:
    """A batch of a file with the columns of the table; one that it has not is the same in all rows, or null."""

    def column(field: pa.Field) -> pa.Array:
        if field.name in batch.schema.names:
            return batch.column(field.name).cast(field.type)
        value = values.get(field.name)
        constant = pa.scalar(value).cast(field.type) if value is not None else pa.scalar(None, field.type)
        return pa.repeat(constant, batch.num_rows)

    return pa.RecordBatch.from_arrays([column(one) for one in schema], schema=schema)


def _versions(spark: SparkSession, address: str) -> TableVersions:
    check_delta()
    access = StorageAccess.of(dict(spark.sparkContext.getConf().getAll()))
    return TableVersions(storage_at(address, access))


def _spark_schema(versions: TableVersions) -> StructType:
    return from_arrow_schema(versions.schema())


def _for_spark(versions: TableVersions) -> str:
    """What Spark calls the place."""
    place = versions.place
    if isinstance(place, LocalStorage):
        return str(place.folder.absolute())
    scheme, _, rest = place.address.partition("://")
    return f"{'s3a' if scheme == 's3' else scheme}://{rest}"
