"""Results as folders: one for each subscriber and one for what was refused, made visible only when a run is
complete.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from comity.errors import Misuse, Place

REJECTED = "rejected"
"""The folder of records that were refused, each with its reason. No domain may have this name."""

DEAD_LETTERS = "dead-letters"
"""The folder of notifications that a sink did not take. No domain may have this name either."""

STAGING = ".staging"
"""Where results stand until the run is complete."""


def prepare_folder(out: Path, *, overwrite: bool) -> None:
    """An empty folder for results; one that holds something is refused unless it may be overwritten."""
    if out.exists() and not out.is_dir():
        raise Misuse("this is not a folder", code="not-a-folder", place=Place(str(out)))
    try:
        if out.is_dir() and any(out.iterdir()):
            _empty(out, overwrite)
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Misuse(f"cannot be written: {error.strerror}", code="unwritable-folder", place=Place(str(out))) from error


def _empty(out: Path, overwrite: bool) -> None:
    """Remove what an earlier run wrote; anything else in the folder is not ours to remove."""
    if not overwrite:
        hint = "choose another folder, or pass --overwrite"
        raise Misuse("the folder for results is not empty", code="not-empty", place=Place(str(out)), hint=hint)
    foreign = [path for path in out.rglob("*") if path.is_file() and not _is_result(path, out)]
    if foreign:
        place = Place(str(foreign[0]))
        raise Misuse("this file is no result of a run, the folder is left alone", code="foreign-file", place=place)
    shutil.rmtree(out)


def _is_result(path: Path, out: Path) -> bool:
    inside = path.relative_to(out).parts
    is_ours = path.name.startswith(("part-", "batch-", "landed-")) or inside[0] == DEAD_LETTERS
    return is_ours or any(name.startswith(".") for name in inside)


class Results(StrEnum):
    """The form of results."""

    JSONL = "jsonl"
    """`SUBSCRIBER/*.jsonl`."""
    PARQUET = "parquet"
    """`day=YYYY-MM-DD/subscriber=SUBSCRIBER/*.parquet`."""


def lock_folder(out: Path) -> BinaryIO:
    """The folder for this process alone, until the file is closed; refused while another one has it."""
    out.mkdir(parents=True, exist_ok=True)
    lock = (out / ".lock").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        hint = "end it first, or choose another folder"
        reason = "another stream is working on this folder"
        raise Misuse(reason, code="folder-in-use", place=Place(str(out)), hint=hint) from error
    return lock


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
