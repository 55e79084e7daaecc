"""Files of events that are made to do harm to whoever reads them: small ones, each by a name."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

_SYNC = bytes(16)
_MIB = 1_048_576


def avro(schema: Any, count: int, block: bytes, codec: str = "null") -> bytes:
    """A container of one block, whatever it claims."""
    meta = {"avro.schema": json.dumps(schema).encode() if not isinstance(schema, bytes) else schema}
    meta["avro.codec"] = codec.encode()
    header = b"Obj\x01" + long(len(meta))
    header += b"".join(long(len(key)) + key.encode() + long(len(value)) + value for key, value in meta.items())
    return header + long(0) + _SYNC + long(count) + long(len(block)) + block + _SYNC


def long(number: int) -> bytes:
    """A number as Avro writes it."""
    rest = number << 1 if number >= 0 else ((-number) << 1) - 1
    found = bytearray()
    while rest > 127:
        found.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*found, rest])


def record(*fields: tuple[str, Any], name: str = "T") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": type} for key, type in fields]}


def _deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def _avro_that_contains_itself() -> bytes:
    return avro(record(("a", "T")), 1, b"\x00")


def _avro_with_a_deep_schema() -> bytes:
    deep = b'{"type":"array","items":' * 100_000 + b'"int"' + b"}" * 100_000
    return avro(b'{"type":"record","name":"T","fields":[{"name":"a","type":' + deep + b"}]}", 1, b"\x00")


def _avro_with_deep_data() -> bytes:
    return avro(record(("id", "string"), ("next", ["null", "T"])), 1, b"\x02a\x02" * 1_000_000 + b"\x02a\x00")


def _avro_bomb() -> bytes:
    return avro(record(("a", "bytes")), 1, _deflated(long(300 * _MIB) + bytes(300 * _MIB)), "deflate")


def _avro_of_empty_records() -> bytes:
    return avro(record(), 2**40, b"")


def _avro_of_nulls() -> bytes:
    return avro(record(("a", {"type": "array", "items": "null"})), 1, long(2**33) + b"\x00")


def _avro_block_of_2_to_the_60_bytes() -> bytes:
    whole = avro(record(("a", "bytes")), 1, b"")
    return whole[:-17] + long(2**60) + b"rest"


def _avro_of_records_of_nulls() -> bytes:
    nulls = record(*((f"a{n}", "null") for n in range(20_000)), name="Nulls")
    return avro(record(("a", {"type": "array", "items": nulls})), 1, long(2**33) + b"\x00")


AVRO: dict[str, Callable[[], bytes]] = {
    "contains-itself": _avro_that_contains_itself,
    "deep-schema": _avro_with_a_deep_schema,
    "deep-data": _avro_with_deep_data,
    "deflate-bomb": _avro_bomb,
    "empty-records": _avro_of_empty_records,
    "nulls": _avro_of_nulls,
    "records-of-nulls": _avro_of_records_of_nulls,
    "huge-block": _avro_block_of_2_to_the_60_bytes,
}


def _deep_xml() -> bytes:
    return b"<all><T>" + b"<a>" * 1_000_000


def _xml_of_attributes() -> bytes:
    return b"<all><T " + b" ".join(b'a%d="1"' % n for n in range(400_000)) + b"/></all>"


def _xml_of_one_text() -> bytes:
    return b"<all><T><id>" + b"a" * (20 * _MIB) + b"</id></T></all>"


def _xml_of_comments() -> bytes:
    return b"<all>" + b"<!--a-->" * 4_000_000 + b"</all>"


def _xml_of_namespaces() -> bytes:
    return b"<all><T " + b" ".join(b'xmlns:a%d="u%d"' % (n, n) for n in range(200_000)) + b"/></all>"


XML: dict[str, Callable[[], bytes]] = {
    "deep": _deep_xml,
    "attributes": _xml_of_attributes,
    "text": _xml_of_one_text,
    "comments": _xml_of_comments,
    "namespaces": _xml_of_namespaces,
}


def _parquet(table: pa.Table, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def parquet_bomb() -> bytes:
    """Few kilobytes: one text of 4 MB, once in a dictionary, in a row group of 4096 rows."""
    indices = pa.array([0] * 4_096, pa.int32())
    text = pa.DictionaryArray.from_arrays(indices, pa.array(["a" * 4 * _MIB]))
    columns = {"id": [str(n) for n in range(4_096)], "source": ["/a"] * 4_096, "type": ["T"] * 4_096, "text": text}
    return _parquet(pa.table(columns), compression="zstd", dictionary_pagesize_limit=16 * _MIB)


def parquet_of_rows() -> bytes:
    """Few bytes for twenty million rows."""
    return _parquet(pa.table({"a": pa.nulls(20_000_000, pa.int8())}), compression="zstd")


def good_parquet() -> bytes:
    """A good file of Parquet."""
    return _parquet(pa.table({"id": ["1", "2"], "source": ["/a", "/b"], "type": ["T", "T"], "heat": [1.5, None]}))


def parquet_footer() -> bytes:
    """A footer that is no footer."""
    whole = bytearray(_parquet(pa.table({"id": ["1"], "source": ["/a"], "type": ["T"]})))
    whole[-60:-8] = bytes(range(200, 252))
    return bytes(whole)


PARQUET: dict[str, Callable[[], bytes]] = {
    "dictionary-bomb": parquet_bomb,
    "rows": parquet_of_rows,
    "footer": parquet_footer,
}


def gzip_bomb() -> bytes:
    """A thousand times as many blanks, as lines or as an element."""
    return gzip.compress(b"<all>" + (b" " * 99 + b"\n") * 80_000)


def good(count: int) -> bytes:
    """A good file of Avro."""
    stream = io.BytesIO()
    rows = [{"id": str(n), "source": "/a"} for n in range(count)]
    fastavro.writer(stream, record(("id", "string"), ("source", "string")), rows)
    return stream.getvalue()
