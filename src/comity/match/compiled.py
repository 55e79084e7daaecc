"""How kernels are compiled: kept on disk, without the interpreter's lock, and without reference counting.

Reference counting would halve their speed. Without it a kernel cannot make arrays: its caller supplies every buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True, "_nrt": False}


def kernel(function: F) -> F:
    """The function compiled, when it is first called."""
    compiled: F = numba.njit(**_OPTIONS)(function)
    return compiled


def inlined(function: F) -> F:
    """The same for a function that is called by kernels only, and becomes part of them."""
    compiled: F = numba.njit(**_OPTIONS, forceinline=True)(function)
    return compiled


def vector_operation(generator: Callable[..., Any]) -> Callable[..., Any]:
    """A function for kernels whose code is generated: `generator` gives its signature and the generator of its code."""
    operation: Callable[..., Any] = intrinsic(generator)
    return operation
