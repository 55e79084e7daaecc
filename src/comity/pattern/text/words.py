"""The words of the text form, and which names need backticks or are refused because of them."""

from __future__ import annotations

import re
from collections.abc import Collection

from comity.event.types import ENVELOPE_NAME
from comity.expression.render import KEYWORDS

OPERATORS = frozenset({"not", "first", "last", "within", "tolerance"})
CLAUSES = ("profile", "version", "on", "where", "duplicates", "consume", "limit", "ties")
"""Each begins a part of a profile."""

FOREIGN_TYPES = frozenset({"every", "no", "absent", "without"})
"""Words of other languages that would be read as a type with a name behind it: such a type stands in backticks."""

_RESERVED = KEYWORDS | OPERATORS | set(CLAUSES) | {"all", "collect"}
_PLAIN = re.compile(r"[^\W\d]\w*")


def is_reserved(name: str) -> bool:
    """Whether an operand cannot have this name, because it would be read as something else.

    >>> is_reserved("Limit"), is_reserved("heat")
    (True, False)
    """
    return name.lower() in _RESERVED or name == ENVELOPE_NAME


def is_name(text: str) -> bool:
    """Whether an operand can be named so."""
    return bool(_PLAIN.fullmatch(text)) and not is_reserved(text)


def render_type(name: str) -> str:
    """A type's name, with backticks where a part of it would be read as something else.

    >>> render_type("house.First")
    'house.`First`'
    """
    return ".".join(part if _is_plain_type(part) else f"`{part}`" for part in name.split("."))


def _is_plain_type(part: str) -> bool:
    is_word = part.lower() in OPERATORS or _is_one_of(CLAUSES, part) or _is_one_of(FOREIGN_TYPES, part)
    return bool(_PLAIN.fullmatch(part)) and not is_word


def is_foreign_type(word: str) -> bool:
    """Whether it is hardly meant as a type."""
    return _is_one_of(FOREIGN_TYPES, word)


def _is_one_of(words: Collection[str], part: str) -> bool:
    """Words are written in small letters or in capitals."""
    return part in words or (part.lower() in words and part.isupper())
