"""What is taken away: what every client has acknowledged, and, whoever still waits, what is too old or too much.

Both ends of what is held are numbers, and age and bytes rise with the number, so each bound is a number, too: that of
the last event to go. What a bound takes from a client that had not acknowledged it is counted at its cursor.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from comity.limits import limits
from comity.server.store.desk import Desk, read_subscriptions
from comity.server.store.port import Wanted
from comity.server.store.reading import read_lines

_MOST_AT_ONCE = 5_000
"""Events that one transaction takes away: others wait for it."""
_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long things are kept: what all have acknowledged for `history_s` seconds, and anything up to the bounds."""

    history_s: float
    max_days: int
    max_bytes: int

    @classmethod
    def of_limits(cls, history_s: float) -> Retention:
        """The bounds in force."""
        return cls(history_s, limits().max_stored_days, limits().max_stored_bytes)


def tidy(desk: Desk, retention: Retention, now_s: float, wanted: Wanted) -> bool:
    """Take away some of what need not be kept, inside of a transaction; whether there is more of it."""
    held = _Held(desk)
    forced = max(held.last_before(now_s * 1e6 - retention.max_days * _DAY_US), held.last_beyond(retention.max_bytes))
    wished = max(forced, min(_slowest(desk), held.last_before((now_s - retention.history_s) * 1e6)))
    floor = min(wished, desk.floor + _MOST_AT_ONCE)
    if floor <= desk.floor:
        return False
    _count_lost(desk.database, min(floor, forced), wanted)
    desk.database.execute("delete from event where sequence <= ?", (floor,))
    desk.floor = floor
    desk.forget_old_identities()
    return floor < wished


class _Held:
    """The events that are held, looked at by their numbers."""

    def __init__(self, desk: Desk) -> None:
        self._database, self._through = desk.database, desk.through
        self._numbers = range(desk.floor + 1, desk.last + 1)

    def last_before(self, at_us: float) -> int:
        """The last one that was committed by a time, or the one before the first."""
        return self._numbers.start - 1 + bisect_right(self._numbers, at_us, key=self._at)

    def last_beyond(self, size_bytes: int) -> int:
        """The last one that is too much beside those behind it, or the one before the first."""
        return self._numbers.start - 1 + bisect_left(self._numbers, self._through - size_bytes, key=self._before)

    def _at(self, number: int) -> int:
        return self._value("at_us", number)

    def _before(self, number: int) -> int:
        return self._value("through - length(line)", number)

    def _value(self, what: str, number: int) -> int:
        (value,) = self._database.execute(f"select {what} from event where sequence = ?", (number,)).fetchone()
        return int(value)


def _slowest(desk: Desk) -> int:
    (position,) = desk.database.execute("select min(position) from cursor").fetchone()
    return desk.last if position is None else int(position)


def _count_lost(database: sqlite3.Connection, floor: int, wanted: Wanted) -> None:
    """Bring the cursors that are behind what is gone up to there, with the number of events that they lose."""
    behind = database.execute("select client, position from cursor where position < ?", (floor,)).fetchall()
    for client, position in behind:
        lost = wanted(read_subscriptions(database, client), read_lines(database, position, floor))
        change = "update cursor set position = ?, lost = lost + ? where client = ?"
        database.execute(change, (floor, lost, client))
