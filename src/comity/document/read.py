"""Reading files: bounded, strictly UTF-8, and with the place of every value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from comity.document.parse import Mark, parse_yaml, place_at
from comity.document.scalar import source_index
from comity.errors import ComityError, Faults, Misuse, Place
from comity.limits import limits

DocumentPath = tuple[str | int, ...]


class Document:
    """The data of a YAML file, and where each part of it stands.

    >>> document = parse_document("domain: house\\ntypes:\\n  Fire: {}\\n", file="house.yaml")
    >>> document.data["domain"], str(document.place(("types", "Fire"), key=True))
    ('house', 'house.yaml:3:3')
    """

    def __init__(self, text: str, file: str | None = None) -> None:
        self.text = text
        self.file = file
        self.data: Any
        self.data, self._root = parse_yaml(text, file)

    @property
    def folder(self) -> Path:
        """Where the paths in it begin."""
        return Path(self.file or ".").parent

    def part(self, path: DocumentPath, more: dict[str, Any] | None = None) -> Document:
        """The mapping at a path as a document of its own, with more keys; its places are those in this file."""
        inner = object.__new__(Document)
        inner.text, inner.file, inner._root = self.text, self.file, self._mark(path)[0]
        found = self._at(path)
        inner.data = {**(more or {}), **found} if isinstance(found, dict) else found
        return inner

    def place(self, path: DocumentPath, key: bool = False) -> Place:
        """The place of a value, or of its key; of the nearest part around it when there is no such value."""
        mark, found = self._mark(path)
        if key and found and mark.key is not None:
            mark = mark.key
        return Place(self.file, mark.line, mark.column)

    def fault(
        self, message: str, path: DocumentPath, *, code: str, key: bool = False, hint: str | None = None
    ) -> Misuse:
        """An error at a value (or at its key), ready to be raised."""
        return Misuse(message, code=code, place=self.place(path, key), hint=hint)

    def locate(self, error: ComityError, path: DocumentPath) -> ComityError:
        """The error that was found in the text of the scalar at `path`, with its place in the file."""
        if isinstance(error, Faults):
            return Faults([self.locate(one, path) for one in error.errors])
        place = error.place or Place()
        moved = error.located(self.file, 1, 1)
        found = self._place_within(path, place.line or 1, place.column or 1)
        moved.place = Place(found.file, found.line, found.column, place.path)
        return moved

    def _place_within(self, path: DocumentPath, line: int, column: int) -> Place:
        mark, found = self._mark(path)
        value = self._at(path) if found else None
        if not isinstance(value, str):
            return Place(self.file, mark.line, mark.column)
        lines = value.split("\n")
        offset = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
        index = source_index(self.text, mark.index, mark.end, mark.style, value, min(offset, len(value)))
        return place_at(self.text, index, self.file)

    def _mark(self, path: DocumentPath) -> tuple[Mark, bool]:
        mark = self._root
        for step in path:
            child = _child(mark, step)
            if child is None:
                return mark, False
            mark = child
        return mark, True

    def _at(self, path: DocumentPath) -> Any:
        value = self.data
        for step in path:
            value = value[step]
        return value


def read_document(path: str | Path) -> Document:
    """The YAML file at `path`; raises `Misuse` with the place when it is not one that we accept."""
    return Document(read_text(path), file=str(path))


def parse_document(text: str, file: str | None = None) -> Document:
    """The same for a text at hand; `file` is the name that places show."""
    _check_size(len(text.encode(errors="surrogatepass")), file)
    return Document(text, file)


def read_text(path: str | Path) -> str:
    """The text of a file of at most `max_file_bytes`, without a byte order mark and with `\\n` line ends."""
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(limits().max_file_bytes + 1)
    except FileNotFoundError:
        raise Misuse("no such file", code="no-such-file", place=Place(file)) from None
    except OSError as error:
        raise Misuse(f"cannot be read: {error.strerror}", code="unreadable-file", place=Place(file)) from error
    _check_size(len(content), file)
    return _decode(content, file)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint for a misspelt word.

    >>> did_you_mean("flaot", ["int", "float"])
    'did you mean `float`?'
    """
    by_lower = {one.lower(): one for one in sorted(known)}
    close = difflib.get_close_matches(word[:100].lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean `{by_lower[close[0]]}`?" if close else None


def _decode(content: bytes, file: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        place = place_at(before, len(before), file)
        raise Misuse("the file is not UTF-8 text", code="not-utf-8", place=place, hint="save it as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_size(size: int, file: str | None) -> None:
    bound = limits().max_file_bytes
    if size > bound:
        hint = "set COMITY_MAX_FILE_BYTES to allow more"
        raise Misuse(f"longer than {bound} bytes", code="file-too-long", place=Place(file), hint=hint)


def _child(mark: Mark, step: str | int) -> Mark | None:
    if isinstance(mark.items, dict):
        return mark.items.get(step) if isinstance(step, str) else None
    if isinstance(mark.items, list) and isinstance(step, int) and 0 <= step < len(mark.items):
        return mark.items[step]
    return None
