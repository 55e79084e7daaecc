"""What the source in memory understands, as Comity sees it: the capability of each dialect, and how it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from comity.connect.connectors.memory.filters import ROWS, TAGS, TERMS
from comity.event.kinds import Kind
from comity.expression.tree import And, Attribute, Compare, Exists, Expression, In, Literal, Not, Or, TextTest
from comity.language.capability import EQUALITY, NOTHING, ORDER, PRESENCE, LanguageCapability, MissingPolicy, for_kinds
from comity.language.language import NONE, Language

_NUMBERS = (Kind.INT, Kind.FLOAT)
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def memory_text(native: Expression) -> str:
    """A native part in the language of the source in memory.

    >>> from comity.expression.parse import parse
    >>> memory_text(parse("heat > 86.0 and (room starts with 'att' or not exists note)"))
    'heat > 86.0 & (room ^ "att" | note !?)'
    """
    match native:
        case Literal(bool(value)):  # only to be measured: whoever asks for everything or nothing sends no text
            return str(value)
        case Or(items):
            return " | ".join(_inner(item) for item in items)
        case And(items):
            return " & ".join(_inner(item) for item in items)
        case Not(Exists(Attribute(path))):
            return f"{_path(path)} !?"
        case Not(item):
            return f"!({memory_text(item)})"
    return _test_text(native)


def _inner(item: Expression) -> str:
    return f"({memory_text(item)})" if isinstance(item, Or | And) else memory_text(item)


def _test_text(test: Expression) -> str:
    match test:
        case Exists(Attribute(path)):
            return f"{_path(path)} ?"
        case Compare(sign, Attribute(path), Literal(value)):
            return f"{_path(path)} {sign} {json.dumps(value)}"
        case TextTest("starts with", Attribute(path), text, False):
            return f"{_path(path)} ^ {json.dumps(text)}"
        case In(Attribute(path), items, False):
            return f"{_path(path)} : {json.dumps([item.value for item in items if isinstance(item, Literal)])}"
    raise TypeError(f"the source in memory has no such test: {test!r}")


def _path(path: tuple[str, ...]) -> str:
    return ".".join(name if _PLAIN_NAME.fullmatch(name) else json.dumps(name) for name in path)


_CAPABILITIES: Mapping[str, LanguageCapability] = {
    "terms": replace(
        NOTHING,
        name=TERMS.name,
        operators={
            **for_kinds(_NUMBERS, ["="], ORDER),
            **for_kinds([Kind.STRING], ["=", "starts with"]),
            **for_kinds([Kind.BOOL], ["="]),
        },
        conjunction=True,
        max_terms=TERMS.max_tests,
        nested_paths=True,
        missing=MissingPolicy.UNKNOWN,
    ),
    "tags": replace(
        NOTHING,
        name=TAGS.name,
        operators={**for_kinds([Kind.STRING], ["=", "in"]), **for_kinds([Kind.BOOL], ["="])},
        disjunction=True,
        max_text_chars=TAGS.max_chars,
        missing=MissingPolicy.UNKNOWN,
        envelope=frozenset({"id", "source", "subject"}),
    ),
    "rows": replace(
        NOTHING,
        name=ROWS.name,
        operators={
            **for_kinds([*_NUMBERS, Kind.STRING], EQUALITY, ORDER, ["in"], PRESENCE),
            **for_kinds([Kind.BOOL], EQUALITY, PRESENCE),
        },
        conjunction=True,
        disjunction=True,
        negation=True,
        max_terms=ROWS.max_tests,
        max_depth=ROWS.max_depth,
        nested_paths=True,
        missing=MissingPolicy.UNKNOWN,
        envelope=frozenset({"source", "subject"}),
    ),
}


def memory_language(filters: str) -> Language:
    """The language of memory sources with this option `filters`."""
    return NONE if filters == "none" else Language(_CAPABILITIES[filters], memory_text)
