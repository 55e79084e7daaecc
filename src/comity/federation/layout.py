"""Changes of a YAML text that leave its comments, order and layout alone.

Only the characters that have to change are changed. Every change is checked by reading the new text: where it does not
say exactly what it should, in a layout that nobody foresaw, the change is refused and the text stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped, unused-ignore]

from comity.document import parse_document
from comity.errors import ComityError, Misuse, Place

PROFILES = "profiles"
_INDENT = "  "
_EMPTY_FLOW = re.compile(r"\{\s*\}")
Fields = Mapping[str, Any]
"""Texts and numbers, and lists and mappings of these."""


class _Entry(NamedTuple):
    name: str
    key: Any
    value: Any


def with_profiles(text: str, file: str, added: Mapping[str, Fields]) -> str:
    """The text with more profiles behind those that are there.

    >>> text = "profiles: # all\\n    a: {domain: d, on: T}\\n"
    >>> print(with_profiles(text, "p.yaml", {"b": {"domain": "d"}}), end="")
    profiles: # all
        a: {domain: d, on: T}
        b:
          domain: d
    """
    data = parse_document(text, file).data
    if data is None:
        changed = _on_new_line(text, len(text)) + f"{PROFILES}:\n" + _block_entries(added, _INDENT)
    elif not isinstance(data, dict) or PROFILES not in data or "domain" in data or "contract" in data:
        hint = "name a file of profiles with --file, or one that does not exist yet"
        raise Misuse("this is not a file of profiles", code="not-a-profile-file", place=Place(file), hint=hint)
    else:
        changed = _inserted(text, _profiles_node(text), added)
    top = data or {}
    return _checked(changed, file, {**top, PROFILES: {**(top.get(PROFILES) or {}), **added}})


def without_profile(text: str, file: str, name: str) -> str:
    """The text without a profile, and without the comment lines that stand directly above it.

    >>> print(without_profile("profiles:\\n  # hot\\n  a: {on: T}\\n  b: {on: T} # cold\\n", "p.yaml", "a"), end="")
    profiles:
      b: {on: T} # cold
    """
    data = parse_document(text, file).data
    node = _profiles_node(text)
    entries = _entries(node)
    at = next(number for number, entry in enumerate(entries) if entry.name == name)
    if len(entries) == 1:
        changed = _emptied(text, node)
    elif node.flow_style:
        changed = _without_flow_entry(text, entries, at)
    else:
        changed = _without_lines(text, entries[at])
    rest = {key: value for key, value in data[PROFILES].items() if key != name}
    return _checked(changed, file, {**data, PROFILES: rest})


def with_fields(text: str, file: str, name: str, fields: Fields, dropped: Iterable[str] = ()) -> str:
    """The text with other fields of a profile that is there, and without some; fields that are not named stay.

    >>> with_fields("profiles: {a: {on: T, where: x > 1}}", "p.yaml", "a", {"where": "x > 2"})
    'profiles: {a: {on: T, where: x > 2}}'
    """
    data = parse_document(text, file).data
    old = data[PROFILES][name]
    for key, value in fields.items():
        if old.get(key) != value:
            text = _with_field(text, name, key, value)
    gone = [key for key in dropped if key in old and key not in fields]
    for key in gone:
        text = _without_field(text, name, key)
    new = {key: value for key, value in {**old, **fields}.items() if key not in gone}
    return _checked(text, file, {**data, PROFILES: {**data[PROFILES], name: new}})


def scalar(value: Any, *, flow: bool = False) -> str:
    """A text, a number, or a list or mapping of these as YAML in one line, plain if it can be.

    >>> scalar("x > 1"), scalar("name = 'a'"), scalar("true"), scalar("a: b, 'c'")
    ('x > 1', "name = 'a'", "'true'", "'a: b, ''c'''")
    """
    if isinstance(value, dict):
        inner = (f"{scalar(key, flow=True)}: {scalar(one, flow=True)}" for key, one in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(scalar(one, flow=True) for one in value) + "]"
    if isinstance(value, int | float):
        return json.dumps(value)
    quoted = "'" + value.replace("'", "''") + "'"
    spellings = [value, quoted] if "\n" not in value else []
    for spelt in (*spellings, json.dumps(value, ensure_ascii=False), _escaped(value)):
        if _reads_as(f"{{k: {spelt}}}" if flow else f"k: {spelt}", {"k": value}):
            return str(spelt)
    raise Misuse("the text holds characters that a YAML file cannot hold", code="bad-character")


def _escaped(value: str) -> str:
    inner = (char if " " <= char <= "~" and char not in '"\\' else f"\\U{ord(char):08x}" for char in value)
    return '"' + "".join(inner) + '"'


def _reads_as(text: str, data: Any) -> bool:
    try:
        return bool(parse_document(text).data == data)
    except ComityError:
        return False


def _checked(text: str, file: str, expected: Any) -> str:
    if not _reads_as(text, expected):
        hint = "change this file in an editor, or let --file name another one"
        raise Misuse("the layout of this file is too unusual", code="unknown-layout", place=Place(file), hint=hint)
    return text


# Places of nodes, ends included, which the parser knows for all but block mappings and lists.


def _profiles_node(text: str) -> Any:
    top = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return next(value for key, value in top.value if key.value == PROFILES)


def _entries(node: Any) -> list[_Entry]:
    return [_Entry(key.value, key, value) for key, value in node.value] if isinstance(node, yaml.MappingNode) else []


def _end(node: Any) -> int:
    """The index behind the last character of a node."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return max(map(_end, last)) if isinstance(last, tuple) else _end(last)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _after_line(text: str, index: int) -> int:
    """Behind the line that holds the character before the index."""
    found = text.find("\n", max(index - 1, 0))
    return len(text) if found < 0 else found + 1


