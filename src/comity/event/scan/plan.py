"""What the scanner knows of the types: tables of the keys that a line may hold, and what becomes of their values.

A *slot* is a key of an object: `id` of the envelope, `heat` of a type, `serial` of its `device`. A *node* is an object:
the envelope, the data of a type, a struct, a point. A *lane* is a column that the kernel fills, 64 bits an event; types
share lanes, because an event has one type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from comity.event.kinds import Kind
from comity.event.scan.kernels.words import Role, ScanTables
from comity.event.types import MODES, AttributeType, EventType
from comity.event.validate import is_text

MAX_TYPE_DEPTH = 32
"""Levels of structs in a type that is scanned; lines of deeper ones are left to the decoder."""


class Lane(IntEnum):
    """The lanes of the envelope; those of attributes follow."""

    ID = 0
    SOURCE = 1
    TIME = 2
    SUBJECT = 3
    SEQUENCE = 4
    MODE = 5
    VERSION = 6


_ROLES = {
    Kind.STRING: Role.STRING,
    Kind.FLOAT: Role.FLOAT,
    Kind.INT: Role.INT,
    Kind.BOOL: Role.BOOL,
    Kind.TIMESTAMP: Role.TIMESTAMP,
    Kind.STRUCT: Role.STRUCT,
    Kind.POINT: Role.POINT,
}
"""Of kinds that the kernels read; lines with a value of another one are doubtful."""
_ENVELOPE = (
    ("specversion", Role.VERSION, -1, False),
    ("id", Role.TEXT, Lane.ID, True),
    ("source", Role.TEXT, Lane.SOURCE, True),
    ("type", Role.TYPE, -1, True),
    ("time", Role.TIME, Lane.TIME, False),
    ("subject", Role.TEXT, Lane.SUBJECT, False),
    ("sequence", Role.SEQUENCE, Lane.SEQUENCE, False),
    ("mode", Role.MODE, Lane.MODE, False),
    ("typeversion", Role.TEXT, Lane.VERSION, False),
    ("data", Role.DATA, -1, False),
    ("data_base64", Role.FORBIDDEN, -1, False),
)
_COORDINATES = {"x": AttributeType(Kind.FLOAT), "y": AttributeType(Kind.FLOAT)}


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """Where the values of an attribute are: its lane, and the columns inside of a struct or a point."""

    name: str
    attribute: AttributeType
    lane: int
    is_nullable: bool
    parts: tuple[ScanColumn, ...] = ()


@dataclass(slots=True)
class ScanLayout:
    """The plan for some types, and the columns of each that can be scanned."""

    plan: ScanTables
    types: list[EventType]
    columns: list[tuple[ScanColumn, ...]]
    lanes: int
    depth: int


def layout_of(types: Sequence[EventType], require_time: bool, simple_names: bool = True) -> ScanLayout:
    """The plan for types; abstract ones have no events, so lines that name them are doubtful."""
    builder = _Builder()
    is_mandatory = [one[3] or (one[1] is Role.TIME and require_time) for one in _ENVELOPE]
    envelope = builder.object(is_mandatory)
    for slot, (name, role, lane, _) in zip(envelope, _ENVELOPE, strict=True):
        builder.set(slot, name, role, lane, is_nullable=not is_mandatory[slot])
    scanned = [one for one in types if not one.abstract and _is_scannable(one.attributes)]
    names = _names(types, scanned, simple_names)
    for texts in (names, {mode: number for number, mode in enumerate(MODES)}, {"1.0": 0}):
        slots = builder.object([False] * len(texts))
        for slot, (text, number) in zip(slots, texts.items(), strict=True):
            builder.set(slot, text, Role.REFUSED, -1, inner=number)
    columns = [builder.type(one.attributes) for one in scanned]
    return ScanLayout(builder.plan(), scanned, columns, builder.lanes, builder.depth)


def _names(types: Sequence[EventType], scanned: Sequence[EventType], simple_names: bool) -> dict[str, int]:
    """By qualified name; types of one namespace also by simple name, as their taxonomy finds them."""
    by_name = {one.qualified_name: one for one in types}
    if simple_names and len({one.namespace for one in types}) == 1:
        by_name |= {one.name: one for one in types}
    numbers = {id(one): number for number, one in enumerate(scanned)}
    return {name: numbers[id(one)] for name, one in by_name.items() if id(one) in numbers and _is_plain(name)}


def _is_scannable(attributes: Mapping[str, AttributeType], depth: int = 1) -> bool:
    return depth <= MAX_TYPE_DEPTH and all(
        _is_plain(name) and _is_scannable(one.attributes, depth + 1) for name, one in attributes.items()
    )


def _is_plain(name: str) -> bool:
    """Whether JSON writes a name as it is."""
    return is_text(name) and all(letter >= " " and letter not in '"\\' for letter in name)


@dataclass(slots=True)
class _Slot:
    node: int
    is_mandatory: bool
    key: bytes = b""
    role: Role = Role.REFUSED
    lane: int = -1
    inner: int = -1
    is_nullable: bool = False


@dataclass(slots=True)
class _Builder:
    slots: list[_Slot] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    mandatory: list[int] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    lanes: int = len(Lane)
    depth: int = 2

    def object(self, is_mandatory: Sequence[bool]) -> range:
        """The slots of a new node."""
        begin = len(self.slots)
        self.slots += [_Slot(len(self.first), one) for one in is_mandatory]
        self.first.append(begin if is_mandatory else -1)
        self.mandatory.append(sum(is_mandatory))
        return range(begin, len(self.slots))

    def set(self, slot: int, key: str, role: Role, lane: int, *, inner: int = -1, is_nullable: bool = False) -> None:
        one = self.slots[slot]
        one.key, one.role, one.lane, one.inner, one.is_nullable = key.encode(), role, lane, inner, is_nullable

    def type(self, attributes: Mapping[str, AttributeType]) -> tuple[ScanColumn, ...]:
        """Adds the nodes of a type."""
        self.data.append(len(self.first))
        lanes = iter(range(len(Lane), 1 << 62))
        columns = self.columns(attributes, lanes, is_nullable=False, depth=2)
        self.lanes = max(self.lanes, next(lanes))
        return columns

    def columns(
        self, attributes: Mapping[str, AttributeType], lanes: Iterator[int], is_nullable: bool, depth: int
    ) -> tuple[ScanColumn, ...]:
        self.depth = max(self.depth, depth)
        slots = self.object([not one.optional for one in attributes.values()])
        found = []
        for slot, (name, one) in zip(slots, attributes.items(), strict=True):
            column = ScanColumn(name, one, next(lanes), is_nullable or one.optional)
            inner, parts = -1, _COORDINATES if one.kind is Kind.POINT else one.attributes
            if one.kind in (Kind.STRUCT, Kind.POINT):
                inner = len(self.first)
                inside = self.columns(parts, lanes, column.is_nullable, depth + 1)
                column = ScanColumn(name, one, column.lane, column.is_nullable, inside)
            role = _ROLES.get(one.kind, Role.REFUSED)
            self.set(slot, name, role, column.lane, inner=inner, is_nullable=column.is_nullable)
            found.append(column)
        return tuple(found)

    def plan(self) -> ScanTables:
        keys = [one.key + b'"' for one in self.slots]
        starts = np.cumsum([0, *map(len, keys)])[:-1]
        rows = [
            [start, len(one.key), one.role, one.lane, one.inner, one.node, one.is_mandatory, one.is_nullable]
            for start, one in zip(starts.tolist(), self.slots, strict=True)
        ]
        return ScanTables(
            np.array(rows, np.int64),
            np.frombuffer(b"".join(keys) + bytes(8), np.uint8),
            np.array(self.first, np.int64),
            np.array(self.mandatory, np.int64),
            np.array([*self.data, -1], np.int64),
            np.full(4 << len(rows).bit_length(), -1, np.int64),
            max(map(len, keys)) - 1,
        )
