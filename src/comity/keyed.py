"""Keys: a short digest of what a thing says. Things that say the same have the same key, in every process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from typing import Any


class Keyed:
    """A frozen dataclass with a `key`, made once, when it is first asked for, of the fields that it is compared by."""

    @cached_property
    def key(self) -> str:
        """A digest of what it says, the same in every process."""
        return digest(*(getattr(self, name) for name in _compared(type(self))), of=type(self).__name__)


def digest(*parts: Any, of: str = "") -> str:
    """The digest of values, of tuples and mappings and dataclasses of them, and of what has a key.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}), digest(1) == digest(1.0)
    (True, False)
    """
    said: list[str] = []
    for part in (of, *parts):
        _say(part, said.append)
    return blake2b("".join(said).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


_Say = Callable[[str], None]
_PLAIN = (int, float, bool, bytes, timedelta, type(None))  # `repr` tells them apart, with their kinds


def _say(thing: Any, say: _Say) -> None:
    """The thing as text that no other thing has, and that begins differently from what it could be a part of."""
    if type(thing) is str:
        say(f"'{len(thing)}:{thing}")
    elif type(thing) in _PLAIN:
        say(f"{thing!r};")
    elif type(thing) is datetime:
        say(f"{thing.replace(fold=0)!r};")  # times that differ in nothing else are equal
    elif isinstance(thing, Keyed):
        say(f"#{thing.key};")
    elif type(thing) in (tuple, list):
        _say_all(thing, "(", say)
    elif isinstance(thing, Enum):
        say(f"{type(thing).__name__}.{thing.name};")
    elif isinstance(thing, Mapping):
        _say_all(sorted(map(_said, thing.items())), "{", say)
    elif isinstance(thing, frozenset | set):
        _say_all(sorted(map(_said, thing)), "[", say)
    elif isinstance(thing, tuple):
        _say_all(thing, f"{type(thing).__name__}(", say)
    elif is_dataclass(thing):
        _say_all([getattr(thing, name) for name in _compared(type(thing))], f"{type(thing).__name__}<", say)
    else:
        raise TypeError(f"a {type(thing).__name__} has no key")


def _say_all(things: Any, begin: str, say: _Say) -> None:
    say(begin)
    for thing in things:
        _say(thing, say)
    say(")")


def _said(thing: Any) -> str:
    said: list[str] = []
    _say(thing, said.append)
    return "".join(said)


_names: dict[type, tuple[str, ...]] = {}  # asking `fields` every time takes longer than all the rest


def _compared(cls: type) -> tuple[str, ...]:
    if cls not in _names:
        _names[cls] = tuple(field.name for field in fields(cls) if field.compare)
    return _names[cls]
