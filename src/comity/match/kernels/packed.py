"""Records of arrays for kernels that are called for one event: handed over as one address.

numba looks at every array that a kernel is given, and takes some 0.2 µs for each: with the arrays of an index that is
longer than matching an event. So a record is written down once as words, two for each field: the address and length of
an array, or a number and nothing. `unpacking` makes the operation by which a kernel reads it again, field by field, as
the named tuple that it was.

What holds: the words are good as long as the arrays live and stay where they are; who packs keeps both. Fields and
their kinds are those of the class, which stands in this folder, so that a change of it compiles the kernels again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack, unpack
from typing import Any, get_args, get_type_hints

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as untyped_types
from numba.np import arrayobj as untyped_arrayobj

from comity.compiled import operation

arrayobj: Any = untyped_arrayobj
types: Any = untyped_types
_I8, _I64 = ir.IntType(8), ir.IntType(64)
WORDS = 2
"""Words of a field."""


def packed_words(record: Sequence[Any]) -> list[int]:
    """A record as words."""
    words: list[int] = []
    for field in record:
        if isinstance(field, np.ndarray):
            assert field.ndim == 1
            assert field.flags.c_contiguous
            words += field.__array_interface__["data"][0], len(field)
        else:
            words += unpack("q", pack("d", field))[0] if isinstance(field, float) else int(field), 0
    return words


def packed_size(kind: type) -> int:
    """The bytes that a record takes."""
    return 8 * WORDS * len(kind._fields)  # type: ignore[attr-defined]


def unpacking(kind: type, **dtypes: Any) -> Callable[[int], Any]:
    """An operation for kernels: the record of a class at an address; `dtypes` are those that the class leaves open."""
    fields = {name: _native(hint, dtypes.get(name)) for name, hint in get_type_hints(kind).items()}
    record = types.NamedTuple(list(fields.values()), kind)

    @operation
    def unpacked(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = [_word(builder, arguments[0], at) for at in range(WORDS * len(fields))]
            parts = [
                _field(context, builder, native, words[WORDS * at], words[WORDS * at + 1])
                for at, native in enumerate(fields.values())
            ]
            return context.make_tuple(builder, record, parts)

        return record(types.int64), generate

    return unpacked


def _native(hint: Any, dtype: Any) -> Any:
    """The kind of a field in compiled code, from its annotation."""
    if hint in (int, float):
        return types.int64 if hint is int else types.float64
    return types.Array(numba.from_dtype(np.dtype(dtype or get_args(get_args(hint)[1])[0])), 1, "C")


def _word(builder: Any, address: Any, at: int) -> Any:
    return builder.load(builder.inttoptr(builder.add(address, _I64(8 * at)), ir.PointerType(_I64)), typ=_I64)


def _field(context: Any, builder: Any, native: Any, first: Any, second: Any) -> Any:
    if native is types.int64:
        return first
    if native is types.float64:
        return builder.bitcast(first, ir.DoubleType())
    return array_at(context, builder, native, first, second)


def array_at(context: Any, builder: Any, native: Any, address: Any, length: Any) -> Any:
    """The code that sees memory as an array."""
    array = arrayobj.make_array(native)(context, builder)
    element = context.get_data_type(native.dtype)
    size = _I64(context.get_abi_sizeof(element))
    data = builder.inttoptr(address, ir.PointerType(element))
    arrayobj.populate_array(array, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
    return array._getvalue()
