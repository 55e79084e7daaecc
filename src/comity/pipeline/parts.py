"""Structs that are not put together: a column for each part, wherever only parts of them are wanted.

As one column a struct is repeated whole by every use of one of its parts. Spark does not share the repeats, so text
and planning would grow by as many times as there are uses, for every level of structs inside structs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Parts:
    """A struct by its parts, which are null where the struct is missing."""

    parts: Mapping[str, Column | Parts]
    tests: tuple[Column, ...]
    """The struct is there where one of these is not null."""

    @property
    def present(self) -> Column:
        """Whether the struct is there; never null."""
        return reduce(or_, [test.isNotNull() for test in self.tests])

    @property
    def together(self) -> Column:
        """The struct as one column, for the few places that want all of it."""
        return F.when(self.present, F.struct(*(whole(part).alias(name) for name, part in self.parts.items())))

    def at(self, path: tuple[str, ...]) -> Column | Parts:
        """What stands at a path inside."""
        return inside(self.parts[path[0]], path[1:])


def inside(value: Column | Parts, path: tuple[str, ...]) -> Column | Parts:
    """What stands at a path inside a value; the value itself at an empty one."""
    if not path:
        return value
    if isinstance(value, Parts):
        return value.at(path)
    return inside(value.getField(path[0]), path[1:])


def whole(value: Column | Parts) -> Column:
    """A value as one column."""
    return value.together if isinstance(value, Parts) else value


def is_present(value: Column | Parts) -> Column:
    """Whether a value is there; never null."""
    return value.present if isinstance(value, Parts) else value.isNotNull()


def tests_of(value: Column | Parts) -> tuple[Column, ...]:
    """Columns of which one is not null where the value is there."""
    return value.tests if isinstance(value, Parts) else (value,)
