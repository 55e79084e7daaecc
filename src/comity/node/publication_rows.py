"""What is published, as rows: the log, what each event in it is, and the numbers of publishers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from comity.node.numbering import SeenNumbers
from comity.server.store.desk import Desk
from comity.server.store.port import Committed, NewEvent


@dataclass(frozen=True, slots=True)
class NewPublication:
    """An event that a client publishes: its line for the log, and what is known of it without reading that."""

    entry: NewEvent
    source: str
    type: str
    time_us: int
    number: int | None = None
    """What its publisher counts its events of that source and type by."""


def publish(desk: Desk, publisher: str, publications: Sequence[NewPublication]) -> list[Committed]:
    """Store those that have not come before; a repeat has the number 0 where only its publisher's number tells it."""
    taken = [one for one in publications if one.number is None or _take_number(desk, publisher, one, one.number)]
    committed = desk.append([one.entry for one in taken], {})
    rows = [
        (answer.sequence, one.type, one.time_us) for one, answer in zip(taken, committed, strict=True) if answer.is_new
    ]
    desk.database.executemany("insert into logged values (?, ?, ?)", rows)
    answers = {id(one): answer for one, answer in zip(taken, committed, strict=True)}
    return [answers.get(id(one), REPEATED) for one in publications]


REPEATED = Committed(0, False)
"""The answer for an event that is known by its publisher's number alone."""


def _take_number(desk: Desk, publisher: str, one: NewPublication, number: int) -> bool:
    """Whether this number is new; from now on it is not."""
    key = (publisher, one.source, one.type)
    find = "select highest, gaps from numbered where publisher = ? and source = ? and type = ?"
    row = desk.database.execute(find, key).fetchone()
    seen = SeenNumbers() if row is None else SeenNumbers(row[0], tuple(map(tuple, json.loads(row[1]))))
    if seen.has(number):
        return False
    seen = seen.with_number(number)
    values = (*key, seen.highest, json.dumps(seen.gaps))
    desk.database.execute("insert or replace into numbered values (?, ?, ?, ?, ?)", values)
    return True


def forget_gone(desk: Desk) -> None:
    """Take away what is known of events that the log no longer has."""
    desk.database.execute("delete from logged where sequence <= ?", (desk.floor,))


def find_logged(
    database: sqlite3.Connection, types: Sequence[str], begin_us: int, end_us: int, after: int, most: int
) -> list[int]:
    """The numbers of events of some types and of a time from a begin to before an end, behind a number, in order."""
    marks = ", ".join("?" * len(types))
    select = (
        f"select sequence from logged where type in ({marks}) and time_us >= ? and time_us < ? and sequence > ?"
        " order by sequence limit ?"
    )
    return [row[0] for row in database.execute(select, (*types, begin_us, end_us, after, most))]
