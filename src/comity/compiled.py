"""How kernels are compiled: kept on disk, without the interpreter's lock, and without reference counting.

Reference counting would halve their speed. Without it a kernel cannot make arrays: its caller supplies every buffer.
"""

from __future__ import annotations

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
