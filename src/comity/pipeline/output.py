"""Where results go: a folder for each subscriber, made visible only when a run is complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from comity.errors import Misuse, Place

REJECTED = "rejected"
"""The folder of records that were refused, each with its reason. No domain may have this name."""


def prepare(out: Path, *, overwrite: bool) -> None:
    """An empty folder for results; one that holds something is refused unless it may be overwritten."""
    if out.exists() and not out.is_dir():
        raise Misuse("this is not a folder", code="not-a-folder", place=Place(str(out)))
    if out.is_dir() and any(out.iterdir()):
        if not overwrite:
            hint = "choose another folder, or pass --overwrite"
            raise Misuse("the folder for results is not empty", code="not-empty", place=Place(str(out)), hint=hint)
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)


def collect_parts(staging: Path, out: Path, names: Iterable[str]) -> None:
    """Move the parts that Spark wrote for each name into `out/NAME/`, as `.jsonl` files."""
    for name in names:
        target = out / name
        target.mkdir(parents=True, exist_ok=True)
        for number, part in enumerate(sorted((staging / f"to={name}").glob("part-*"))):
            part.rename(target / f"part-{number:05d}.jsonl")
    shutil.rmtree(staging)
