"""Results as folders: one for each subscriber and one for what was refused, made visible only when a run is
complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from comity.errors import Misuse, Place

REJECTED = "rejected"
"""The folder of records that were refused, each with its reason. No domain may have this name."""

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
    return path.name.startswith(("part-", "batch-")) or any(name.startswith(".") for name in inside)


def publish_parts(out: Path, names: Iterable[str]) -> None:
    """Move the parts of each name from the staging area (`to=NAME/part-…`) to `NAME/part-00000.jsonl` and so on."""
    staging = out / STAGING
    for name in names:
        target = out / name
        target.mkdir(parents=True, exist_ok=True)
        for number, part in enumerate(sorted((staging / f"to={name}").glob("part-*"))):
            part.rename(target / f"part-{number:05d}.jsonl")
    shutil.rmtree(staging, ignore_errors=True)


def publish_batch(staging: Path, out: Path, number: int, names: Iterable[str]) -> None:
    """Move the parts of a batch to `NAME/batch-00000007-00000.jsonl` and so on, in place of an earlier attempt."""
    for name in names:
        target = out / name
        target.mkdir(parents=True, exist_ok=True)
        for stale in target.glob(f"batch-{number:08d}-*.jsonl"):
            stale.unlink()
        for at, part in enumerate(sorted((staging / f"to={name}").glob("part-*"))):
            part.rename(target / f"batch-{number:08d}-{at:05d}.jsonl")
    shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def staged_streams(out: Path, names: Iterable[str]) -> Iterator[dict[str, BinaryIO]]:
    """A stream for each name; what was written is published at the end of the block, or dropped when it fails."""
    wanted = list(names)
    try:
        with ExitStack() as stack:
            streams: dict[str, BinaryIO] = {}
            for name in wanted:
                folder = out / STAGING / f"to={name}"
                folder.mkdir(parents=True)
                streams[name] = stack.enter_context((folder / "part-00000").open("wb"))
            yield streams
    except BaseException:
        shutil.rmtree(out / STAGING, ignore_errors=True)
        raise
    publish_parts(out, wanted)
