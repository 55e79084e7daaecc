"""Atoms as regions: where the rank of one channel must lie for an atom to hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from comity.event.kinds import Kind, Value, to_microseconds
from comity.event.times import parse_duration, parse_timestamp
from comity.event.types import ENVELOPE, ENVELOPE_NAME, AttributeType
from comity.expression.like import Wildcard, like_tokens
from comity.expression.tree import (
    MIRRORED,
    Arithmetic,
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    IsType,
    Literal,
    Negative,
    TextTest,
)
from comity.match.channels import (
    ANYTHING,
    BOOLS,
    FALSE,
    LAST,
    NUMBERS,
    OTHERS_TO,
    PRESENT,
    SCALE,
    STRINGS,
    STRINGS_FROM,
    TRUE,
    Channel,
    Interval,
    Path,
    View,
)

Region = tuple[int, tuple[Interval, ...]]
"""The number of a channel, and disjoint intervals of codes in ascending order, in one of which the rank must lie."""

TYPE_PATH: Path = ("event", "type")
_TIME_VIEWS = {Kind.TIMESTAMP: View.TIMESTAMP, Kind.DURATION: View.DURATION}
_TIME_STARTS = frozenset("0123456789+-P")


class RegionReader:
    """Turns atoms into regions, and gathers the channels and constants that they need."""

    def __init__(self, declared: Mapping[Path, AttributeType] | None = None) -> None:
        self.channels: list[Channel] = [Channel((), View.ALWAYS)]
        self._numbers: dict[tuple[Path, View], int] = {}
        self._plains: dict[Path, int] = {}
        self._declared = declared or {}
        self._kinds: dict[Path, Kind | None] = {}
        self._readers: dict[type, Callable[[Any], Region | None]] = {
            Compare: self._compared,
            Exists: self._exists,
            IsType: self._is_type,
            TextTest: self._text_test,
            In: self._in,
            Between: self._between,
        }

    def type_names(self, names: tuple[str, ...]) -> None:
        """Makes types known, a type before its subtypes; larger families first keep every family together."""
        channel = self.channels[self._channel(TYPE_PATH, View.TYPE)]
        for name in names:
            channel.string(name)

    def region(self, node: Expression) -> Region | None:
        """The region that is the atom; None when it is a test, or no atom."""
        read = self._readers.get(type(node))
        return read(node) if read else None

    def _exists(self, node: Exists) -> Region:
        return self._plain(node.attribute.path), (PRESENT,)

    def _is_type(self, node: IsType) -> Region:
        return self._types(node.names)

    def _text_test(self, node: TextTest) -> Region | None:
        if type(node.operand) is not Attribute:
            return None
        return self._text(node.operator, node.operand.path, node.text, node.negated)

    def _in(self, node: In) -> Region | None:
        values = [item.value for item in node.items if type(item) is Literal]
        if type(node.operand) is not Attribute or len(values) < len(node.items):
            return None
        return self._list(node.operand.path, values, node.negated)

    def _between(self, node: Between) -> Region | None:
        if type(node.operand) is Attribute and type(node.low) is Literal and type(node.high) is Literal:
            return self._range(node.operand.path, node.low.value, node.high.value, node.negated)
        return None

    def _compared(self, node: Compare) -> Region | None:
        left, right = node.left, node.right
        if type(left) is Attribute and type(right) is Literal:
            return self._comparison(node.operator, left.path, right.value)
        if type(left) is Literal and type(right) is Attribute:
            return self._comparison(MIRRORED[node.operator], right.path, left.value)
        return None

    def _comparison(self, symbol: str, path: Path, value: Value) -> Region | None:
        if type(value) is bool:
            number = self._plain(path)
            points = {"=": (TRUE if value else FALSE,), "!=": (FALSE if value else TRUE,)}.get(symbol, ())
            return number, tuple((point, point) for point in points)
        found = self._constant(path, value, is_bound=symbol not in ("=", "!="))
        if found is None:
            return None
        number, code, (low, high) = found
        match symbol:
            case "=":
                return number, ((code, code),)
            case "!=":
                return number, ((low, code - 1), (code + 1, high))
            case "<":
                return number, ((low, code - 1),)
            case "<=":
                return number, ((low, code),)
            case ">":
                return number, ((code + 1, high),)
        return number, ((code, high),)

    def _constant(self, path: Path, value: Value, *, is_bound: bool) -> tuple[int, int, Interval] | None:
        """The channel that a constant is compared in, its code, and the segment of the values it compares with."""
        kind = type(value)
        if kind is datetime or kind is timedelta:
            number = self._channel(path, View.TIMESTAMP if kind is datetime else View.DURATION)
            return number, self.channels[number].number(to_microseconds(value)), NUMBERS
        number = self._plain(path)
        channel = self.channels[number]
        if channel.view is not View.VALUE:
            return None
        if kind is int or kind is float:
            return number, channel.number(value), NUMBERS
        if kind is not str or self._may_be_a_time(path, value):
            return None
        return number, channel.bound(value) if is_bound else channel.string(value), STRINGS

    def _range(self, path: Path, low: Value, high: Value, negated: bool) -> Region | None:
        bottom, top = self._constant(path, low, is_bound=True), self._constant(path, high, is_bound=True)
        if bottom is None or top is None or bottom[0] != top[0] or bottom[2] != top[2]:
            return None
        number, segment = bottom[0], bottom[2]
        if low > high:
            return number, (segment,) if negated else ()
        inside: Interval = (bottom[1], top[1])
        return number, _outside(segment, [inside]) if negated else (inside,)

    def _list(self, path: Path, values: list[Value], negated: bool) -> Region | None:
        """`in`: a point for each constant; negated, the segments of their classes without the points."""
        points: dict[Interval, dict[Value, int]] = {}
        numbers: set[int] = set()
        for value in values:
            if type(value) is bool:
                numbers.add(self._plain(path))
                points.setdefault(BOOLS, {})[value] = TRUE if value else FALSE
                continue
            found = self._constant(path, value, is_bound=False)
            if found is None:
                return None
            numbers.add(found[0])
            points.setdefault(found[2], {})[_sortable(value)] = found[1]
        if len(numbers) != 1:
            return None
        inside: list[Interval] = []
        for segment in sorted(points):
            own = [(code, code) for _, code in sorted(points[segment].items())]
            inside.extend(_outside(segment, own) if negated else own)
        return numbers.pop(), tuple(inside)

    def _text(self, test: str, path: Path, text: str, negated: bool) -> Region | None:
        number = self._plain(path)
        if self.channels[number].view is not View.VALUE:
            return None
        if test == "starts with":
            inside: Interval | None = self._prefix(number, text)
        elif test == "like":
            inside = self._like(number, text)
        else:
            inside = None
        if inside is None:
            return None
        return number, _outside(STRINGS, [inside]) if negated else (inside,)

    def _like(self, number: int, pattern: str) -> Interval | None:
        match like_tokens(pattern):
            case ():
                code = self.channels[number].string("")
                return code, code
            case (str(text),):
                code = self.channels[number].string(text)
                return code, code
            case (str(text), Wildcard.RUN):
                return self._prefix(number, text)
            case (Wildcard.RUN,):
                return STRINGS
        return None

    def _prefix(self, number: int, text: str) -> Interval:
        channel, after = self.channels[number], next_prefix(text)
        low = channel.bound(text) if text else STRINGS_FROM
        return low, STRINGS[1] if after is None else channel.bound(after) - 1

    def _types(self, names: tuple[str, ...]) -> Region:
        number = self._channel(TYPE_PATH, View.TYPE)
        channel = self.channels[number]
        codes = sorted({channel.string(name) for name in names})
        runs: list[Interval] = []
        for code in codes:  # codes of types are given out in the order of their ranks
            if runs and code - runs[-1][1] == SCALE:
                runs[-1] = (runs[-1][0], code)
            else:
                runs.append((code, code))
        return number, tuple(runs)

    def needed(self, node: Expression) -> tuple[Region, ...]:
        """Where ranks must lie for a test to hold."""
        if isinstance(node, TextTest) and isinstance(node.operand, Attribute):
            number = self._plain(node.operand.path)
            if self.channels[number].view is View.VALUE:
                high = OTHERS_TO if node.operator == "contains" else STRINGS[1]
                return ((number, ((STRINGS_FROM, high),)),)
        paths = {path for operand in _operands(node) for path in _needed_paths(operand)}
        return tuple((self._plain(path), (PRESENT,)) for path in sorted(paths))

    def _plain(self, path: Path) -> int:
        """The channel of an attribute's own values: as times when it is declared so."""
        number = self._plains.get(path)
        if number is None:
            kind = self._kind(path)
            view = _TIME_VIEWS.get(kind, View.VALUE) if kind else View.VALUE
            number = self._plains[path] = self._channel(path, view)
        return number

    def _kind(self, path: Path) -> Kind | None:
        """The declared kind of an attribute."""
        if path not in self._kinds:
            if path[0] == ENVELOPE_NAME and len(path) == 2:
                declared = ENVELOPE.get(path[1])
            else:
                declared = self._declared.get(path)
            self._kinds[path] = declared.kind if declared else None
        return self._kinds[path]

    def _may_be_a_time(self, path: Path, text: str) -> bool:
        """Whether the text, compared with a time, is read as one: an attribute without a kind may hold times."""
        if text[:1] not in _TIME_STARTS or self._kind(path) is Kind.STRING:
            return False
        return parse_timestamp(text) is not None or parse_duration(text) is not None

    def _channel(self, path: Path, view: View) -> int:
        number = self._numbers.get((path, view))
        if number is None:
            number = self._numbers[path, view] = len(self.channels)
            self.channels.append(Channel(path, view))
        return number


