"""Results as folders: one for each subscriber and one for what was refused, made visible only when a run is
complete.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from comity.storage.durable import make_folder, move_all

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

PROFILES = "profiles"
"""The folder of results that are typed, in which each profile has its own."""
TOPICS_NOTE = ".topics"
"""Where a stream into topics notes which ones, and who it is."""

CHECKPOINT = ".checkpoint"
"""Where Spark notes how far a stream has come."""

PATTERNS = ".patterns"
"""Where a stream keeps what patterns wait for."""


class Results(StrEnum):
    """The form of results."""

    JSONL = "jsonl"
    """`SUBSCRIBER/*.jsonl`."""
    PARQUET = "parquet"
    """`day=YYYY-MM-DD/subscriber=SUBSCRIBER/*.parquet`; `profiles/PROFILE/day=YYYY-MM-DD/*.parquet` if it is typed."""
    DELTA = "delta"
    """Tables `notifications`, `rejected` and `late`, of which a commit says what is in them."""
    KAFKA = "kafka"
    """Topics of a broker, whose transactions say what is in them."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file on its way to where it is read: for whom, and of which day if it is Parquet."""

    to: str
    path: Path
    day: str | None = None
    profile: str | None = None
    """Of which profile, if it is typed."""

    def target(self, out: Path) -> Path:
        """The folder in which it is read."""
        if self.profile is not None:
            return out / PROFILES / self.profile / f"day={self.day}"
        return out / self.to if self.day is None else out / f"day={self.day}" / f"subscriber={self.to}"

    @property
    def suffix(self) -> str:
        return ".jsonl" if self.day is None else ".parquet"


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
    prefix = _prefix(batch, at_end=at_end)
    if batch is not None:
        _remove_attempt(out, prefix)
    lines = [name for name in names if results is Results.JSONL or name == REJECTED]
    staged = [StagedFile(name, path) for name in lines for path in sorted((staging / f"to={name}").glob("part-*"))]
    for folder in sorted(staging.glob("day=*/to=*")):
        day, to = folder.parent.name.removeprefix("day="), folder.name.removeprefix("to=")
        staged += [StagedFile(to, path, day) for path in sorted(folder.glob("part-*.parquet"))]
    _publish_files(staged, out, lines, prefix)
    shutil.rmtree(staging, ignore_errors=True)


def publish_batch(
    staged: Iterable[StagedFile],
    out: Path,
    names: Iterable[str],
    results: Results,
    batch: int,
    *,
    is_again: bool,
    at_end: bool = False,
) -> None:
    """Do the same with just these files of a batch of a stream, which workers wrote.

    Where it is known that there was no attempt before, nothing is looked for that it may have published.
    """
    prefix = _prefix(batch, at_end=at_end)
    if is_again:
        _remove_attempt(out, prefix)
    lines = [name for name in names if results is Results.JSONL or name == REJECTED]
    _publish_files(staged, out, lines, prefix)


def _prefix(batch: int | None, *, at_end: bool = False) -> str:
    return "part" if batch is None or batch < 0 else f"batch-{batch:08d}" + ("-end" if at_end else "")


def _publish_files(staged: Iterable[StagedFile], out: Path, lines: Iterable[str], prefix: str) -> None:
    for name in lines:
        make_folder(out / name)
    numbers: Counter[Path] = Counter()
    moves: list[tuple[Path, Path]] = []
    for file in staged:
        target = file.target(out)
        if target not in numbers:
            make_folder(target)
        moves.append((file.path, target / f"{prefix}-{numbers[target]:05d}{file.suffix}"))
        numbers[target] += 1
    move_all(moves)


def _remove_attempt(out: Path, prefix: str) -> None:
    for stale in out.rglob(f"{prefix}-*"):
        if not any(part.startswith(".") for part in stale.relative_to(out).parts):
            stale.unlink()


def landed_source(file: str | None) -> str | None:
    """The live source, as `DOMAIN.SOURCE`, whose records a file holds; None for a file that somebody else wrote.

    >>> landed_source("/results/.landing/house-door/000001.jsonl"), landed_source("/events/000001.jsonl")
    ('house.door', None)
    """
    folder = Path(file).parent if file else None
    return folder.name.replace("-", ".", 1) if folder is not None and folder.parent.name == LANDING else None
