"""Results as folders: one for each subscriber and one for what was refused, made visible only when a run is
complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from comity.connect.durable import make_folder, move_all

REJECTED = "rejected"
"""The folder of records that were refused, each with its reason. No domain may have this name."""

DEAD_LETTERS = "dead-letters"
"""The folder of notifications that a sink did not take. No domain may have this name either."""

QUARANTINE = "quarantine"
"""The folder of files that a stream could not read to their ends. No domain may have this name either."""

STAGING = ".staging"
"""Where results stand until the run is complete."""

LANDING = ".landing"
"""Where records of live sources stand until their batch is done."""

LATE = "late"
"""The folder of events that came too late to take part in patterns."""

CHECKPOINT = ".checkpoint"
"""Where Spark notes how far a stream has come."""

PATTERNS = ".patterns"
"""Where a stream keeps what patterns wait for."""


class Results(StrEnum):
    """The form of results."""

    JSONL = "jsonl"
    """`SUBSCRIBER/*.jsonl`."""
    PARQUET = "parquet"
    """`day=YYYY-MM-DD/subscriber=SUBSCRIBER/*.parquet`."""


def publish(
    staging: Path,
    out: Path,
    names: Iterable[str],
    results: Results = Results.JSONL,
    batch: int | None = None,
    *,
    at_end: bool = False,
) -> None:
    """Move what was staged (`to=NAME/part-…`, or `day=DAY/to=NAME/part-…`) to where it is read, and to stay there.

    The parts of a batch take the place of those of an earlier attempt at it. What is published survives a loss of power
    when this returns, so that it can be noted as delivered. What is published at the end of a stream stands beside its
    last batch, and goes when that is done again.
    """
    prefix = "part" if batch is None else f"batch-{batch:08d}" + ("-end" if at_end else "")
    if batch is not None:
        _remove_attempt(out, prefix)
    moves: list[tuple[Path, Path]] = []
    for name in names:
        if results is Results.JSONL or name == REJECTED:
            make_folder(out / name)
            moves += _moves(sorted((staging / f"to={name}").glob("part-*")), out / name, prefix, ".jsonl")
    for folder in sorted(staging.glob("day=*/to=*")):
        target = out / folder.parent.name / folder.name.replace("to=", "subscriber=", 1)
        make_folder(target)
        moves += _moves(sorted(folder.glob("part-*.parquet")), target, prefix, ".parquet")
    move_all(moves)
    shutil.rmtree(staging, ignore_errors=True)


def _remove_attempt(out: Path, prefix: str) -> None:
    for stale in out.rglob(f"{prefix}-*"):
        if not any(part.startswith(".") for part in stale.relative_to(out).parts):
            stale.unlink()


def _moves(parts: list[Path], target: Path, prefix: str, suffix: str) -> Iterator[tuple[Path, Path]]:
    return ((part, target / f"{prefix}-{number:05d}{suffix}") for number, part in enumerate(parts))


def landed_source(file: str | None) -> str | None:
    """The live source, as `DOMAIN.SOURCE`, whose records a file holds; None for a file that somebody else wrote.

    >>> landed_source("/results/.landing/house-door/000001.jsonl"), landed_source("/events/000001.jsonl")
    ('house.door', None)
    """
    folder = Path(file).parent if file else None
    return folder.name.replace("-", ".", 1) if folder is not None and folder.parent.name == LANDING else None
