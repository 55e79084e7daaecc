"""The rows of a table as one value of the tree: what is asked of all of them is worked out once.

Tables of a hundred thousand rows stand in mappings, and a mapping is looked at dozens of times when it is checked. So a
question about all rows is answered from here, in one pass over them at the first time.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import Any

from comity.event.kinds import NUMBERS, Kind, Value, kind_of
from comity.keyed import Keyed, digest

_INDEXED = (str, bool, int, float)
"""Kinds of keys that are found by their hash: equal ones have the same, and no text among them is read as a time."""


class TableRows(Keyed, tuple[tuple[Value, Value], ...]):
    """Pairs of a key and the value beside it; a tuple like any other.

    >>> rows = TableRows([("low", 1), ("high", 3), ("low", 2)])
    >>> rows.first_of("low"), rows.effective
    (('low', 1), (('low', 1), ('high', 3)))
    """

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    @cached_property
    def key(self) -> str:
        if Kind.TIMESTAMP in self.key_kinds | self.value_kinds:
            return digest(tuple(self))
        return blake2b(repr(tuple(self)).encode(), digest_size=16).hexdigest()  # of many rows, in one step

    def __reduce__(self) -> tuple[Any, ...]:
        return TableRows, (tuple(self),)

    def can_find(self, wanted: Value | None) -> bool:
        """Whether `first_of` answers for a key."""
        return isinstance(wanted, _INDEXED) and self._index is not None

    def first_of(self, wanted: Value) -> tuple[Value, Value] | None:
        """The first row whose key equals a value; only where `can_find` says so."""
        assert self._index is not None
        return self._index.get(identity(wanted))

    @cached_property
    def _index(self) -> dict[object, tuple[Value, Value]] | None:
        if not all(isinstance(key, _INDEXED) for key, _ in self):
            return None
        found: dict[object, tuple[Value, Value]] = {}
        for row in self:
            found.setdefault(identity(row[0]), row)
        return found

    @cached_property
    def effective(self) -> TableRows:
        """The rows that are ever found: the first one of each key."""
        if self._index is not None:
            return self if len(self._index) == len(self) else TableRows(self._index.values())
        found: dict[object, tuple[Value, Value]] = {}
        for row in self:
            found.setdefault(identity(row[0]), row)
        return TableRows(found.values())

    @cached_property
    def collision(self) -> tuple[Value, Value] | None:
        """Two keys that are found, and have one value."""
        first: dict[object, Value] = {}
        for key, value in self.effective:
            other = first.setdefault(identity(value), key)
            if other is not key:
                return other, key
        return None

    @cached_property
    def inverse(self) -> TableRows:
        """From the values to the keys that are found."""
        return TableRows((value, key) for key, value in self.effective)

    @cached_property
    def key_kinds(self) -> frozenset[Kind | None]:
        return frozenset(kind_of(key) for key, _ in self)

    @cached_property
    def value_kinds(self) -> frozenset[Kind | None]:
        return frozenset(kind_of(value) for _, value in self)


def identity(value: Value) -> object:
    """What tells a value from others: equal numbers are one, whatever their kind."""
    kind = kind_of(value)
    return Kind.FLOAT if kind in NUMBERS else kind, value
