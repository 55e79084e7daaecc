"""A federation, written as the files that it would be read from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from comity.document import write_yaml
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.federation.model import Federation


def write_federation(federation: Federation, folder: Path) -> Path:
    """The folder, with a YAML file for each that the federation was read from, and copies of what they name."""
    beside = {_in_folder(path, federation): path for path in federation.files}
    _make_empty(folder)
    for path, data in federation.said.items():
        _write(folder / path, write_yaml(data))
    if not any("federation" in data for path, data in federation.said.items() if path.parent == Path()):
        _write(folder / _free("federation", federation), write_yaml({"federation": federation.name}))
    for path, original in beside.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original, folder / path)
    return folder


def _in_folder(path: Path, federation: Federation) -> Path:
    """Where a file stands in the federation's folder; one elsewhere would not be found from another folder."""
    base = (federation.folder or Path()).resolve()
    if not path.resolve().is_relative_to(base):
        message = "this file is not in the folder of the federation, so it cannot be written with it"
        raise Misuse(message, code="file-elsewhere", place=Place(str(path)), hint=f"move it into {base}")
    return path.resolve().relative_to(base)


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            hint = "name a folder that does not exist yet"
            raise Misuse("the folder is not empty", code="not-empty", place=Place(str(folder)), hint=hint)
    except OSError as error:
        message = f"cannot be written: {error.strerror}"
        raise Misuse(message, code="unwritable-file", place=Place(str(folder))) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _free(stem: str, federation: Federation) -> str:
    """The name of a file that no other has."""
    while Path(f"{stem}.yaml") in federation.said:
        stem += "_"
    return f"{stem}.yaml"
