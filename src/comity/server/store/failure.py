"""What SQLite says when something is wrong, in the words of the house."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comity.connect.sealed import Purpose
from comity.errors import ComityError, Misuse, Permanent, Place, Retryable

EVENT_STATE = Purpose(
    "what waits for durable subscribers",
    "put back a copy of the folder, or move it away and start again: durable subscribers then subscribe anew, and what "
    "waited for them is lost",
    code="broken-state",
)

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY = 0xFF
"""The part of SQLite's codes that says what kind of error it is."""


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Errors of SQLite in the block as errors of Comity."""
    try:
        yield
    except sqlite3.Error as error:
        raise meaning(error, path) from error


def meaning(error: sqlite3.Error, path: Path) -> ComityError:
    """What an error of SQLite is to the user."""
    place = Place(str(path))
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & _PRIMARY:
        case sqlite3.SQLITE_FULL:
            hint = "make room on the disk; what was not committed was refused, and may be sent again"
            return Retryable("the disk is full, nothing more is stored", code="store-full", place=place, hint=hint)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            hint = "look at the folder and its permissions"
            return Misuse(f"cannot be written: {error}", code="unwritable-folder", place=place, hint=hint)
        case code if code in _DAMAGED:
            return EVENT_STATE.broken(path, str(error))
    hint = "look at the disk; what was acknowledged is there when the store is opened again"
    return Permanent(f"the store failed: {error}", code="store-failed", place=place, hint=hint)
