"""A few vector operations that loops do not express: each is a line or two of LLVM's vector code, which every processor
can run.

Widths are fixed at 64 bytes or 16 words; LLVM splits them where registers are narrower.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped_cgutils

from comity.compiled import operation

cgutils: Any = untyped_cgutils
_I1, _I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return cgutils.create_struct_proxy(array_type)(context, builder, array).data


def _load(builder: Any, base: Any, at: Any, element: Any, count: int) -> Any:
    """So many elements from an array's data, at any alignment."""
    start = builder.gep(
        builder.bitcast(base, ir.PointerType(_I8)), [builder.mul(at, _I64(element.width // 8))], source_etype=_I8
    )
    return builder.load(start, align=1, typ=ir.VectorType(element, count))


def _spread(builder: Any, value: Any, count: int) -> Any:
    """The same value in every place."""
    kind = ir.VectorType(value.type, count)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, _I32(0))
    places = ir.Constant(ir.VectorType(_I32, count), [0] * count)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), places)


def _word(builder: Any, value: Any, kind: Any) -> Any:
    """An index as 64 bits."""
    if value.type.width == 64:
        return value
    return builder.sext(value, _I64) if getattr(kind, "signed", False) else builder.zext(value, _I64)


@operation
def bytes_within(typing: Any, column: Any, at: Any, low: Any, span: Any) -> Any:
    """Of 64 bytes, as 64 bits: those with (byte - low) mod 256 <= span."""
    signature = types.uint64(column, at, types.uint8, types.uint8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = _data(context, builder, signature.args[0], arguments[0])
        loaded = _load(builder, base, _word(builder, arguments[1], signature.args[1]), _I8, 64)
        distance = builder.sub(loaded, _spread(builder, arguments[2], 64))
        return builder.bitcast(builder.icmp_unsigned("<=", distance, _spread(builder, arguments[3], 64)), _I64)

    return signature, generate


@operation
def bytes_at_distance(typing: Any, column: Any, at: Any, low: Any, one: Any, other: Any) -> Any:
    """Of 64 bytes, as 64 bits: those with (byte - low) mod 256 equal to one or the other."""
    signature = types.uint64(column, at, types.uint8, types.uint8, types.uint8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = _data(context, builder, signature.args[0], arguments[0])
        loaded = _load(builder, base, _word(builder, arguments[1], signature.args[1]), _I8, 64)
        distance = builder.sub(loaded, _spread(builder, arguments[2], 64))
        equal = [builder.icmp_unsigned("==", distance, _spread(builder, value, 64)) for value in arguments[3:]]
        return builder.bitcast(builder.or_(*equal), _I64)

    return signature, generate


@operation
def check_sixteen(typing: Any, row: Any, packed: Any, at: Any) -> Any:
    """Sixteen packed atoms against one event: bits 0-15 those that pass, bits 16-31 those whose answer is not certain.

    `row` is the event's buckets as uint32 by channel; an atom is `channel | low << 8 | span << 16 | flags << 24`.
    """
    signature = types.uint32(row, packed, at)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = ir.VectorType(_I32, 16)

        def constant(value: int) -> Any:
            return ir.Constant(words, [value] * 16)

        def has(flag: int) -> Any:
            return builder.icmp_unsigned("!=", builder.and_(atoms, constant(flag << 24)), constant(0))

        row_base, base = (_data(context, builder, signature.args[i], arguments[i]) for i in (0, 1))
        atoms = _load(builder, base, _word(builder, arguments[2], signature.args[2]), _I32, 16)
        buckets = _gather(builder, row_base, builder.and_(atoms, constant(255)))
        distance = builder.and_(builder.sub(buckets, builder.lshr(atoms, constant(8))), constant(255))
        span = builder.and_(builder.lshr(atoms, constant(16)), constant(255))
        passes = builder.icmp_unsigned("<=", distance, span)
        at_low = builder.and_(builder.icmp_unsigned("==", distance, constant(0)), has(1))
        at_high = builder.and_(builder.icmp_unsigned("==", distance, span), has(2))
        uncertain = builder.or_(builder.or_(at_low, at_high), has(4))
        low_half = builder.zext(builder.bitcast(passes, _I16), _I32)
        high_half = builder.zext(builder.bitcast(uncertain, _I16), _I32)
        return builder.or_(low_half, builder.shl(high_half, _I32(16)))

    return signature, generate


def _gather(builder: Any, base: Any, places: Any) -> Any:
    """The words of an array at sixteen places."""
    words, longs = ir.VectorType(_I32, 16), ir.VectorType(_I64, 16)
    pointers = ir.VectorType(ir.PointerType(_I32), 16)
    scaled = builder.shl(builder.zext(places, longs), ir.Constant(longs, [2] * 16))
    address = builder.add(_spread(builder, builder.ptrtoint(base, _I64), 16), scaled)
    mask = ir.VectorType(_I1, 16)
    kind = ir.FunctionType(words, [pointers, _I32, mask, words])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.gather.v16i32.v16p0")
    arguments = [
        builder.inttoptr(address, pointers),
        _I32(4),
        ir.Constant(mask, [1] * 16),
        ir.Constant(words, [0] * 16),
    ]
    return builder.call(function, arguments)


@operation
def copy_ints(typing: Any, out: Any, to: Any, source: Any, begin: Any, count: Any) -> Any:
    """Copies so many elements of an array into another one, which has room for them."""
    signature = types.void(out, to, source, begin, count)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        width = _I64(kinds[0].dtype.bitwidth // 8)
        places = [
            builder.gep(
                builder.bitcast(_data(context, builder, kinds[i], arguments[i]), ir.PointerType(_I8)),
                [builder.mul(_word(builder, arguments[i + 1], kinds[i + 1]), width)],
                source_etype=_I8,
            )
            for i in (0, 2)
        ]
        size = builder.mul(_word(builder, arguments[4], kinds[4]), width)
        cgutils.raw_memcpy(builder, *places, size, 1)
        return context.get_dummy_value()

    return signature, generate


@operation
def trailing_zeros(typing: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set."""
    signature = types.uint64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_I64, [_I64, _I1])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.cttz.i64")
        return builder.call(function, [arguments[0], _I1(0)])

    return signature, generate


@operation
def load_word(typing: Any, data: Any, at: Any) -> Any:
    """Eight bytes of an array of bytes, at any alignment."""
    signature = types.uint64(data, at)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = _data(context, builder, signature.args[0], arguments[0])
        start = builder.gep(
            builder.bitcast(base, ir.PointerType(_I8)),
            [_word(builder, arguments[1], signature.args[1])],
            source_etype=_I8,
        )
        return builder.load(builder.bitcast(start, ir.PointerType(_I64)), align=1, typ=_I64)

    return signature, generate


@operation
def swap_bytes(typing: Any, word: Any) -> Any:
    """The eight bytes of a word in the opposite order."""
    signature = types.uint64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_I64, [_I64]), "llvm.bswap.i64")
        return builder.call(function, [arguments[0]])

    return signature, generate


@operation
def prefetch(typing: Any, array: Any, at: Any) -> Any:
    """Asks for an element to be in the cache soon."""
    signature = types.void(array, at)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = _data(context, builder, signature.args[0], arguments[0])
        width = signature.args[0].dtype.bitwidth // 8
        place = builder.mul(_word(builder, arguments[1], signature.args[1]), _I64(width))
        start = builder.gep(builder.bitcast(base, ir.PointerType(_I8)), [place], source_etype=_I8)
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(_I8), _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [start, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return signature, generate
