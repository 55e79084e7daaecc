"""Where the appendix of the thesis has a place for what messages say; the rest stands in one attribute, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.gateway.messages.bodies import (
    Acceptance,
    Body,
    ContractConsent,
    ContractDeparture,
    ContractProposal,
    ContractRefusal,
    ContractTerms,
    DiscoveryAnswer,
    DiscoveryQuestion,
    EventNotice,
    MessageKind,
    NodeRequest,
    ObserverRequest,
    ObserverWithdrawal,
    OfferWithdrawal,
    Rejection,
    RoutingUpdate,
    SubscriptionWithdrawal,
    TypeAddition,
    TypeOffer,
    TypeRemoval,
    TypeSubscription,
)

MESSAGE_URI = "http://www.cl.cam.ac.uk/opera/eventfed"
"""The namespace of the elements."""
MORE_URI = "urn:comity:gateway"
"""The namespace of the attribute with what the appendix has no place for."""
STYLESHEET_URI = "http://www.w3.org/1999/XSL/Transform"


@dataclass(frozen=True, slots=True)
class XmlPlace:
    """How a body is written: an element for its kind, and inside of it one for what is done."""

    kind: MessageKind | None
    """None: an answer, whose kind is that of what it answers."""
    action: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    """By field, the attribute of the inner element."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """By field, the namespace by which its elements are told from those of other fields; empty: the rest."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By field, the element inside that has its text."""
    needs: str = ""
    """The field that the appendix asks for; where it is empty, what is said cannot be said by the appendix alone."""
    is_new: bool = False
    """Whether the appendix has nothing like it."""


_TYPENAME = {"typename": "typename"}
_CONTRACT_TYPE = {"contracttypename": "contracttypename"}
PLACES: Mapping[type[Body], XmlPlace] = {
    NodeRequest: XmlPlace(MessageKind.CONTROL, "request"),
    RoutingUpdate: XmlPlace(MessageKind.ROUTING, ""),
    TypeAddition: XmlPlace(
        MessageKind.TYPE, "addtype", _TYPENAME | {"extends": "extends"}, {"definition": ""}, needs="definition"
    ),
    TypeRemoval: XmlPlace(MessageKind.TYPE, "removetype", _TYPENAME, is_new=True),
    TypeOffer: XmlPlace(MessageKind.ADVERTISEMENT, "advertise", _TYPENAME),
    OfferWithdrawal: XmlPlace(MessageKind.ADVERTISEMENT, "unadvertise", _TYPENAME, is_new=True),
    TypeSubscription: XmlPlace(
        MessageKind.SUBSCRIPTION, "subscribe", _TYPENAME, texts={"fedreg": "fedreg"}, needs="fedreg"
    ),
    SubscriptionWithdrawal: XmlPlace(MessageKind.SUBSCRIPTION, "unsubscribe", _TYPENAME, is_new=True),
    EventNotice: XmlPlace(
        MessageKind.NOTIFICATION,
        "notify",
        _TYPENAME | {"subscription": "subscription"},
        {"instances": ""},
        needs="instances",
    ),
    ContractTerms: XmlPlace(MessageKind.CONTRACT, "contracting", _TYPENAME, {"functions": ""}, needs="functions"),
    ContractProposal: XmlPlace(MessageKind.CONTRACT, "proposing", _TYPENAME, is_new=True),
    ContractConsent: XmlPlace(MessageKind.CONTRACT, "agreeing", _TYPENAME, is_new=True),
    ContractRefusal: XmlPlace(MessageKind.CONTRACT, "refusing", _TYPENAME, is_new=True),
    ContractDeparture: XmlPlace(MessageKind.CONTRACT, "leaving", _TYPENAME, is_new=True),
    ObserverRequest: XmlPlace(
        MessageKind.OBSERVER,
        "observe",
        _CONTRACT_TYPE,
        {"functions": STYLESHEET_URI, "types": ""},
        needs="types",
    ),
    ObserverWithdrawal: XmlPlace(MessageKind.OBSERVER, "unobserve", _CONTRACT_TYPE, is_new=True),
    DiscoveryQuestion: XmlPlace(MessageKind.DISCOVERY, "discover"),
    DiscoveryAnswer: XmlPlace(
        MessageKind.DISCOVERY_REPLY, "discoverreply", parts={"definitions": ""}, needs="definitions"
    ),
    Acceptance: XmlPlace(None, "accept"),
    Rejection: XmlPlace(None, "reject"),
}
BODY_OF: Mapping[tuple[str, str], type[Body]] = {
    (kind.value, place.action): body
    for body, place in PLACES.items()
    for kind in ([place.kind] if place.kind is not None else MessageKind)
}
"""By the names of both elements; of routes there is only the outer one."""
