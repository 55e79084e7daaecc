"""Python's objects in kernels: numbers and texts are read from them where they are, and lists are made.

Every operation is a call of Python's stable C interface, and an object is its address (`id`). So they are for kernels
that hold the interpreter's lock (`compiled.locked_kernel`), and for objects that the caller keeps alive meanwhile. None
of them raises, but `answer_of`: where Python would, the caller is told to do it in Python.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as untyped_types
from numba.core import cgutils as untyped_cgutils

from comity.compiled import operation
from comity.match.kernels.packed import array_at

cgutils: Any = untyped_cgutils
types: Any = untyped_types
_I8, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_OBJECT = ir.PointerType(_I8)
TYPE_OFFSET = object.__basicsize__ - 8
"""Where an object tells its type: in the last word of what all objects have."""
ITEMS_OFFSET = list.__basicsize__ - 16
"""Where a list tells the place of its items: before the number of places that it has room for."""
_COUNTS_PLAINLY = sys.version_info < (3, 12) and object.__basicsize__ == 16
"""Whether the references to an object are just counted in its first word; later, some objects live for ever."""
DATA_OFFSET = object.__basicsize__
"""Where an array of NumPy tells the place of its data."""


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _object(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _OBJECT)


def _load(builder: Any, address: Any, offset: int) -> Any:
    """A word of an object."""
    place = builder.inttoptr(builder.add(address, _I64(offset)), ir.PointerType(_I64))
    return builder.load(place, typ=_I64)


@operation
def item_of(typing: Any, items: Any, at: Any) -> Any:
    """An item of a list."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _call(builder, "PyList_GetItem", _OBJECT, _object(builder, arguments[0]), arguments[1])
        return builder.ptrtoint(found, _I64)

    return types.int64(types.int64, types.int64), generate


@operation
def type_of(typing: Any, item: Any) -> Any:
    """The type of an object."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], TYPE_OFFSET)

    return types.int64(types.int64), generate


@operation
def float_of(typing: Any, item: Any) -> Any:
    """The number that a float is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "PyFloat_AsDouble", ir.DoubleType(), _object(builder, arguments[0]))

    return types.float64(types.int64), generate


@operation
def int_of(typing: Any, item: Any) -> Any:
    """The number that an int is, and whether it is too large to be told."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        overflow = cgutils.alloca_once_value(builder, _I32(0))
        found = _call(builder, "PyLong_AsLongLongAndOverflow", _I64, _object(builder, arguments[0]), overflow)
        large = builder.sext(builder.load(overflow, typ=_I32), _I64)
        return context.make_tuple(builder, signature.return_type, [found, large])

    return types.UniTuple(types.int64, 2)(types.int64), generate


@operation
def text_of(typing: Any, item: Any) -> Any:
    """The address and length of a text as UTF-8; the address is 0 for a text that has no such form."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        length = cgutils.alloca_once_value(builder, _I64(0))
        found = _call(builder, "PyUnicode_AsUTF8AndSize", _OBJECT, _object(builder, arguments[0]), length)
        address = builder.ptrtoint(found, _I64)
        with builder.if_then(builder.icmp_unsigned("==", address, _I64(0)), likely=False):
            _call(builder, "PyErr_Clear", ir.VoidType())
        return context.make_tuple(builder, signature.return_type, [address, builder.load(length, typ=_I64)])

    return types.UniTuple(types.int64, 2)(types.int64), generate


@operation
def value_at(typing: Any, mapping: Any, key: Any) -> Any:
    """The value of a dict for a key, 0 when there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mapping, key = (_object(builder, argument) for argument in arguments)
        found = builder.ptrtoint(_call(builder, "PyDict_GetItemWithError", _OBJECT, mapping, key), _I64)
        with builder.if_then(builder.icmp_unsigned("==", found, _I64(0))):
            _call(builder, "PyErr_Clear", ir.VoidType())
        return found

    return types.int64(types.int64, types.int64), generate


@operation
def new_list(typing: Any, length: Any) -> Any:
    """A list with so many places, all of which have to be filled before anybody sees it; 0 when memory is short."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.ptrtoint(_call(builder, "PyList_New", _OBJECT, arguments[0]), _I64)
        with builder.if_then(builder.icmp_unsigned("==", found, _I64(0)), likely=False):
            _call(builder, "PyErr_Clear", ir.VoidType())
        return found

    return types.int64(types.int64), generate