def complement(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Every rank outside the intervals, that of a missing value included."""
    return _outside(ANYTHING, list(intervals))


def _outside(segment: Interval, intervals: list[Interval]) -> tuple[Interval, ...]:
    low, high = segment
    ends = [low, *(end for a, b in intervals for end in (a - 1, b + 1)), high]
    found = [(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if not _is_empty(a, b)]
    return tuple(found)


def _is_empty(low: int, high: int) -> bool:
    """Whether an interval of codes is empty for sure."""
    return low == high + 1 or (low == OTHERS_TO + 1 and high == LAST)


def next_prefix(text: str) -> str | None:
    """The least string above all that start with the text; None when there is none.

    >>> next_prefix("ab"), next_prefix("")
    ('ac', None)
    """
    kept = text.rstrip("\U0010ffff")
    if not kept:
        return None
    last = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if last == 0xD800 else last)  # surrogates are no characters


def _sortable(value: Value) -> Value:
    return to_microseconds(value) if isinstance(value, datetime | timedelta) else value


def _operands(node: Expression) -> tuple[Expression, ...]:
    """What must be present for the atom to hold."""
    match node:
        case Compare(_, left, right):
            return left, right
        case Between(operand) | In(operand) | TextTest(_, operand):
            return (operand,)
    return ()


def _needed_paths(node: Expression) -> set[Path]:
    match node:
        case Attribute(path):
            return {path}
        case Arithmetic(_, left, right):
            return _needed_paths(left) | _needed_paths(right)
        case Negative(operand):
            return _needed_paths(operand)
    return set()
