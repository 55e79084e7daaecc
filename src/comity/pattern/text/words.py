"""The words of the text form, and which names need backticks or are refused because of them."""

from __future__ import annotations

import re

from comity.event.types import ENVELOPE_NAME
from comity.expression.render import KEYWORDS

OPERATORS = frozenset({"not", "first", "last", "within", "tolerance"})
CLAUSES = ("profile", "version", "on", "where", "duplicates", "consume", "limit", "ties")
"""Each begins a part of a profile."""

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
    is_word = part.lower() in OPERATORS or part in CLAUSES or (part.lower() in CLAUSES and part.isupper())
    return bool(_PLAIN.fullmatch(part)) and not is_word
