"""Frozen dataclasses as what JSON can hold, and back, by the annotations of their fields.

A dataclass is a list that begins with its name, so that the members of a union are told apart. What is shared (types,
mappings, tables) is written once, by its key, and referred to. Reading takes nothing on trust: every value must be of
the annotated form, and no deeper than `MOST_LEVELS`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from comity.contract.mapping import Mapping as EventMapping
from comity.errors import Misuse
from comity.event.context import Context
from comity.event.kinds import MICROSECOND, Point, in_range, kind_of, timestamp_from_microseconds, to_microseconds
from comity.event.types import EventType
from comity.expression.extensions import ExtensionFunction
from comity.expression.table_rows import TableRows
from comity.expression.tree import Lookup

MOST_LEVELS = 400
"""Dataclasses inside each other: twice what an expression may be nested, for a mapping nests it once more."""
SHARED: Mapping[type, str] = {EventType: "types", EventMapping: "mappings", TableRows: "tables"}
"""What is written once, and where it is found."""

_INSTEAD: Mapping[tuple[type, str], Any] = {(Lookup, "rows"): TableRows}
_hints: dict[type, dict[str, Any]] = {}


def hints_of(cls: type) -> dict[str, Any]:
    """The annotations of the fields that make an instance, in their order."""
    if cls not in _hints:
        known = get_type_hints(cls)
        _hints[cls] = {one.name: _INSTEAD.get((cls, one.name), known[one.name]) for one in fields(cls) if one.init}
    return _hints[cls]


def bad_plan(reason: str) -> Misuse:
    """The error about something that is no plan."""
    return Misuse(f"this is no plan: {reason}", code="bad-plan", hint="it was cut, changed on its way, or is no plan")


@dataclass(slots=True)
class Writer:
    """Writes values; `shared` fills with what they refer to."""

    shared: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: {} for name in SHARED.values()})

    def write(self, thing: Any) -> Any:
        """The value as JSON."""
        if type(thing) in (str, bool, int, float, NoneType):
            return thing
        if type(thing) in SHARED:
            return self._refer(thing)
        if isinstance(thing, Enum):
            return thing.value
        if isinstance(thing, ExtensionFunction):
            return [thing.name, thing.key]
        if is_dataclass(thing):
            return self.dataclass(thing)
        if isinstance(thing, Mapping):
            pairs = [[self.write(key), self.write(value)] for key, value in thing.items()]
            return {"struct": pairs} if isinstance(thing, Context) else pairs
        if isinstance(thing, frozenset):
            return sorted((self.write(one) for one in thing), key=repr)
        return _write_scalar(thing) or list(map(self.write, thing))

    def dataclass(self, thing: Any) -> list[Any]:
        """The name and the fields."""
        values = (getattr(thing, name) for name in hints_of(type(thing)))
        return [type(thing).__name__, *map(self.write, values)]  # a comprehension would take a frame at each level

    def _refer(self, thing: Any) -> str:
        known, key = self.shared[SHARED[type(thing)]], str(thing.key)
        if key not in known:
            known[key] = [list(map(self.write, row)) for row in thing] if isinstance(thing, TableRows) else None
            known[key] = known[key] if isinstance(thing, TableRows) else self.dataclass(thing)
        return key


def _write_scalar(thing: Any) -> dict[str, Any] | None:
    match thing:
        case datetime():
            return {"time": to_microseconds(thing)}
        case timedelta():
            return {"span": to_microseconds(thing)}
        case bytes():
            return {"bytes": base64.b64encode(thing).decode()}
        case Point(x, y):
            return {"point": [x, y]}
    return None


@dataclass(slots=True)
class Reader:
    """Reads values by their annotations, with what they refer to; `check` refuses dataclasses that make no sense."""

    shared: Mapping[str, Mapping[str, Any]]
    functions: Mapping[tuple[str, str], ExtensionFunction]
    check: Callable[[Any], None]
    _built: dict[str, Any] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _level: int = 0

    def read(self, data: Any, hint: Any) -> Any:
        """The value of an annotation; `Misuse` if it is none."""
        origin = get_origin(hint)
        if hint is Any or hint is Context:
            return self._value(data, hint)
        if origin in (Union, UnionType):
            member = _member(data, get_args(hint))
            if member is NoneType:
                return None
            return (
                self.dataclass(data, member) if member not in SHARED and _is_class(member) else self.read(data, member)
            )
        if hint in SHARED:
            return self._referred(data, hint)
        if hint is ExtensionFunction:
            return self._function(data)
        if hint is datetime:
            return self._value(data, datetime)
        if _is_class(hint):
            return self.dataclass(data, hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _member_of(hint, data)
        if origin is tuple:
            return self._tuple(data, get_args(hint))
        if origin is frozenset:
            return frozenset(self.read(one, get_args(hint)[0]) for one in _list(data))
        if origin is not None and issubclass(origin, Mapping):
            key, value = get_args(hint)
            return {self.read(one, key): self.read(other, value) for one, other in map(_pair, _list(data))}
        return _plain(data, hint)

    def dataclass(self, data: Any, cls: type) -> Any:
        """The dataclass whose name and fields are given."""
        name, *given = _list(data) or [None]
        hints = hints_of(cls)
        if name != cls.__name__ or len(given) != len(hints):
            raise bad_plan(f"expected {cls.__name__} with {len(hints)} fields")
        self._level += 1
        if self._level > MOST_LEVELS:
            raise bad_plan(f"it is nested more than {MOST_LEVELS} levels deep")
        values = list(map(self.read, given, hints.values()))
        self._level -= 1
        made = cls(*values)
        self.check(made)
        return made

    def _tuple(self, data: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        given = _list(data)
        wanted = [parts[0]] * len(given) if parts[-1] is Ellipsis else list(parts)
        if len(given) != len(wanted):
            raise bad_plan(f"expected {len(parts)} items, not {len(given)}")
        return tuple(map(self.read, given, wanted))

    def _referred(self, key: Any, cls: type) -> Any:
        """What stands under a key: made once, and checked to be what the key is the digest of."""
        where = SHARED[cls]
        data = self.shared[where].get(key) if isinstance(key, str) else None
        if data is None or key in self._open:
            raise bad_plan(f"{where} lack what is referred to, or refer to themselves")
        if key not in self._built:
            self._open.add(key)
            rows = tuple[tuple[Any, Any], ...]
            made = TableRows(self.read(data, rows)) if cls is TableRows else self.dataclass(data, cls)
            self._open.discard(key)
            if made.key != key:
                raise bad_plan(f"something in {where} is not what its key says")
            self._built[key] = made
        return self._built[key]

    def _function(self, data: Any) -> ExtensionFunction:
        name, key = (_plain(one, str) for one in _pair(data))
        found = self.functions.get((name, key))
        if found is None:
            hint = "both sides need the same contract files, or the same packages"
            raise Misuse(f"the plan calls {name}, which is not here in this state", code="unknown-function", hint=hint)
        return found

    def _value(self, data: Any, hint: Any) -> Any:
        """A constant, or a context."""
        if isinstance(data, dict) and len(data) == 1:
            ((form, inner),) = data.items()
            found = self._of_form(form, inner)
        else:
            found = tuple(self._value(one, Any) for one in data) if isinstance(data, list) else _plain(data, type(data))
        if found is None or (hint is not Any and not isinstance(found, hint)):
            raise bad_plan(f"{str(data)[:60]!r} is no value")
        return found

    def _of_form(self, form: str, inner: Any) -> Any:
        if form == "struct":
            pairs = map(_pair, _list(inner))
            return Context({_plain(name, str): self._value(value, Any) for name, value in pairs})
        if form == "point":
            return Point(*(_plain(one, float) for one in _pair(inner)))
        if form == "bytes":
            return _bytes(_plain(inner, str))
        count = _plain(inner, int)
        if form == "time":
            return timestamp_from_microseconds(count)
        return count * MICROSECOND if form == "span" else None


def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def _member(data: Any, members: tuple[Any, ...]) -> Any:
    """The member of a union that a value is of."""
    if data is None and NoneType in members:
        return NoneType
    name = data[0] if isinstance(data, list) and data else None
    others = []
    for one in members:
        if _is_class(one) and one not in SHARED:
            if one.__name__ == name:
                return one
        elif one is not NoneType:
            others.append(one)
    if len(others) != 1:
        raise bad_plan(f"{str(name)[:60]!r} does not fit here")
    return others[0]


def _plain(data: Any, hint: Any) -> Any:
    """A text, a number, true or false, or nothing, just as annotated."""
    if hint not in (str, int, float, bool) or type(data) is not hint:
        raise bad_plan(f"{str(data)[:60]!r} does not fit here")
    if hint in (int, float) and not in_range(data):
        raise bad_plan("a number is out of range")
    if hint is str and not data.isascii() and any("\ud800" <= char <= "\udfff" for char in data):
        raise bad_plan("a text holds half of a character")
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise bad_plan(f"expected a list, not {str(data)[:60]!r}")
    return data


def _pair(data: Any) -> tuple[Any, Any]:
    if not isinstance(data, list) or len(data) != 2:
        raise bad_plan(f"expected a pair, not {str(data)[:60]!r}")
    return data[0], data[1]


def _member_of(cls: type[Enum], data: Any) -> Enum:
    try:
        return cls(data)
    except ValueError:
        raise bad_plan(f"{str(data)[:60]!r} is no {cls.__name__}") from None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise bad_plan("bytes are not in base64") from None


def is_value(thing: Any) -> bool:
    """Whether a literal may hold it."""
    return kind_of(thing) is not None
