"""YAML text to plain data, and the mark of every value.

The parser's events are read one by one, and nothing is built from them but dict, list, str, int, float, bool and None.
Plain words follow the core schema of YAML 1.2, so `on`, `off`, `yes`, `no` and dates stay text. We are stricter in two
points: numbers with leading zeros stay text, because they are mostly codes, and so do `.inf` and `.nan`, because no
value of ours is one. Aliases are refused, so that a small file cannot stand for a big one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

from comity.errors import ComityError, Faults, Misuse, Place

MAX_NESTING = 64
"""Levels of mappings and lists in one document."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_STANDARD = "tag:yaml.org,2002:"
_MAX_INT_CHARS = 4000  # Python refuses to read more than 4300 digits


@dataclass(slots=True)
class Mark:
    """Where a value begins (line and column from 1, index from 0) and ends, how it is written, and what it holds."""

    line: int
    column: int
    index: int
    end: int
    style: str = ""
    key: Mark | None = None
    items: dict[str, Mark] | list[Mark] | None = None


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    data: dict[str, Any] | list[Any]
    mark: Mark
    key: str | None = None
    key_mark: Mark | None = None
    awaits_key: bool = False

    def line_of(self, key: str) -> int:
        assert isinstance(self.mark.items, dict)
        mark = self.mark.items[key]
        return (mark.key or mark).line


@dataclass(slots=True)
class _Builder:
    file: str | None
    faults: list[ComityError] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    root: tuple[Any, Mark] | None = None

    def fault(self, message: str, mark: Mark, code: str, hint: str | None = None) -> Misuse:
        return Misuse(message, code=code, place=Place(self.file, mark.line, mark.column), hint=hint)

    def take(self, event: yaml.Event) -> None:
        """Use the parser's next event."""
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            opened = self.stack.pop()
            self._add(opened.data, opened.mark)
        elif isinstance(event, yaml.AliasEvent):
            raise self.fault("aliases are not supported", _mark(event), "yaml-alias", "write the value out again")
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not None:
            raise self.fault("a file holds one document, this is a second one", _mark(event), "yaml-documents")

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        mark = _mark(event)
        if len(self.stack) >= MAX_NESTING:
            raise self.fault(f"nested deeper than {MAX_NESTING} levels", mark, "too-deep")
        if self._awaits_key():
            raise self.fault("a key must be text, not a mapping or list", mark, "yaml-key")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _STANDARD + ("map" if is_mapping else "seq")):
            self.faults.append(self.fault(f"unknown tag {event.tag!r}", mark, "yaml-tag"))
        mark.items = {} if is_mapping else []
        self.stack.append(_Open({} if is_mapping else [], mark, awaits_key=is_mapping))

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        mark = _mark(event)
        value = self._value(event, mark)
        if self._awaits_key():
            self._key(value, event.value, mark)
        else:
            self._add(value, mark)

    def _value(self, event: yaml.ScalarEvent, mark: Mark) -> Any:
        if event.tag is not None and event.tag not in ("!", _STANDARD + "str"):
            self.faults.append(self.fault(f"unknown tag {event.tag!r}", mark, "yaml-tag", "leave it out"))
        if event.tag is not None or event.style:
            return event.value
        value = resolve(event.value)
        if type(value) is float and not math.isfinite(value):
            self.faults.append(self.fault("the number is too big", mark, "yaml-number"))
        return value

    def _key(self, value: Any, text: str, mark: Mark) -> None:
        opened = self.stack[-1]
        assert isinstance(opened.data, dict)
        if not isinstance(value, str):
            message = f"a key must be text, not {text}" if text else "a key is missing"
            hint = f"put it in quotes: '{text}'" if text else None
            self.faults.append(self.fault(message, mark, "yaml-key", hint))
        elif value in opened.data:
            hint = f"the first one is in line {opened.line_of(value)}"
            self.faults.append(self.fault(f"the key `{value}` occurs twice", mark, "duplicate-key", hint))
        opened.key, opened.key_mark, opened.awaits_key = text, mark, False

    def _add(self, data: Any, mark: Mark) -> None:
        if not self.stack:
            self.root = data, mark
            return
        opened = self.stack[-1]
        if isinstance(opened.data, dict):
            assert opened.key is not None
            assert isinstance(opened.mark.items, dict)
            mark.key = opened.key_mark
            opened.data[opened.key] = data
            opened.mark.items[opened.key] = mark
            opened.awaits_key = True
        else:
            assert isinstance(opened.mark.items, list)
            opened.data.append(data)
            opened.mark.items.append(mark)

    def _awaits_key(self) -> bool:
        return bool(self.stack) and self.stack[-1].awaits_key


def parse_yaml(text: str, file: str | None) -> tuple[Any, Mark]:
    """The data of a YAML text and the mark of its root; raises `Misuse` with the place of what is wrong."""
    builder = _Builder(file)
    for event in _events(text, file):
        builder.take(event)
    if len(builder.faults) == 1:
        raise builder.faults[0]
    if builder.faults:
        raise Faults(builder.faults)
    return builder.root or (None, Mark(1, 1, 0, 0))


def resolve(word: str) -> bool | int | float | str | None:
    """What a plain word means.

    >>> [resolve(word) for word in ("true", "on", "007", "0x1F", "1e3", "2024-01-01", "~")]
    [True, 'on', '007', 31, 1000.0, '2024-01-01', None]
    """
    if word in _WORDS:
        return _WORDS[word]
    if _INT.fullmatch(word):
        return int(word, 0) if len(word) < _MAX_INT_CHARS else math.inf
    if _FLOAT.fullmatch(word):
        return float(word)
    return word


def _events(text: str, file: str | None) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise Misuse(f"not YAML: {message}", code="yaml-syntax", place=place) from error
    except yaml.reader.ReaderError as error:
        raise Misuse(
            f"not YAML: {error.reason}", code="yaml-syntax", place=place_at(text, error.position, file)
        ) from error
    except UnicodeEncodeError as error:
        place = place_at(text, error.start, file)
        raise Misuse("not YAML: half of a surrogate pair", code="yaml-syntax", place=place) from error


def place_at(text: str, index: int, file: str | None) -> Place:
    """The place of a character of the text."""
    before = text[:index]
    return Place(file, before.count("\n") + 1, index - before.rfind("\n"))


def _mark(event: yaml.Event) -> Mark:
    start: Any
    end: Any
    start, end = event.start_mark, event.end_mark
    return Mark(start.line + 1, start.column + 1, start.index, end.index, getattr(event, "style", None) or "")