def _after_entry(text: str, entry: _Entry, indent: int) -> int:
    """Behind the last line of an entry, with the comments that are indented deeper than its key."""
    at = _after_line(text, max(_end(entry.value), _end(entry.key)))
    while at < len(text):
        line = text[at : _after_line(text, at + 1)]
        content = line.lstrip(" ")
        if not content.startswith("#") or len(line) - len(content) <= indent:
            break
        at += len(line)
    return at


# Adding.


def _inserted(text: str, node: Any, added: Mapping[str, Fields]) -> str:
    entries = _entries(node)
    if not entries:
        return _first_entries(text, node, added)
    if node.flow_style:
        at = max(_end(entries[-1].value), _end(entries[-1].key))
        return f"{text[:at]}, {_flow_entries(added)}{text[at:]}"
    indent = entries[0].key.start_mark.column
    at = _after_entry(text, entries[-1], indent)
    gap = "\n" if _has_gaps(text, entries, indent) else ""
    return _on_new_line(text, at) + gap + _block_entries(added, " " * indent, gap) + text[at:]


def _first_entries(text: str, node: Any, added: Mapping[str, Fields]) -> str:
    begin, end = node.start_mark.index, node.end_mark.index
    if isinstance(node, yaml.MappingNode) and not _EMPTY_FLOW.fullmatch(text[begin:end]):
        return f"{text[: begin + 1]}{_flow_entries(added)}{text[begin + 1 :]}"
    rest = text[end : _after_line(text, end + 1)]
    if rest.strip() and not rest.lstrip().startswith("#"):  # the file itself is written with braces
        return f"{text[:begin]}{{{_flow_entries(added)}}}{text[end:]}"
    head = text[:begin].rstrip(" ") + (" " if rest.strip() else "") + rest.strip() + "\n"
    return head + _block_entries(added, _INDENT) + text[end + len(rest) :]


def _has_gaps(text: str, entries: list[_Entry], indent: int) -> bool:
    """Whether the last two entries are set apart by an empty line."""
    if len(entries) < 2:
        return False
    between = text[_after_entry(text, entries[-2], indent) : entries[-1].key.start_mark.index]
    return any(not line.strip() for line in between.split("\n")[:-1])


def _on_new_line(text: str, at: int) -> str:
    return text[:at] if at == 0 or text[at - 1] == "\n" else text[:at] + "\n"


def _block_entries(added: Mapping[str, Fields], lead: str, gap: str = "") -> str:
    return gap.join(_block_entry(name, fields, lead) for name, fields in added.items())


def _block_entry(name: str, fields: Fields, lead: str) -> str:
    lines = [f"{lead}{scalar(name)}:", *(f"{lead}{_INDENT}{key}: {scalar(value)}" for key, value in fields.items())]
    return "\n".join(lines) + "\n"


def _flow_entries(added: Mapping[str, Fields]) -> str:
    return ", ".join(_flow_entry(name, fields) for name, fields in added.items())


def _flow_entry(name: str, fields: Fields) -> str:
    inner = ", ".join(f"{key}: {scalar(value, flow=True)}" for key, value in fields.items())
    return f"{scalar(name, flow=True)}: {{{inner}}}"


def _with_field(text: str, name: str, key: str, value: Any) -> str:
    """The text with one field of a profile set: in its place if it is there, else behind the other fields."""
    node = next(entry.value for entry in _entries(_profiles_node(text)) if entry.name == name)
    fields = _entries(node)
    spelt = scalar(value, flow=bool(node.flow_style))
    for field in fields:
        if field.name == key:
            begin, end = field.value.start_mark.index, field.value.end_mark.index
            return text[:begin] + spelt + ("\n" if text[begin:end].endswith("\n") else "") + text[end:]
    if node.flow_style:
        at = _end(fields[-1].value)
        return f"{text[:at]}, {key}: {spelt}{text[at:]}"
    at = _after_line(text, _end(fields[-1].value))
    return f"{_on_new_line(text, at)}{' ' * fields[0].key.start_mark.column}{key}: {spelt}\n{text[at:]}"


# Taking away.


def _emptied(text: str, node: Any) -> str:
    (only,) = _entries(node)
    begin, end = node.start_mark.index, _end(node)
    if node.flow_style:
        return f"{text[:begin]}{{}}{text[end:]}"
    begin = text.rfind(f"{PROFILES}", 0, begin)
    colon = text.index(":", begin) + 1
    without = _without_lines(text, only)
    return without[:colon] + " {}" + without[colon:]


def _without_flow_entry(text: str, entries: list[_Entry], at: int) -> str:
    if at + 1 < len(entries):
        return text[: entries[at].key.start_mark.index] + text[entries[at + 1].key.start_mark.index :]
    return text[: _end(entries[at - 1].value)] + text[_end(entries[at].value) :]


def _without_lines(text: str, entry: _Entry) -> str:
    indent = entry.key.start_mark.column
    begin, end = _line_start(text, entry.key.start_mark.index), _after_entry(text, entry, indent)
    while begin > 0:
        above = _line_start(text, begin - 1)
        if not text[above:begin].startswith(" " * indent + "#"):
            break
        begin = above
    return _joined(text[:begin], text[end:])


def _without_field(text: str, name: str, key: str) -> str:
    node = next(entry.value for entry in _entries(_profiles_node(text)) if entry.name == name)
    fields = _entries(node)
    at = next(number for number, field in enumerate(fields) if field.name == key)
    return _without_flow_entry(text, fields, at) if node.flow_style else _without_lines(text, fields[at])


def _joined(before: str, after: str) -> str:
    """Two parts of a text whose middle was taken out, with one empty line where each of them had one."""
    if before.endswith("\n\n") and (after.startswith("\n") or not after):
        return before[:-1] + after
    return before + after
