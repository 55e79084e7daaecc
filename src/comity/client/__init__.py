"""A place in a network of brokers: subscribe, publish, advertise, with `await` or without."""

from comity.client.blocking import BlockingSession, BlockingSubscription
from comity.client.connecting import Connecting, connect
from comity.client.notices import EventsLost, LinkDown, LinkUp, NetworkNotice
from comity.client.publishing import EventsRefused
from comity.client.session import Advertisement, NetworkSession
from comity.client.subscription import EventSubscription

__all__ = [
    "Advertisement",
    "BlockingSession",
    "BlockingSubscription",
    "Connecting",
    "EventSubscription",
    "EventsLost",
    "EventsRefused",
    "LinkDown",
    "LinkUp",
    "NetworkNotice",
    "NetworkSession",
    "connect",
]
