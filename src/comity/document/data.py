"""Data at hand in place of a file: the same checks apply, and errors say a path in place of a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from enum import Enum
from pathlib import Path
from typing import Any

from comity.document.parse import MAX_NESTING
from comity.document.read import Document, DocumentPath
from comity.errors import ComityError, Faults, Misuse, Place


class DataDocument(Document):
    """Data, and where it is in what was given.

    >>> document = DataDocument({"types": {"Fire": {}}}, at=("domains", "house"))
    >>> str(document.place(("types", "Fire")))
    'domains.house.types.Fire'
    """

    def __init__(self, data: Any, at: DocumentPath = (), folder: Path | None = None) -> None:
        self.text, self.file = "", None
        self.data = data
        self._at_path = at
        self._base = folder or Path()

    @property
    def folder(self) -> Path:
        """Where the paths in it begin."""
        return self._base

    def part(self, path: DocumentPath, more: dict[str, Any] | None = None) -> Document:
        """The mapping at a path as a document of its own, with more keys."""
        found = self._at(path)
        data = {**(more or {}), **found} if isinstance(found, dict) else found
        return DataDocument(data, (*self._at_path, *path), self._base)

    def place(self, path: DocumentPath, key: bool = False) -> Place:
        """The path of a value, which is that of its key, too."""
        return Place(path=dotted((*self._at_path, *path)))

    def locate(self, error: ComityError, path: DocumentPath) -> ComityError:
        """The error that was found in the text at `path`, with line and column in that text."""
        if isinstance(error, Faults):
            return Faults([self.locate(one, path) for one in error.errors])
        moved = error.located(None, 1, 1)
        within = error.place or Place()
        moved.place = Place(None, within.line, within.column, dotted((*self._at_path, *path)))
        return moved


def dotted(path: DocumentPath) -> str:
    """A path as people write it.

    >>> dotted(("profiles", "hot", "scope", 0))
    'profiles.hot.scope[0]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def plain(value: Any, at: DocumentPath = (), declared: Callable[[Any], Any] = lambda value: value) -> Any:
    """The value as a file could say it: mappings, lists, texts, numbers, truths and nothing; raises `Misuse`.

    `declared` gives for an object what a file says for it, and for everything else the thing itself.
    """
    value = declared(value)
    if len(at) > MAX_NESTING:
        raise _fault(f"nested deeper than {MAX_NESTING} levels", at[:3], "too-deep")
    if isinstance(value, Enum):
        return plain(value.value, at, declared)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _fault("the number is too big", at, "yaml-number")
        return value
    if isinstance(value, datetime | date | time | Path):
        return value.as_posix() if isinstance(value, Path) else value.isoformat()
    if isinstance(value, Mapping):
        return {_key(key, at): plain(inner, (*at, key), declared) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, (*at, number), declared) for number, inner in enumerate(value)]
    if isinstance(value, set | frozenset):
        return sorted(plain(list(value), at, declared), key=str)
    hint = "use dicts, lists, texts, numbers, truths, or None"
    raise _fault(f"a {type(value).__name__} cannot stand in a federation", at, "bad-value", hint)


def _key(key: Any, at: DocumentPath) -> str:
    if not isinstance(key, str):
        raise _fault(f"a key must be text, not {key!r}", at, "yaml-key", "put it in quotes")
    return key


def _fault(message: str, at: DocumentPath, code: str, hint: str | None = None) -> Misuse:
    return Misuse(message, code=code, place=Place(path=dotted(at)), hint=hint)
