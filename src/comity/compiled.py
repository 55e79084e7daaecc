"""How kernels are compiled: kept on disk, without the interpreter's lock, and without reference counting.

Reference counting would halve their speed. Without it a kernel cannot make arrays: its caller supplies every buffer.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True, "_nrt": False}


def kernel(function: F) -> F:
    """The function compiled, when it is first called."""
    return _stamped(function, numba.njit(**_OPTIONS)(function))


def locked_kernel(function: F) -> F:
    """The same for a function that keeps the interpreter's lock, because it looks at Python's objects."""
    return _stamped(function, numba.njit(**_OPTIONS | {"nogil": False})(function))


def entry(function: Callable[..., int], arguments: int) -> Callable[..., int]:
    """The compiled form of a kernel of so many integers, called without a look at what kinds they are."""
    compiled: Any = function
    found: Callable[..., int] = compiled.compile((numba.int64,) * arguments)
    return found


class _MethodDef(ctypes.Structure):
    """How Python is told of a function written in C."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_TAKES_ONE = 0x0008
"""A function of what it is bound to and one more object."""
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


def bound_entry(function: Callable[[int, int], int], to: Any) -> Callable[[Any], Any]:
    """A locked kernel as a function of one object, called as Python calls its own: a tenth of what `entry` costs.

    The kernel gets the addresses of `to` and of the object. It gives that of a new reference, or 0 with an error set.
    """
    found: Callable[[Any], Any] = _new_function(ctypes.addressof(_definition(function)), to, None)
    return found


@cache
def _definition(function: Any) -> _MethodDef:
    """Kept as long as the kernel: Python looks at it in every call."""
    result = function.get_compile_result(numba.int64(numba.int64, numba.int64))
    address = result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)
    return _MethodDef(function.__name__.encode(), address, _TAKES_ONE, None)


def inlined(function: F) -> F:
    """The same for a function that is called by kernels only, and becomes part of them."""
    return _stamped(function, numba.njit(**_OPTIONS, forceinline=True)(function))


def operation(generator: Callable[..., Any]) -> Callable[..., Any]:
    """A function for kernels whose code is generated: `generator` gives its signature and the generator of its code."""
    found: Callable[..., Any] = intrinsic(generator)
    return found


def _stamped(function: F, compiled: Any) -> F:
    """On disk a kernel is good only for the sources of all: numba looks at its own file, not at what became part.

    The fingerprint is part of the version, which numba reads before anything else of the file: what follows names the
    classes of arguments, and one that was renamed since could not be read at all.
    """
    file = compiled._cache._cache_file
    file._version = (file._version, fingerprint(Path(function.__code__.co_filename).parent))
    found: F = compiled
    return found


@cache
def fingerprint(folder: Path) -> str:
    """What the kernels of a package were compiled from."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
