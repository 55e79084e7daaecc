"""The filters of the source in memory: a language of its own, and how it judges events by it.

    filter     = both { "|" both }
    both       = test { "&" test }
    test       = "!" test | "(" filter ")" | path "?" (is there) | path "!?" (is not there) | path operator constant
    operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "^" (begins with) | ":" (is one of a list)
    path       = name { "." name }      after `event.` a part of the envelope; a name with other signs is in quotes
    constant   = JSON; a whole number is an int, one with a point or an exponent a float

A missing value makes a test unknown, as in SQL. This module stands for a foreign system: it knows nothing of how Comity
reads, parses or evaluates, so that what they agree on means something. It refuses texts beyond what its dialect has, as
such a system would.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from comity.errors import Permanent

Fields = Mapping[str, Any]
Truth = Callable[[Fields], bool | None]
"""True, false, or None for unknown."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one kind of memory source understands."""

    name: str
    connectives: str
    operators: Mapping[type, str]
    """By the type of the constant, those that it has; those without a constant are under `object`."""
    max_tests: int | None = None
    max_depth: int | None = None
    max_chars: int | None = None


_NUMBERS = {int: "= < <= > >=", float: "= < <= > >="}

TERMS = Dialect("memory-terms", "&", {**_NUMBERS, str: "= ^", bool: "="}, max_tests=4)
"""Some comparisons, of which all must hold; no order of texts."""
TAGS = Dialect("memory-tags", "|", {str: "= :", bool: "="}, max_chars=80)
"""Some values, of which any will do; no order at all, and little room."""
ROWS = Dialect(
    "memory-rows",
    "&|!",
    {**dict.fromkeys((int, float, str), "= != < <= > >= :"), bool: "= !=", object: "? !?"},
    max_tests=12,
    max_depth=3,
)
"""Like the conditions of SQL, with a `not` that leaves the unknown unknown."""
DIALECTS: Mapping[str, Dialect] = {"terms": TERMS, "tags": TAGS, "rows": ROWS}


def memory_filter(text: str, dialect: Dialect) -> Callable[[Fields], bool]:
    """Whether a record passes; one for which the filter is unknown does not.

    >>> is_hot = memory_filter('heat > 86.0 & room ^ "att"', TERMS)
    >>> is_hot({"data": {"heat": 90, "room": "attic"}}), is_hot({"data": {"heat": 90}})
    (True, False)
    """
    if dialect.max_chars is not None and len(text) > dialect.max_chars:
        raise _refused(text, f"it has more than {dialect.max_chars} characters")
    reader = _Reader(text, dialect)
    test, depth = reader.either()
    reader.expect_end()
    if dialect.max_tests is not None and reader.tests > dialect.max_tests:
        raise _refused(text, f"it has more than {dialect.max_tests} tests")
    if dialect.max_depth is not None and depth > dialect.max_depth:
        raise _refused(text, f"it has more than {dialect.max_depth} levels")
    return lambda record: test(record) is True


def _refused(text: str, reason: str) -> Permanent:
    return Permanent(f"the source cannot be asked for {text}: {reason}", code="bad-ask")


_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[\w+.\-]+|!=|!\?|<=|>=|[=<>^:?&|!()\[\],])')
_PATH = re.compile(r'\s*((?:[^\W\d]\w*|"(?:[^"\\]|\\.)*")(?:\.(?:[^\W\d]\w*|"(?:[^"\\]|\\.)*"))*)')
_NAME = re.compile(r'[^\W\d]\w*|"(?:[^"\\]|\\.)*"')
_JSON = json.JSONDecoder()


