"""Where the rules differ from the paper's wording, and the faults that its wording would bring.

Each of them is a scenario that holds, and a mutant of the rules in which it does not.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.route.invariants import check_all, check_deliveries
from tests.route.network import Network, small_policy
from tests.route.small_world import SmallFilter

from comity.event.event import Event
from comity.route.broker import RoutingBroker
from comity.route.choosing.covering import Uncovered
from comity.route.filters import FilterPool
from comity.route.messages import Entry, Topic, Update
from comity.route.policy import Policy, Strategy
from comity.route.wanted import Demand, Holder, Wanted

WIDE, NARROW, NARROWER = SmallFilter((0, 6)), SmallFilter((1, 3)), SmallFilter((2, 2))
Mutant = Callable[[pytest.MonkeyPatch], None]


def _covering(edges: list[tuple[int, int]]) -> Network:
    return Network(small_policy(Strategy.COVERING), edges)


# 1: what the broker's own clients want counts when a cover is taken back


def own_clients_are_told_of_again() -> None:
    network = _covering([(0, 1), (1, 2)])
    network.subscribe("0", "Ada", 1, WIDE)
    network.settle()
    network.subscribe("1", "Bob", 1, NARROW)
    network.unsubscribe("0", "Ada", 1)
    network.settle()
    check_all(network)
    check_deliveries(network)


def _forget_own_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    withdraw, own = Uncovered._withdraw, set[str]()
    hold = Demand.hold

    def note(self: Demand, held: object) -> None:
        own.add(held.filter.text)  # type: ignore[attr-defined]
        hold(self, held)  # type: ignore[arg-type]

    def forget(self: Uncovered, filter: object) -> None:
        withdraw(self, filter)  # type: ignore[arg-type]
        for orphan in list(self.waiting):
            if orphan.text in own:
                del self.waiting[orphan]

    monkeypatch.setattr(Demand, "hold", note)
    monkeypatch.setattr(Uncovered, "_withdraw", forget)


# 2: taking back and telling again are one message


def no_event_is_lost_between_taking_back_and_telling_again() -> None:
    network = _covering([(0, 1)])
    network.subscribe("0", "Ada", 1, WIDE)
    network.subscribe("0", "Bob", 1, NARROW)
    network.settle()
    network.unsubscribe("0", "Ada", 1)
    while network.queues["0", "1"]:
        network.brokers["1"].receive("0", network.queues["0", "1"].popleft(), 0.0)  # type: ignore[arg-type]
        assert network.known("1", "0") >= NARROW.events


def _tell_in_two_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    def split(self: Network, sender: str, outgoing: list[tuple[str, Update]]) -> None:
        for receiver, update in outgoing:
            parts = [update]
            if update.added and update.removed:
                parts = [Update(update.topic, (), update.removed), Update(update.topic, update.added)]
            self.queues[sender, receiver].extend(parts)

    monkeypatch.setattr(Network, "send", split)


# 3: of what a cover hid, only what nothing else covers is told


def only_what_nothing_else_covers_is_told_again() -> None:
    network = _covering([(0, 1)])
    for key, wanted in enumerate((WIDE, NARROW, NARROWER)):
        network.subscribe("0", "Ada", key, wanted)
    network.settle()
    network.unsubscribe("0", "Ada", 0)
    network.settle()
    check_all(network)


def _tell_all_that_was_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def show(self: Uncovered, filter: object) -> None:
        interest = self.waiting.pop(filter, None)  # type: ignore[call-overload]
        if interest is not None:
            self._show(interest)
            self._covers.keep(interest.filter)

    monkeypatch.setattr(Uncovered, "place", show)


# 4: of two equal filters, taking one back leaves the other


def taking_one_of_two_equal_ones_back_leaves_the_other() -> None:
    network = _covering([(0, 1), (1, 2)])
    network.subscribe("0", "Ada", 1, NARROW)
    network.subscribe("0", "Ada", 2, NARROW)
    network.subscribe("2", "Bob", 1, NARROW)
    network.settle()
    network.unsubscribe("0", "Ada", 1)
    network.settle()
    check_all(network)
    network.unsubscribe("0", "Ada", 2)
    network.settle()
    check_all(network)


def _take_filters_for_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    remove = Demand.remove

    def remove_all(self: Demand, filter: object, holder: Holder) -> bool:
        wanted = self.by_filter.get(filter)  # type: ignore[call-overload]
        if wanted is None or holder not in wanted.holders:
            return False
        wanted.holders[holder] = 1
        return remove(self, filter, holder)  # type: ignore[arg-type]

    monkeypatch.setattr(Demand, "remove", remove_all)


# A merger is made of what is wanted beyond the link: a neighbour never gets its own interest back


def nobody_gets_a_merger_with_its_own_interest() -> None:
    network = Network(small_policy(Strategy.MERGING), [(1, 3), (2, 3)])
    network.subscribe("1", "Ada", 1, SmallFilter((0, 2)))
    network.subscribe("2", "Bob", 1, SmallFilter((3, 5)))
    network.settle()
    check_all(network)
    assert [entry.filter.text for entry in network.brokers["3"].told("1", Topic.SUBSCRIPTIONS)] == ["a between 3 and 5"]


def _merge_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = Wanted.beyond
    monkeypatch.setattr(Wanted, "beyond", lambda self, link: beyond(self, "nobody"))


SCENARIOS: list[tuple[Callable[[], None], Mutant]] = [
    (own_clients_are_told_of_again, _forget_own_clients),
    (no_event_is_lost_between_taking_back_and_telling_again, _tell_in_two_messages),
    (only_what_nothing_else_covers_is_told_again, _tell_all_that_was_hidden),
    (taking_one_of_two_equal_ones_back_leaves_the_other, _take_filters_for_their_texts),
    (nobody_gets_a_merger_with_its_own_interest, _merge_for_everybody),
]
_NAMES = [scenario.__name__ for scenario, _ in SCENARIOS]


@pytest.mark.parametrize("scenario", [scenario for scenario, _ in SCENARIOS], ids=_NAMES)
def test_the_corrected_rules_hold(scenario: Callable[[], None]) -> None:
    scenario()


@pytest.mark.parametrize(("scenario", "mutant"), SCENARIOS, ids=_NAMES)
def test_without_the_correction_they_do_not(
    scenario: Callable[[], None], mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        scenario()


# The examples of the paper


def test_the_stock_quote_of_the_paper_is_delivered_to_who_subscribed() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(), pool)
    broker.subscribe("Ada", 1, pool.read("is StockQuote and name = 'Foo Inc.' and price not between 30 and 40"), 0)
    quote = Event("1", "/exchange", "StockQuote", data={"name": "Foo Inc.", "price": 45.0})
    assert broker.route(None, quote).clients == {"Ada": (1,)}
    assert broker.route(None, quote.replace(data={"name": "Foo Inc.", "price": 35.0})).clients == {}


def test_a_covered_subscription_is_told_to_nobody_and_a_wider_one_replaces_it() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(), pool)
    broker.link_up("there", 0)
    [(_, first)] = broker.subscribe("Ada", 1, pool.read("price < 10"), 0)
    assert broker.subscribe("Ada", 2, pool.read("price < 5"), 0) == []
    [(_, wider)] = broker.subscribe("Ada", 3, pool.read("price < 20"), 0)
    assert isinstance(first, Update)
    assert isinstance(wider, Update)
    assert wider.removed == (first.added[0].number,)
    [(_, back)] = broker.unsubscribe("Ada", 3, 0)
    assert isinstance(back, Update)
    assert [entry.filter.text for entry in back.added] == ["price < 10"]


def test_a_new_advertisement_brings_subscriptions_and_its_end_takes_them_back() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(advertisements=True), pool)
    broker.link_up("there", 0)
    assert broker.subscribe("Ada", 1, pool.read("price < 10"), 0) == []
    offer = Entry(1, pool.read("price between 5 and 50"))
    [(_, brought)] = broker.receive("there", Update(Topic.ADVERTISEMENTS, (offer,), whole=True), 0)
    assert isinstance(brought, Update)
    assert [entry.filter.text for entry in brought.added] == ["price < 10"]
    assert broker.subscribe("Ada", 2, pool.read("price > 60"), 0) == []
    [(_, taken)] = broker.receive("there", Update(Topic.ADVERTISEMENTS, removed=(1,)), 0)
    assert taken == Update(Topic.SUBSCRIPTIONS, removed=(brought.added[0].number,))


def test_what_must_not_be_missed_is_hidden_only_by_what_must_not_be_missed() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(), pool)
    broker.link_up("there", 0)
    broker.subscribe("Ada", 1, pool.read("price < 10"), 0)
    [(_, update)] = broker.subscribe("Bob", 1, pool.read("price < 5"), 0, durable=True)
    assert isinstance(update, Update)
    assert [(entry.filter.text, entry.durable) for entry in update.added] == [("price < 5", True)]
    [(_, update)] = broker.subscribe("Bob", 2, pool.read("price < 10"), 0, durable=True)
    assert isinstance(update, Update)
    assert [(entry.filter.text, entry.durable) for entry in update.added] == [("price < 10", True)]
    assert len(update.removed) == 2


def test_a_large_change_is_one_message_after_many_small_steps() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(slice=3), pool)
    broker.link_up("there", 0)
    broker.subscribe("Ada", 0, pool.read("x >= 0"), 0)
    for number in range(1, 11):
        broker.subscribe("Ada", number, pool.read(f"x = {number}"), 0)
    steps = [broker.unsubscribe("Ada", 0, 0)]
    while broker.has_work:
        steps.append(broker.work())
    assert [len(step) for step in steps] == [0, 0, 0, 1]
    [(_, update)] = steps[-1]
    assert isinstance(update, Update)
    assert (len(update.added), len(update.removed)) == (10, 1)


def test_mergers_are_made_anew_when_a_part_goes() -> None:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(Strategy.MERGING), pool)
    broker.link_up("there", 0)
    for number in (1, 2, 3):
        broker.subscribe("Ada", number, pool.read(f"s = 'a{number}' and x > 1"), 0)
    assert [entry.filter.text for entry in broker.told("there", Topic.SUBSCRIPTIONS)] == [
        "s in ('a1', 'a2', 'a3') and x > 1"
    ]
    broker.unsubscribe("Ada", 2, 0)
    assert [entry.filter.text for entry in broker.told("there", Topic.SUBSCRIPTIONS)] == ["s in ('a1', 'a3') and x > 1"]
