"""Files of a stream that could not be read to their ends: kept beside the results, each with its reason.

What was rejected of files is kept before the batch is published.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from logging import WARNING
from pathlib import Path
from typing import Any

import msgspec

from comity.connect.folder import QUARANTINE
from comity.errors import ComityError
from comity.event.formats.table import is_file_fault
from comity.logs import log
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.durable import make_folder, sync, write_whole
from comity.storage.lookup import on_this_machine
from comity.storage.place import is_address


@dataclass(frozen=True, slots=True)
class SetAside:
    """A file that was set aside."""

    file: str
    line: int | None
    """From where on it was not read; None for nowhere, or for all of it."""
    reason: str
    code: str
    batch: int
    kept: str | None
    """The name of what is kept of it, beside this note; None if there is nothing left to keep."""


_MOST_NAME_BYTES = 180
"""Of a file's name in the quarantine: with what stands around it while it is written it must fit into 255."""


@dataclass(slots=True)
class Quarantine:
    """The folder of such files beside the results of a stream."""

    out: Path
    on_file: Callable[[SetAside], None] = lambda one: None
    """Told of each file that is set aside, once in a run."""
    access: StorageAccess = field(default=NO_ACCESS, repr=False)
    """How files of stores are fetched."""
    _told: set[tuple[int, str]] = field(default_factory=set, init=False)

    @property
    def folder(self) -> Path:
        return self.out / QUARANTINE

    def forget(self, batch: int) -> None:
        """Drop what was told of earlier batches, which are not done again."""
        self._told = {(told, file) for told, file in self._told if told >= batch}

    def take(self, batch: int, rejected: bytes) -> None:
        """Set a file aside if a rejected record says that it could not be read to its end."""
        record: dict[str, Any] = msgspec.json.decode(rejected)
        fault = next((one for one in record["faults"] if is_file_fault(one["code"])), None)
        file = record.get("file")
        if fault is not None and file is not None:
            self._keep(file, record.get("line"), fault, batch)

    def _keep(self, file: str, line: int | None, fault: dict[str, str], batch: int) -> None:
        name = _kept_name(file, batch)
        kept = name if self._copy(file, self.folder / name) else None
        found = SetAside(file, line, fault["reason"], fault["code"], batch, kept)
        write_whole(self.folder / f"{name}.json", msgspec.json.format(msgspec.json.encode(found)) + b"\n")
        if (batch, file) not in self._told:
            self._told.add((batch, file))
            log("file set aside", level=WARNING, file=found.file, reason=found.reason, batch=batch)
            self.on_file(found)

    def _copy(self, file: str, target: Path) -> bool:
        """Keep what is in the file, also when it is removed; a link will do where that is possible."""
        make_folder(self.folder)
        partial = target.with_name(f".{target.name}.partial")
        partial.unlink(missing_ok=True)
        try:
            self._bring(file, partial)
            sync(partial)
        except (OSError, ComityError):  # it is gone, or cannot be read at all
            partial.unlink(missing_ok=True)
            return target.exists()
        if target.exists() and target.samefile(partial):  # then the system would leave both
            partial.unlink()
        else:
            partial.replace(target)
        return True

    def _bring(self, file: str, partial: Path) -> None:
        if is_address(file):
            with on_this_machine(file, self.access) as copy:
                shutil.copyfile(copy, partial)
            return
        try:
            os.link(file, partial)
        except OSError:
            shutil.copyfile(file, partial)


def _kept_name(file: str, batch: int) -> str:
    """Files of one name may come from two folders, and long names are cut to their ends."""
    folder, _, name = file.rpartition("/")
    end = name.encode()[-_MOST_NAME_BYTES:].decode(errors="ignore")
    place = folder if end == name else file
    return f"{batch:08d}-{hashlib.blake2b(place.encode(), digest_size=4).hexdigest()}-{end}"
