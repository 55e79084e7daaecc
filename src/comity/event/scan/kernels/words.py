"""What the kernels and those who call them agree on: the tables of the plan, and the numbers in them."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class Role(IntEnum):
    """What a slot's value must be, and what becomes of it; in the order of the JSON that it may be."""

    STRING = 0
    TEXT = 1
    """A string that is not empty."""
    TIMESTAMP = 2
    TIME = 3
    SEQUENCE = 4
    """The last that may be a string, the first that may be a number."""
    INT = 5
    FLOAT = 6
    BOOL = 7
    TYPE = 8
    """The first of three that are names of a node, in the order of the nodes."""
    MODE = 9
    VERSION = 10
    STRUCT = 11
    """The first of three that are objects."""
    POINT = 12
    DATA = 13
    REFUSED = 14
    """A value other than null makes the line doubtful."""
    FORBIDDEN = 15
    """Any value does."""


class Node(IntEnum):
    """The nodes that are always there. Names of types, modes and versions are looked up like keys."""

    ENVELOPE = 0
    TYPES = 1
    MODES = 2
    VERSIONS = 3


class Of(IntEnum):
    """The columns of the table of slots, which fill a line of the cache."""

    START = 0
    """Where its key begins among the keys."""
    LENGTH = 1
    """Bytes of its key, without the quote that follows."""
    ROLE = 2
    LANE = 3
    INNER = 4
    """The node of its object, or the number that a name stands for."""
    NODE = 5
    MANDATORY = 6
    NULLABLE = 7


class ScanTables(NamedTuple):
    """The tables as kernels read them."""

    slots: Longs
    """By slot and `Of`."""
    keys: Bytes
    """The keys of all slots, each with a quote behind it."""
    first: Longs
    """By node: its first slot, or -1."""
    mandatory: Longs
    """By node: how many mandatory slots it has."""
    data: Longs
    """By type: the node of its data."""
    table: Longs
    """Slots by the hash of their node and key, for the kernel to fill."""
    longest: int
    """Bytes of the longest key."""
