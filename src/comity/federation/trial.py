"""A federation on trial: files with changes that nobody wrote, loaded as if they were there, to see what would fail.

Whatever does not load is noted and taken away, until the rest loads; so each fault counts by itself.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comity.document import Document, read_document
from comity.errors import ComityError, Faults, Place
from comity.federation.files import federation_files, load
from comity.federation.model import Federation
from comity.federation.nested import FEDERATION_NAMES

_PARTS = {"contract": ("members", "observers"), "profiles": ("profiles",)}
"""What can be taken away from a file, by its first key."""
_FILE_KEYS = ("file", "xslt", "ontology")
"""Under which a YAML file names a file beside it."""

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A member, observer or profile that does not fit."""

    role: str
    """`member`, `observer`, `profile`, or `contract` for all of one."""
    name: str
    file: Path
    """Inside the folder of the federation."""
    reason: str
    contract: str | None = None


@dataclass(slots=True)
class Trial:
    """The files of a federation by their paths inside its folder, and where to find the files that they name."""

    folders: tuple[Path, ...]
    files: dict[Path, Data]
    failures: list[Misfit] = field(default_factory=list)
    _left: dict[Path, Data] = field(default_factory=dict)
    """The files without what failed."""

    @classmethod
    def of(cls, folder: Path) -> Trial:
        """The files of a folder as they are; raises `Faults` for those that cannot be read at all."""
        files = {path.relative_to(folder): _mapping(read_document(path)) for path in federation_files(folder)}
        return cls((folder,), files)

    def load(self, *, only_parties: bool = False) -> Federation:
        """The federation of what loads. What does not is in `failures`; raises `Faults` if it is something else.

        With `only_parties` a contract that fails as a whole is something else, too.
        """
        self.failures, self._left = [], deepcopy(self.files)
        while True:
            with tempfile.TemporaryDirectory(prefix="comity-") as place:
                root = Path(place) / self.folders[0].resolve().name
                self._write(root)
                try:
                    return load(root)
                except Faults as found:
                    if not self._note(root, found.errors, only_parties):
                        raise Faults([self._moved(error, root) for error in found.errors]) from None

    def contracts(self) -> dict[str, Path]:
        """The file of each contract, by the name that the federation knows it by."""
        found = ((path, data) for path, data in self.files.items() if "contract" in data)
        return {self.inside(path) + str(data["contract"]): path for path, data in found}

    def inside(self, path: Path) -> str:
        """What stands before the name of a contract: the federations inside this one that its file is in."""
        folders = reversed([folder for folder in path.parents if folder != Path(".")])
        files = [self.files.get(folder / name) for folder in folders for name in FEDERATION_NAMES]
        return "".join(f"{data['federation']}." for data in files if data is not None and "federation" in data)

    def _write(self, root: Path) -> None:
        for path, data in self._left.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # JSON is YAML in which no text can be taken for a number.
            target.write_text(json.dumps(data, ensure_ascii=False, indent=1, default=str), encoding="utf-8")
            for name in _named_files(data):
                self._provide(path.parent / name, root)

    def _provide(self, path: Path, root: Path) -> None:
        """Give a file that is named beside a YAML file, unless the name leads out of the folder."""
        target = root / path
        inside = Path(os.path.normpath(target)).is_relative_to(root)
        found = next((folder / path for folder in self.folders if (folder / path).is_file()), None)
        if found is not None and inside and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, target)

    def _note(self, root: Path, errors: list[ComityError], only_parties: bool) -> bool:
        """Take away what the errors are about, contracts before profiles, which may fail only for them."""
        found = [(failure, drop) for error in _single(errors) for failure, drop in self._blamed(root, error)]
        if only_parties and any(failure.role == "contract" for failure, _ in found):
            return False
        about_contracts = [one for one in found if one[0].role != "profile"]
        for failure, drop in about_contracts or found:
            if drop():
                self.failures.append(failure)
        return bool(found)

    def _blamed(self, root: Path, error: ComityError) -> Iterator[tuple[Misfit, Callable[[], bool]]]:
        """The part of a file that an error points into, and how to take it away."""
        place = error.place
        if place is None or place.file is None or place.line is None or not Path(place.file).is_relative_to(root):
            return
        path = Path(place.file).relative_to(root)
        data = self._left.get(path, {})
        kind = next((key for key in _PARTS if key in data), None)
        if kind is None:
            return
        part = _part_at(read_document(place.file), _PARTS[kind], place.line)
        contract = self.inside(path) + str(data[kind]) if kind == "contract" else None
        if part is not None:
            role, name = part[0].removesuffix("s"), part[1]
            yield Misfit(role, name, path, error.message, contract), lambda: data[part[0]].pop(name, None) is not None
        elif contract is not None:
            failure = Misfit("contract", contract, path, error.message, contract)
            yield failure, lambda: self._left.pop(path, None) is not None

    def _moved(self, error: ComityError, root: Path) -> ComityError:
        """An error in the file that stands where the trial's copy stood; its lines are not those of that file."""
        place = error.place
        if place is not None and place.file is not None and Path(place.file).is_relative_to(root):
            error.place = Place(str(self.folders[0] / Path(place.file).relative_to(root)), path=place.path)
        return error


def _mapping(document: Document) -> Data:
    if not isinstance(document.data, dict):
        raise document.fault("this is no federation file", (), code="unknown-file")
    return document.data


def _named_files(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key in _FILE_KEYS and isinstance(value, str):
                yield value
            yield from _named_files(value)
    elif isinstance(data, list):
        for one in data:
            yield from _named_files(one)


def _part_at(document: Document, sections: tuple[str, ...], line: int) -> tuple[str, str] | None:
    """The entry of a section that a line belongs to, in a file where each begins on a line of its own."""
    starts: list[tuple[int, tuple[str, str] | None]] = [
        (document.place((key,), key=True).line or 0, None) for key in document.data
    ]
    for section in sections:
        names = document.data.get(section) or {}
        starts += [(document.place((section, name), key=True).line or 0, (section, name)) for name in names]
    before = [one for one in starts if one[0] <= line]
    return max(before, key=lambda one: one[0])[1] if before else None


def _single(errors: list[ComityError]) -> Iterator[ComityError]:
    for error in errors:
        if isinstance(error, Faults):
            yield from _single(error.errors)
        else:
            yield error
