"""What is taken away, against a model that keeps lists: by the slowest cursor, by age and by bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.limits import limited
from comity.server.store import Keeping, StoredEvent, StoredSubscription, open_store
from comity.server.store.desk import Desk
from comity.server.store.port import any_is_wanted
from comity.server.store.reading import read_cursors, read_figures, read_lines
from comity.server.store.retention import Retention, tidy
from comity.server.store.schema import opened
from tests.store.events import event, number_of

DAY_S = 86_400.0
CLIENTS = ("ann", "bob")


@dataclass
class Model:
    """What ought to be there: events with their times, and of each client how far it is and what it lost."""

    events: dict[int, tuple[float, bytes]] = field(default_factory=dict)
    last: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)

    def append(self, lines: Sequence[bytes], now: float) -> None:
        for line in lines:
            self.last += 1
            self.events[self.last] = (now, line)

    def tidy(self, retention: Retention, now: float) -> None:
        slowest = min(self.positions.values(), default=self.last)
        size = 0
        for number in sorted(self.events, reverse=True):
            at, line = self.events[number]
            size += len(line)
            forced = at <= now - retention.max_days * DAY_S or size > retention.max_bytes
            taken = number <= slowest and at <= now - retention.history_s
            if forced or taken:
                self._remove(number, line)

    def _remove(self, number: int, line: bytes) -> None:
        del self.events[number]
        for client, position in self.positions.items():
            if number > position and is_wanted(client, line):
                self.lost[client] += 1

    def settle(self) -> None:
        """Cursors are never behind what is gone."""
        floor = min(self.events, default=self.last + 1) - 1
        self.positions = {client: max(position, floor) for client, position in self.positions.items()}


def is_wanted(client: str, line: bytes) -> bool:
    return client == "ann" or number_of(line) % 3 == 0


def wanted(subscriptions: Sequence[StoredSubscription], events: Sequence[StoredEvent]) -> int:
    (client,) = {one.client for one in subscriptions}
    return sum(1 for one in events if is_wanted(client, one.line))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6)),
        st.tuples(st.just("advance"), st.tuples(st.sampled_from(CLIENTS), st.integers(0, 5))),
        st.tuples(st.just("subscribe"), st.sampled_from(CLIENTS)),
        st.tuples(st.just("leave"), st.sampled_from(CLIENTS)),
        st.tuples(st.just("wait"), st.floats(0, 2 * DAY_S)),
        st.tuples(st.just("tidy"), st.none()),
    ),
    max_size=30,
)


@given(STEPS, st.sampled_from([0.0, DAY_S / 2]), st.sampled_from([350, 10_000]))
@settings(max_examples=60)
def test_what_is_held_and_what_is_lost_is_that_of_the_model(steps: object, history_s: float, most: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        follow(Path(folder), steps, Retention(history_s, max_days=3, max_bytes=most))


def follow(folder: Path, steps: object, retention: Retention) -> None:
    now = [1_000_000.0]
    desk, model = Desk(opened(folder), lambda: now[0]), Model()
    for what, value in steps:  # type: ignore[attr-defined]
        desk.begin()
        match what:
            case "append":
                new = [event(model.last + number) for number in range(value)]
                desk.append(new, {})
                model.append([one.line for one in new], now[0])
            case "advance" if value[0] in model.positions:
                client, by = value
                model.positions[client] = min(model.positions[client] + by, model.last)
                desk.advance(client, model.positions[client], 0)
            case "subscribe":
                desk.keep(StoredSubscription(value, "all", "true"))
                model.lost.setdefault(value, 0)
                model.positions.setdefault(value, model.last)
            case "leave":
                desk.forget(value)
                model.positions.pop(value, None)
                model.lost.pop(value, None)
            case "wait":
                now[0] += value
            case "tidy":
                while tidy(desk, retention, now[0], wanted):
                    pass
                model.tidy(retention, now[0])
                model.settle()
        desk.commit()
        check(desk.database, model)
    desk.database.close()


def check(database: sqlite3.Connection, model: Model) -> None:
    held = read_lines(database, 0, model.last)
    assert [(one.sequence, one.line) for one in held] == [(n, model.events[n][1]) for n in sorted(model.events)]
    cursors = read_cursors(database)
    assert {one.client: one.position for one in cursors.values()} == model.positions
    assert {one.client: one.lost for one in cursors.values()} == model.lost
    figures = read_figures(database)
    assert (figures.events, figures.last) == (len(held), model.last)
    assert figures.size_bytes == sum(len(one.line) for one in held)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    database = opened(tmp_path)
    yield Desk(database, lambda: 1_000.0)
    database.close()


def test_much_goes_in_several_transactions(desk: Desk) -> None:
    desk.begin()
    desk.append([event(number) for number in range(12_000)], {})
    desk.commit()
    goes = 0
    is_more = True
    while is_more:
        desk.begin()
        is_more = tidy(desk, Retention(0.0, 30, 10**9), 1_000.0, wanted)
        desk.commit()
        goes += 1
    assert goes == 3
    assert desk.floor == 12_000


async def test_store_tidies_by_itself_and_tells_what_was_lost(tmp_path: Path) -> None:
    with limited(max_stored_bytes=1_000):
        async with open_store(tmp_path, Keeping(wanted=wanted)) as store:
            await store.keep(StoredSubscription("bob", "some", "true"))
            await store.append([event(number) for number in range(30)])
            while (await store.figures()).first == 1:
                await store.append([event(0)])
            (cursor,) = (await store.cursors()).values()
            figures, page = await store.figures(), await store.read(0)
            await store.advance("bob", cursor.position, told=cursor.lost)
            assert (await store.cursors())["bob"].lost == 0
    assert figures.size_bytes == 1_000
    assert cursor.position == page.floor == 20
    assert cursor.lost == 7


async def test_events_before_a_subscription_are_not_lost_to_it(tmp_path: Path) -> None:
    subscription = StoredSubscription("ann", "all", "true", since=2)
    events = [StoredEvent(number, b"") for number in range(1, 5)]
    assert any_is_wanted([subscription], events) == 2
