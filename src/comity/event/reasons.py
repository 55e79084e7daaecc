"""Why records were rejected: how many for each reason, and one of them as an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RejectedRecord = Mapping[str, Any]
"""A rejected record in the shape of `Rejected.as_dict`."""


@dataclass(slots=True)
class ReasonCounts:
    """Rejected records by the code of their first fault.

    >>> reasons = ReasonCounts()
    >>> reasons.take({"file": "a.jsonl", "line": 3, "raw": "{", "faults": [{"code": "truncated-json"}]})
    'truncated-json'
    >>> reasons.counts["truncated-json"], reasons.examples["truncated-json"]["line"]
    (1, 3)
    """

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, RejectedRecord] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.counts.total()

    def take(self, record: RejectedRecord) -> str:
        """Count a record, the first one of a reason is its example; gives the code."""
        code = str(record["faults"][0]["code"])
        self.counts[code] += 1
        self.examples.setdefault(code, record)
        return code

    def add(self, counts: Mapping[str, int], examples: Mapping[str, RejectedRecord]) -> None:
        """Count what was counted elsewhere."""
        self.counts.update(counts)
        self.examples = {**examples, **self.examples}

    def as_list(self) -> list[dict[str, Any]]:
        """For programs: the most frequent reason first."""
        return [
            {"code": code, "count": count, "example": dict(self.examples.get(code, {}))}
            for code, count in self.ranked()
        ]

    def ranked(self) -> list[tuple[str, int]]:
        """The codes with their counts, the most frequent one first."""
        return sorted(self.counts.items(), key=lambda one: (-one[1], one[0]))
