"""How long the parts of a batch take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Laps:
    """Seconds by the name of a part, each from the end of the part before."""

    seconds: dict[str, float] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic, init=False)

    def end(self, part: str) -> None:
        """Note that a part has ended."""
        now = time.monotonic()
        self.seconds[part] = now - self._began
        self._began = now