class _Reader:
    """Reads a text from left to right; every rule gives the test and how many levels it has."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text, self.dialect, self.at, self.tests = text, dialect, 0, 0

    def either(self) -> tuple[Truth, int]:
        return self._joined("|", self.both, _any)

    def both(self) -> tuple[Truth, int]:
        return self._joined("&", self.test, _all)

    def _joined(
        self, sign: str, part: Callable[[], tuple[Truth, int]], join: Callable[[list[Truth]], Truth]
    ) -> tuple[Truth, int]:
        parts = [part()]
        while self._takes(sign):
            parts.append(part())
        if len(parts) == 1:
            return parts[0]
        return join([test for test, _ in parts]), 1 + max(depth for _, depth in parts)

    def test(self) -> tuple[Truth, int]:
        if self._takes("!"):
            inner, depth = self.test()
            return _not(inner), depth + 1
        if self._takes("("):
            found = self.either()
            if not self._takes(")"):
                raise _refused(self.text, "a parenthesis is not closed")
            return found
        self.tests += 1
        return self._comparison(), 0

    def _comparison(self) -> Truth:
        found = _PATH.match(self.text, self.at)
        if found is None:
            raise _refused(self.text, f"there is no name at {self.at}")
        self.at = found.end()
        path = tuple(json.loads(one) if one[0] == '"' else one for one in _NAME.findall(found[1]))
        sign = self._next()
        if sign in ("?", "!?"):
            self._check(object, sign)
            return lambda record: (_value(record, path) is not None) == (sign == "?")
        return self._compared(path, sign)

    def _compared(self, path: tuple[str, ...], sign: str) -> Truth:
        try:
            constant, self.at = _JSON.raw_decode(self.text, self.at + self._blanks())
        except ValueError:
            raise _refused(self.text, f"there is no constant at {self.at}") from None
        if sign == ":":
            for one in constant:
                self._check(type(one), sign)
            return _any([_equal(path, one) for one in constant])
        self._check(type(constant), sign)
        if sign == "=":
            return _equal(path, constant)
        return _ordered(path, _SIGNS[sign], constant)

    def _check(self, kind: type, sign: str) -> None:
        if sign not in self.dialect.operators.get(kind, "").split():
            raise _refused(self.text, f"{self.dialect.name} has no `{sign}` for {kind.__name__}")

    def _takes(self, sign: str) -> bool:
        found = _TOKEN.match(self.text, self.at)
        if found is None or found[1] != sign:
            return False
        if sign in "&|!" and sign not in self.dialect.connectives:
            raise _refused(self.text, f"{self.dialect.name} has no `{sign}`")
        self.at = found.end()
        return True

    def _next(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise _refused(self.text, "it ends too early")
        self.at = found.end()
        return found[1]

    def _blanks(self) -> int:
        return len(self.text[self.at :]) - len(self.text[self.at :].lstrip())

    def expect_end(self) -> None:
        if self.text[self.at :].strip():
            raise _refused(self.text, f"there is something behind its end, at {self.at}")


def _all(tests: list[Truth]) -> Truth:
    def holds(record: Fields) -> bool | None:
        found = [test(record) for test in tests]
        return False if False in found else None if None in found else True

    return holds


def _any(tests: list[Truth]) -> Truth:
    def holds(record: Fields) -> bool | None:
        found = [test(record) for test in tests]
        return True if True in found else None if None in found else False

    return holds


def _not(test: Truth) -> Truth:
    def holds(record: Fields) -> bool | None:
        found = test(record)
        return None if found is None else not found

    return holds


_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "^": str.startswith,
}


def _equal(path: tuple[str, ...], constant: Any) -> Truth:
    return _ordered(path, operator.eq, constant)


def _ordered(path: tuple[str, ...], compare: Callable[[Any, Any], bool], constant: Any) -> Truth:
    def holds(record: Fields) -> bool | None:
        value = _like(_value(record, path), constant)
        return None if value is None else compare(value, constant)

    return holds


def _like(value: Any, constant: Any) -> Any:
    """The value as one of the constant's type; None where it is none. A whole number may stand for a float."""
    if type(constant) is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    return value if type(value) is type(constant) else None


def _value(record: Fields, path: tuple[str, ...]) -> Any:
    found: Any = record if path[0] == "event" else record.get("data")
    for name in path[1:] if path[0] == "event" else path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found
