"""A node gives the same events to the same receivers one by one and by its indexes."""

from __future__ import annotations

from random import Random

import pytest
from tests.server.peers import line

from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Entry, Topic, Update
from comity.route.policy import Policy, Strategy
from comity.server.matching import EventMatching
from comity.server.sharing import BatchSharing
from comity.wire import EventBatch


def _broker(strategy: Strategy, chance: Random) -> RoutingBroker:
    pool = FilterPool()
    broker = RoutingBroker("a", Policy(strategy), pool)
    for name in ("x", "y"):
        broker.link_up(name, 0)
        entries = [
            Entry(n, pool.read(f"n > {chance.randint(0, 40)}"), durable=chance.random() < 0.3)
            for n in range(chance.randint(0, 4))
        ]
        broker.receive(name, Update(Topic.SUBSCRIPTIONS, tuple(entries), whole=True), 0)
    for number in range(8):
        low = chance.randint(0, 40)
        filter = pool.read(f"n between {low} and {low + 5}")
        broker.subscribe(f"client:{number % 3}", number, filter, 0, durable=chance.random() < 0.3)
    broker.subscribe("link:z", "key", pool.read("n = 3"), 0, durable=True)
    return broker


def _plain(sharing: BatchSharing) -> object:
    shares = {
        key: (list(share.rows), [sorted(one) for one in share.marks], share.durable)
        for key, share in sharing.shares.items()
    }
    return shares, sharing.durable, sharing.unwanted, set(sharing.refused)


@pytest.mark.parametrize("strategy", [Strategy.COVERING, Strategy.FLOODING, Strategy.SIMPLE])
def test_the_shares_of_a_batch_are_the_same_in_both_ways(strategy: Strategy) -> None:
    chance = Random(3)
    for _ in range(4):
        broker = _broker(strategy, chance)
        singly, indexed = EventMatching(broker), EventMatching(broker)
        indexed.load_now()
        lines = [line(chance.randint(0, 50)) for _ in range(60)] + [b"{}", b"nonsense"]
        chance.shuffle(lines)
        for batch in (EventBatch.of(lines), EventBatch.of(lines[:5])):
            for neighbour, origin in ((None, "client:1"), ("x", "link:x"), ("y", "link:y")):
                one = singly.share(neighbour, origin, batch)
                assert _plain(one) == _plain(indexed.share(neighbour, origin, batch))
                assert origin not in one.shares or origin.startswith("client:")


def test_indexes_are_loaded_when_there_is_much_to_test() -> None:
    matching = EventMatching(_broker(Strategy.COVERING, Random(3)))
    batch = EventBatch.of([line(n) for n in range(50)])
    assert not matching.is_loading
    while not matching.is_loading:
        matching.share(None, "client:1", batch)
    matching.load_now()
    assert matching.share(None, "client:1", batch).shares
