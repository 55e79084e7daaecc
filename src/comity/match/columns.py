"""Columns of Arrow batches: finding the one of an attribute, and looking into its buffers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.match.channels import Path


def column_at(batch: pa.RecordBatch, path: Path) -> pa.Array | None:
    """The column of an attribute: named by its dotted path, or inside a struct; None when there is none."""
    for length in range(len(path), 0, -1):
        at = batch.schema.get_field_index(".".join(path[:length]))
        if at >= 0:
            column = _inside(batch.column(at), path[length:])
            return None if column is None else _decoded(column)
    return None


def _decoded(column: pa.Array) -> pa.Array:
    """The column, without codes unless they are of texts: those alone are worked with as they are."""
    coded = pa.types.is_dictionary(column.type) and string_column(column.dictionary) is None
    return column.dictionary_decode() if coded else column


def _inside(column: pa.Array, path: Path) -> pa.Array | None:
    for name in path:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(name) < 0:
            return None
        at = column.type.get_field_index(name)
        column = column.flatten()[at]  # the struct's own nulls become the field's
    return column


_NOTHING = np.zeros(8, np.uint8)
_NOTHING.setflags(write=False)


class Buffers(NamedTuple):
    """A column's memory as arrays: values (of strings: offsets), data (of strings: the bytes), validity bits."""

    values: npt.NDArray[Any]
    data: npt.NDArray[np.uint8]
    bits: npt.NDArray[np.uint8]
    has_bits: bool
    offset: int


def buffers_of(column: pa.Array, element: Any) -> Buffers:
    """The memory of a column whose values (or offsets) are `element`s."""
    validity, values, *data = column.buffers()
    has_bits = validity is not None and column.null_count > 0
    return Buffers(
        _array(values, element),
        _array(data[0], np.uint8) if data else _NOTHING,
        _array(validity, np.uint8) if has_bits else _NOTHING,
        has_bits,
        column.offset,
    )


def presence_of(column: pa.Array) -> Buffers:
    """Only which values are there, for a column of any kind."""
    bits = np.packbits(column.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    bits.setflags(write=False)
    return Buffers(_NOTHING, _NOTHING, bits, True, 0)


def _array(buffer: pa.Buffer | None, element: Any) -> npt.NDArray[Any]:
    if buffer is None or buffer.size == 0:
        return _NOTHING.view(element)
    found = np.frombuffer(buffer, element)
    found.setflags(write=False)  # one kind of array, so that kernels are compiled once
    return found


def string_column(column: pa.Array) -> pa.Array | None:
    """A column of strings, with offsets (or, of a dictionary, codes) of 32 bits; None when it is of another kind."""
    kind = column.type
    if kind == pa.string():
        return column
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if not pa.types.is_dictionary(kind):
        return None
    texts = string_column(column.dictionary)
    if texts is None:
        return None
    if texts is column.dictionary and kind.index_type == pa.int32():
        return column
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), texts)
