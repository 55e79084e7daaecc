"""How kernels are compiled: kept on disk, without the interpreter's lock, and without reference counting, which would halve their speed.

Without reference counting a kernel cannot make arrays: its caller supplies every buffer.
"""

from __future__ import annotations

from typing import Any

KERNEL: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": True, "_nrt": False}
INLINED: dict[str, Any] = {**KERNEL, "forceinline": True}
