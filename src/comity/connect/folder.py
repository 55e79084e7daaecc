"""Results as folders: one for each subscriber and one for what was refused, made visible only when a run is
complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

REJECTED = "rejected"
"""The folder of records that were refused, each with its reason. No domain may have this name."""

DEAD_LETTERS = "dead-letters"
"""The folder of notifications that a sink did not take. No domain may have this name either."""

STAGING = ".staging"
"""Where results stand until the run is complete."""


class Results(StrEnum):
    """The form of results."""

    JSONL = "jsonl"
    """`SUBSCRIBER/*.jsonl`."""
    PARQUET = "parquet"
    """`day=YYYY-MM-DD/subscriber=SUBSCRIBER/*.parquet`."""


def publish(
    staging: Path, out: Path, names: Iterable[str], results: Results = Results.JSONL, batch: int | None = None
) -> None:
    """Move what was staged (`to=NAME/part-…`, or `day=DAY/to=NAME/part-…`) to where it is read.

    The parts of a batch take the place of those of an earlier attempt at it.
    """
    prefix = "part" if batch is None else f"batch-{batch:08d}"
    if batch is not None:
        for stale in out.rglob(f"{prefix}-*"):
            if not any(part.startswith(".") for part in stale.relative_to(out).parts):
                stale.unlink()
    for name in names:
        if results is Results.JSONL or name == REJECTED:
            _move(sorted((staging / f"to={name}").glob("part-*")), out / name, prefix, ".jsonl")
    for folder in sorted(staging.glob("day=*/to=*")):
        target = out / folder.parent.name / folder.name.replace("to=", "subscriber=", 1)
        _move(sorted(folder.glob("part-*.parquet")), target, prefix, ".parquet")
    shutil.rmtree(staging, ignore_errors=True)


def _move(parts: list[Path], target: Path, prefix: str, suffix: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts):
        part.rename(target / f"{prefix}-{number:05d}{suffix}")
