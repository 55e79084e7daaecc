"""Where a character of a scalar's value stands in the YAML text that spells it.

Folding, indentation and quoting change white space only, apart from escapes, which stand for one character each. So the
n-th character of the value that is not white space is the n-th such unit of the source, whatever the style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PROPERTIES = re.compile(r"(?:[!&]\S*\s+)*")
_HEADER = re.compile(r"[^\n]*\n")
_UNITS = {
    "'": re.compile(r"''|[\s\S]"),
    '"': re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])|[\s\S]"),
}
_ESCAPED_SPACE = frozenset({"\\n", "\\t", "\\r", "\\ ", "\\v", "\\f", "\\\n", "\\N", "\\_", "\\L", "\\P"})


def source_index(text: str, start: int, end: int, style: str, value: str, offset: int) -> int:
    """The index in `text` of the character `value[offset]` of the scalar that stands at text[start:end].

    >>> text = "where: 'it''s = x'"
    >>> text[source_index(text, 7, 18, "'", "it's = x", 7)]
    'x'
    """
    begin, stop = _content(text, start, end, style)
    wanted = sum(not char.isspace() for char in value[:offset])
    after_last = begin
    for count, (index, length) in enumerate(_visible(text, begin, stop, style)):
        if count == wanted:
            if offset < len(value) and value[offset].isspace():
                break
            return index
        after_last = index + length
    return after_last


def _content(text: str, start: int, end: int, style: str) -> tuple[int, int]:
    """The span without tag, anchor, quotes and block header."""
    properties = _PROPERTIES.match(text, start, end)
    begin = properties.end() if properties else start
    if style in ("'", '"'):
        return begin + 1, end - 1
    if style in ("|", ">"):
        header = _HEADER.match(text, begin, end)
        return (header.end() if header else end), end
    return begin, end


def _visible(text: str, begin: int, stop: int, style: str) -> Iterator[tuple[int, int]]:
    """Index and length of every unit that is not white space."""
    pattern = _UNITS.get(style)
    if pattern is None:
        yield from ((index, 1) for index in range(begin, stop) if not text[index].isspace())
        return
    for unit in pattern.finditer(text, begin, stop):
        if not unit.group().isspace() and unit.group() not in _ESCAPED_SPACE:
            yield unit.start(), unit.end() - unit.start()
