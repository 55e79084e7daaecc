"""Events about the network: who subscribed and advertised, and why one does so no more."""

from __future__ import annotations

from comity.event.event import Event
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Entry, Topic, Update
from comity.route.notices import Cause
from comity.route.policy import Policy


def _broker(**settings: bool) -> RoutingBroker:
    return RoutingBroker("here", Policy(notices=True, **settings), FilterPool())


def test_every_change_of_a_table_is_told_of_once() -> None:
    broker = _broker(advertisements=True)
    broker.link_up("there", 0)
    broker.subscribe("Ada", 1, broker.pool.read("x > 1"), 1)
    broker.advertise("Eve", 1, broker.pool.read("x > 0"), 2)
    entry = Entry(1, broker.pool.read("x < 9"))
    broker.receive("there", Update(Topic.SUBSCRIPTIONS, (entry,), whole=True), 3)
    broker.leave("Ada", 4, Cause.FAILURE)
    broker.unadvertise("Eve", 1, 5)
    broker.link_down("there", 6)
    told = [(notice.type.rpartition(".")[2], notice.by, notice.data()["filter"], notice.cause.value, notice.time)
            for notice in broker.take_notices()]  # fmt: skip
    assert told == [
        ("Subscribed", "Ada", "x > 1", "call", 1),
        ("Advertised", "Eve", "x > 0", "call", 2),
        ("Subscribed", "there", "x < 9", "call", 3),
        ("Unsubscribed", "Ada", "x > 1", "failure", 4),
        ("Unadvertised", "Eve", "x > 0", "call", 5),
        ("Unsubscribed", "there", "x < 9", "failure", 6),
    ]
    assert broker.take_notices() == []


def test_who_subscribes_to_notices_is_not_told_of() -> None:
    broker = _broker()
    broker.subscribe("Ada", 1, broker.pool.read("event.type = 'comity.network.Subscribed'"), 0)
    assert broker.take_notices() == []
    broker.subscribe("Bob", 1, broker.pool.read("x > 1"), 0)
    [notice] = broker.take_notices()
    event = Event("1", "/here", notice.type, data=notice.data())
    assert broker.route(None, event).clients == {"Ada": (1,)}


def test_clients_publish_no_notices() -> None:
    broker = _broker()
    assert not broker.may_publish("Ada", Event("1", "/a", "comity.network.Subscribed"))
    assert broker.may_publish("Ada", Event("1", "/a", "comity.Network"))


def test_with_advertisements_clients_publish_what_they_advertised() -> None:
    broker = _broker(advertisements=True)
    broker.advertise("Ada", 1, broker.pool.read("x > 1"), 0)
    assert broker.may_publish("Ada", Event("1", "/a", "T", data={"x": 2}))
    assert not broker.may_publish("Ada", Event("1", "/a", "T", data={"x": 1}))
    assert not broker.may_publish("Bob", Event("1", "/a", "T", data={"x": 2}))
