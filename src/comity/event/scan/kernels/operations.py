"""Operations of the scanner's kernels that Python has no words for. Words are read as little-endian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils as untyped_cgutils

from comity.compiled import operation

cgutils: Any = untyped_cgutils
_I1, _I8, _I32, _I64, _I128 = (ir.IntType(bits) for bits in (1, 8, 32, 64, 128))
_BYTES = ir.VectorType(_I8, 32)


def _place(context: Any, builder: Any, array_type: Any, element: Any, array: Any, at: Any) -> Any:
    """A pointer to elements of any width at a byte of an array of bytes."""
    base = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    start = builder.gep(builder.bitcast(base, ir.PointerType(_I8)), [at], source_etype=_I8)
    return builder.bitcast(start, ir.PointerType(element))


@operation
def load_word(typing: Any, data: Any, at: Any) -> Any:
    """Eight bytes of an array of bytes, at any alignment."""
    signature = types.uint64(data, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], _I64, *arguments)
        return builder.load(place, align=1, typ=_I64)

    return signature, generate


@operation
def copy_32(typing: Any, source: Any, start: Any, target: Any, at: Any) -> Any:
    """Copies 32 bytes between arrays of bytes."""
    signature = types.void(source, types.int64, target, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_place(context, builder, signature.args[0], _BYTES, *arguments[:2]), align=1, typ=_BYTES)
        builder.store(loaded, _place(context, builder, signature.args[2], _BYTES, *arguments[2:]), align=1)
        return context.get_dummy_value()

    return signature, generate


@operation
def special_of_32(typing: Any, data: Any, at: Any) -> Any:
    """Of 32 bytes, as 32 bits: those that are no plain ASCII inside a JSON string."""
    signature = types.uint64(data, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def constant(value: int) -> Any:
            return ir.Constant(_BYTES, [value] * 32)

        loaded = builder.load(_place(context, builder, signature.args[0], _BYTES, *arguments), align=1, typ=_BYTES)
        other = builder.icmp_unsigned(">", builder.sub(loaded, constant(0x20)), constant(0x5F))
        quote = builder.icmp_unsigned("==", loaded, constant(ord('"')))
        escape = builder.icmp_unsigned("==", loaded, constant(ord("\\")))
        return builder.zext(builder.bitcast(builder.or_(other, builder.or_(quote, escape)), _I32), _I64)

    return signature, generate


@operation
def trailing_zeros(typing: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set."""
    return types.int64(types.uint64), _count("llvm.cttz.i64")


@operation
def leading_zeros(typing: Any, bits: Any) -> Any:
    """How many bits stand before the highest that is set."""
    return types.int64(types.uint64), _count("llvm.ctlz.i64")


def _count(name: str) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_I64, [_I64, _I1]), name)
        return builder.call(function, [arguments[0], _I1(0)])

    return generate


@operation
def high_product(typing: Any, left: Any, right: Any) -> Any:
    """The upper 64 bits of a product of 128."""
    signature = types.uint64(types.uint64, types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        product = builder.mul(*(builder.zext(one, _I128) for one in arguments))
        return builder.trunc(builder.lshr(product, _I128(64)), _I64)

    return signature, generate


@operation
def float_of_bits(typing: Any, bits: Any) -> Any:
    """The float that 64 bits stand for."""
    signature = types.float64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return signature, generate