@operation
def new_int(typing: Any, number: Any) -> Any:
    """An int, which is the caller's to put somewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(_call(builder, "PyLong_FromLongLong", _OBJECT, arguments[0]), _I64)

    return types.int64(types.int64), generate


@operation
def shared(typing: Any, item: Any) -> Any:
    """An object that somebody else has, too, as one that is the caller's to put somewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _COUNTS_PLAINLY:
            place = builder.inttoptr(arguments[0], ir.PointerType(_I64))
            builder.store(builder.add(builder.load(place, typ=_I64), _I64(1)), place)
        else:
            _call(builder, "Py_IncRef", ir.VoidType(), _object(builder, arguments[0]))
        return arguments[0]

    return types.int64(types.int64), generate


@operation
def items_of(typing: Any, items: Any) -> Any:
    """The address of the places of a list, one word each; what is written there belongs to the list."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], ITEMS_OFFSET)

    return types.int64(types.int64), generate


@operation
def write_word(typing: Any, address: Any, at: Any, word: Any) -> Any:
    """Writes one of the words at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, at, word = arguments
        place = builder.add(address, builder.shl(at, _I64(3)))
        builder.store(word, builder.inttoptr(place, ir.PointerType(_I64)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@operation
def part_of(typing: Any, items: Any, at: Any) -> Any:
    """An item of a tuple."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = _call(builder, "PyTuple_GetItem", _OBJECT, _object(builder, arguments[0]), arguments[1])
        return builder.ptrtoint(found, _I64)

    return types.int64(types.int64, types.int64), generate


@operation
def length_of(typing: Any, items: Any) -> Any:
    """The number of items of a tuple."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, "PyTuple_Size", _I64, _object(builder, arguments[0]))

    return types.int64(types.int64), generate


@operation
def field_of(typing: Any, item: Any, offset: Any) -> Any:
    """What an object with a fixed layout has at a place; 0 for nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(builder.add(*arguments), ir.PointerType(_I64))
        return builder.load(place, typ=_I64)

    return types.int64(types.int64, types.int64), generate


@operation
def answer_of(typing: Any, function: Any, first: Any, second: Any) -> Any:
    """What a Python function gives for two objects, which is the caller's; 0 when it raised, and the error is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_OBJECT, [_OBJECT], var_arg=True)
        function = cgutils.get_or_insert_function(builder.module, kind, "PyObject_CallFunctionObjArgs")
        given = [_object(builder, argument) for argument in arguments]
        return builder.ptrtoint(builder.call(function, [*given, _OBJECT(None)]), _I64)

    return types.int64(types.int64, types.int64, types.int64), generate


@operation
def new_array(typing: Any, function: Any, kind: Any, number: Any, length: Any) -> Any:
    """What NumPy's `PyArray_New` makes: a class of arrays, the number of a dtype, a length; 0 if memory is short."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function, kind, number, length = arguments
        sizes, nothing = cgutils.alloca_once_value(builder, length), _OBJECT(None)
        kinds = [_OBJECT, _I32, sizes.type, _I32, _OBJECT, _OBJECT, _I32, _I32, _OBJECT]
        made = builder.call(
            builder.inttoptr(function, ir.PointerType(ir.FunctionType(_OBJECT, kinds))),
            [
                *(_object(builder, kind), _I32(1), sizes, builder.trunc(number, _I32)),
                *(nothing, nothing, _I32(0), _I32(0), nothing),
            ],
        )
        found = builder.ptrtoint(made, _I64)
        with builder.if_then(builder.icmp_unsigned("==", found, _I64(0)), likely=False):
            _call(builder, "PyErr_Clear", ir.VoidType())
        return found

    return types.int64(types.int64, types.int64, types.int64, types.int64), generate


@operation
def ints_in(typing: Any, array: Any, length: Any) -> Any:
    """The int32s of an array of NumPy."""
    kind = types.Array(types.int32, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _load(builder, arguments[0], DATA_OFFSET)
        return array_at(context, builder, kind, data, arguments[1])

    return kind(types.int64, types.int64), generate


@operation
def bytes_at(typing: Any, address: Any, length: Any) -> Any:
    """An array over bytes where they are."""
    kind = types.Array(types.uint8, 1, "C", readonly=True)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return array_at(context, builder, kind, *arguments)

    return kind(types.int64, types.int64), generate
