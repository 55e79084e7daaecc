"""A run: load → plan → sources → runner → sinks, with progress, metrics and a clean stop.

`comity.run(...)` is a function, too: whoever imports a module of this package first makes `comity.run` the package, so
the package can be called as the function is.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Run(ModuleType):
    def __call__(self, *given: Any, **named: Any) -> Any:
        from comity.run.api import run  # it loads much that not each module of this package needs

        return run(*given, **named)


sys.modules[__name__].__class__ = _Run
