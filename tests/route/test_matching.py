"""Batches go where their events would go one by one, whatever the filters, the events, and the changes between."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.route.broker import Directions, RoutingBroker
from comity.route.filters import FilterPool
from comity.route.matching import SINGLY, BatchMatcher
from comity.route.messages import Entry, Topic, Update
from comity.route.policy import Policy, Strategy
from comity.testing.filters import open_filters

_VALUES: list[Any] = [-3, 0, 1, 2, 0.5, -2.5, 2**53 + 1, "", "a", "ab", "aba", True, False, None, [1], {"n": 1}, {}]


def _line(chance: random.Random, number: int) -> bytes:
    data = {name: chance.choice(_VALUES) for name in ("n", "k", "s", "t", "b", "any") if chance.random() < 0.8}
    data |= {"n": chance.randint(-3, 3), "s": chance.choice(("a", "b", "ab"))} if chance.random() < 0.7 else {}
    data["d"] = chance.choice((None, 3, {"n": chance.randint(-3, 3), "w": chance.choice(("a", "ba"))}))
    event = {"id": str(number), "source": "/a", "type": chance.choice(("Base", "Other", "x.Base")), "data": data}
    return b"no event" if chance.random() < 0.02 else json.dumps(event).encode()


def _same(found: Directions, expected: Directions) -> None:
    assert {c: sorted(map(str, k)) for c, k in found.clients.items()} == {
        c: sorted(map(str, k)) for c, k in expected.clients.items()
    }
    for name in ("neighbours", "durable_clients", "durable_neighbours"):
        assert set(getattr(found, name)) == set(getattr(expected, name))


def _check(broker: RoutingBroker, matcher: BatchMatcher, lines: list[bytes], origin: str | None) -> None:
    found = matcher.match(origin, lines)
    for row, line in enumerate(lines):
        event = decode(line)
        if isinstance(event, Event):
            _same(found.of(row), broker.route(origin, event))
        else:
            assert isinstance(found.refused[row], Rejected)
            assert found.of(row) == Directions()


class _Changing:
    """A broker with two neighbours and two clients, which change their minds."""

    def __init__(self, strategy: Strategy, texts: list[str], seed: int) -> None:
        self.chance, self.texts = random.Random(seed), texts
        self.pool = FilterPool()
        self.broker = RoutingBroker("here", Policy(strategy), self.pool)
        self.matcher = BatchMatcher(self.broker)
        self.held: list[tuple[str, int]] = []
        self.told: dict[str, list[int]] = {"left": [], "right": []}
        self.next = 0
        for name in self.told:
            self.broker.link_up(name, 0)
            self.broker.receive(name, Update(Topic.SUBSCRIPTIONS, whole=True), 0)

    def change(self) -> None:
        self.next += 1
        filter, durable = self.pool.read(self.chance.choice(self.texts)), self.chance.random() < 0.3
        name = self.chance.choice(("left", "right", "Ada", "Bob"))
        if name in self.told:
            told = self.told[name]
            removed = (told.pop(self.chance.randrange(len(told))),) if told and self.chance.random() < 0.4 else ()
            update = Update(Topic.SUBSCRIPTIONS, (Entry(self.next, filter, durable=durable),), removed)
            told.append(self.next)
            self.broker.receive(name, update, 0)
        elif self.held and self.chance.random() < 0.4:
            client, key = self.held.pop(self.chance.randrange(len(self.held)))
            self.broker.unsubscribe(client, key, 0)
        else:
            self.held.append((name, self.next))
            self.broker.subscribe(name, self.next, filter, 0, durable=durable)


@settings(deadline=None, max_examples=1_000 if os.environ.get("COMITY_PROFILE") == "nightly" else 25)
@given(open_filters(12), st.integers(0, 1000), st.sampled_from([Strategy.COVERING, Strategy.SIMPLE, Strategy.FLOODING]))
def test_batches_go_where_single_events_go(texts: list[str], seed: int, strategy: Strategy) -> None:
    world = _Changing(strategy, texts, seed)
    for number in range(4):
        for _ in range(8):
            world.change()
        world.matcher.follow()
        size = world.chance.choice((1, SINGLY - 1, SINGLY, 60))
        lines = [_line(world.chance, at) for at in range(size)]
        _check(world.broker, world.matcher, lines, (None, "left", "right", None)[number])


@pytest.mark.parametrize("strategy", [Strategy.SIMPLE, Strategy.COVERING])
def test_the_index_of_links_has_only_what_no_other_filter_covers(strategy: Strategy) -> None:
    world = _Changing(strategy, ["n > 1"], 1)
    texts = ("n > 0", "n > 1", "n > 2", "n > 3") if strategy is Strategy.SIMPLE else ("n > 0",)
    entries = tuple(Entry(number, world.pool.read(text)) for number, text in enumerate(texts))
    world.broker.receive("left", Update(Topic.SUBSCRIPTIONS, entries), 0)
    world.matcher.follow()
    assert len(world.matcher._index.numbers) == 1
    world.broker.receive("left", Update(Topic.SUBSCRIPTIONS, removed=(0,)), 0)
    world.matcher.follow()
    assert [filter.text for filter in world.matcher._index.numbers] == ["n > 1"] * (strategy is Strategy.SIMPLE)
