"""JSON and YAML documents of others, with the place of every value."""

from __future__ import annotations

import re
from typing import Any

from comity.document import Document, parse_document

_ESCAPES = re.compile(r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})|(/)|.)")


def parse_json(text: str, file: str | None = None) -> Document:
    """The document in a text of JSON or YAML; raises `Misuse` with the place when it is neither.

    >>> parse_json('{\\t"a": "\\\\/\\\\ud83d\\\\ude00"}').data
    {'a': '/😀'}
    """
    is_json = text.lstrip()[:1] in ("{", "[")
    return parse_document(_as_yaml(text) if is_json else text, file)


def _as_yaml(text: str) -> str:
    """JSON has three things that YAML has not: tabs between values, `\\/`, and pairs of surrogates."""
    return _ESCAPES.sub(_unescaped, text.replace("\t", " "))


def _unescaped(found: re.Match[str]) -> str:
    high, low, slash = found.groups()
    if high is not None:
        pair = chr(int(high[1:], 16)) + chr(int(low[1:], 16))
        return pair.encode("utf-16", "surrogatepass").decode("utf-16")
    return "/" if slash else found[0]


def pointer(reference: str) -> tuple[str, ...] | None:
    """The keys that a reference inside its own document leads through; None for another document.

    >>> pointer("#/$defs/a~1b"), pointer("other.json")
    (('$defs', 'a/b'), None)
    """
    if not reference.startswith("#"):
        return None
    steps = reference.removeprefix("#").strip("/")
    return tuple(one.replace("~1", "/").replace("~0", "~") for one in steps.split("/")) if steps else ()


def at(document: Document, path: tuple[str | int, ...]) -> Any:
    """What stands at a path; None if there is nothing."""
    found = document.data
    for step in path:
        if isinstance(found, list) and str(step).isdecimal() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, dict):
            found = found.get(step)
        else:
            return None
    return found
