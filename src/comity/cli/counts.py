"""How many of something each profile has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from comity.cli.output import console, write_json
from comity.cli.session import Format


def print_counts(counts: Counter[str], names: Sequence[str], figures: Mapping[str, int], format: Format) -> None:
    """The count of each profile, and the total; as JSON with further figures."""
    total = counts.total()
    if format is Format.JSON:
        write_json({"total": total, "profiles": {name: counts[name] for name in names}, **figures})
        return
    out = console()
    width = max(map(len, [*names, "total"]))
    for name in names:
        out.print(f"{name:<{width}}  {counts[name]:>12,}")
    out.print(f"{'total':<{width}}  {total:>12,}", style="bold")
