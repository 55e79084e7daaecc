"""Packages that are functions, too: `comity.run(…)` and `comity.connect(…)`.

Whoever imports a module of such a package first makes the name in `comity` the package, so the package can be called as
the function is.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def call_as(package: str, home: str, function: str) -> None:
    """Let a package be called as a function, which is only then imported from its home: it may load much."""

    class Called(ModuleType):
        def __call__(self, *given: Any, **named: Any) -> Any:
            return getattr(import_module(home), function)(*given, **named)

    sys.modules[package].__class__ = Called
