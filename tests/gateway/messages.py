"""One of every message, by the name of its golden files."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from comity.gateway.messages import (
    Acceptance,
    Addressee,
    Audience,
    Body,
    ContractConsent,
    ContractDeparture,
    ContractProposal,
    ContractRefusal,
    ContractTerms,
    DiscoveryAnswer,
    DiscoveryQuestion,
    EventNotice,
    GatewayMessage,
    MessageKind,
    MessageSender,
    NodeAction,
    NodeAddress,
    NodeRequest,
    ObserverRequest,
    ObserverWithdrawal,
    OfferWithdrawal,
    Rejection,
    RouteEntry,
    RoutingUpdate,
    SubscriptionWithdrawal,
    TypeAddition,
    TypeOffer,
    TypeRemoval,
    TypeSubscription,
)
from comity.gateway.messages.xml_parts import standard_part

ENTER = standard_part("""
<xs:complexType xmlns:xs="http://www.w3.org/2001/XMLSchema" name="EnterEvent">
  <xs:sequence><xs:element name="room" type="xs:string"/></xs:sequence>
</xs:complexType>
""")
STYLESHEET = standard_part("""
<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:t="urn:comity:domain:house" version="3.0">
  <xsl:template match="t:Enter"><EnterEvent><room><xsl:value-of select="t:where"/></room></EnterEvent></xsl:template>
</xsl:stylesheet>
""")
INSTANCE = standard_part("""
<t:EnterEvent xmlns:t="http://www.cl.cam.ac.uk/opera/eventfed/types"><t:room>kitchen</t:room></t:EnterEvent>
""")
FEDREG = '<xce:Subscription><xce:Template type="EnterEvent"><room>kitchen</room></xce:Template></xce:Subscription>'
TYPE = {"EnterEvent": {"attributes": {"room": "string", "heat": {"kind": "float", "unit": "degC"}}}}
CONTRACT = {"contract": "enter", "founders": ["house", "office"], "types": TYPE, "members": {}}
EVENT = {"specversion": "1.0", "id": "7", "source": "/house", "type": "enter.EnterEvent", "data": {"room": "kitchen"}}

BODIES: dict[str, Body] = {
    "control-join": NodeRequest(node="n1", addresses=("127.0.0.1:7470",), versions=(1,)),
    "control-leave": NodeRequest(action=NodeAction.LEAVE, node="n1"),
    "routing": RoutingUpdate(
        entries=(
            RouteEntry(name="a.example", port=9000, cost=1),
            RouteEntry(name="b.example", port=9000, cost=4, node="n2", sequence=3, withdrawn=True),
        )
    ),
    "type-addtype": TypeAddition(
        typename="EnterEvent",
        extends="Event",
        definition=(ENTER,),
        declaration=TYPE,
        contract="enter",
        version=2,
        founders=("house", "office"),
    ),
    "type-removetype": TypeRemoval(typename="EnterEvent", version=2),
    "advertisement-advertise": TypeOffer(typename="EnterEvent", filter="room != 'attic'", offer="o1", lease_s=3600.0),
    "advertisement-unadvertise": OfferWithdrawal(typename="EnterEvent", offer="o1"),
    "subscription-subscribe": TypeSubscription(
        typename="EnterEvent", fedreg=FEDREG, filter="room = 'kitchen'", subscription="s1", priority=3
    ),
    "subscription-unsubscribe": SubscriptionWithdrawal(typename="EnterEvent", subscription="s1"),
    "notification-notify": EventNotice(
        typename="EnterEvent", instances=(INSTANCE,), subscription="s1", subscriptions=("s1", "s2"), origin="house"
    ),
    "notification-cloudevents": EventNotice(typename="EnterEvent", events=(EVENT,), contract="enter", version=2),
    "contract-contracting": ContractTerms(
        typename="EnterEvent", functions=(STYLESHEET,), contract="enter", revision="00ff", partners=("house", "office")
    ),
    "contract-proposing": ContractProposal(
        typename="EnterEvent",
        contract="enter",
        revision="00ff",
        declaration=CONTRACT,
        domains={"house": {"domain": "house", "types": TYPE}},
        before="00fe",
    ),
    "contract-agreeing": ContractConsent(typename="EnterEvent", contract="enter", revision="00ff"),
    "contract-refusing": ContractRefusal(typename="EnterEvent", contract="enter", revision="00ff", reason="no rooms"),
    "contract-leaving": ContractDeparture(typename="EnterEvent", contract="enter", revision="00ff", reason="moved"),
    "observer-observe": ObserverRequest(
        contracttypename="EnterEvent", types=(INSTANCE,), functions=(STYLESHEET,), typename="Seen"
    ),
    "observer-unobserve": ObserverWithdrawal(contracttypename="EnterEvent", typename="Seen"),
    "discovery-discover": DiscoveryQuestion(names="Enter*"),
    "discoveryreply-discoverreply": DiscoveryAnswer(
        definitions=(INSTANCE,), types=(TYPE,), contracts=(CONTRACT,), digest="ab", more=True
    ),
    "subscription-accept": Acceptance(of=MessageKind.SUBSCRIPTION, effect="s1"),
    "control-accept": Acceptance(of=MessageKind.CONTROL),
    "type-reject": Rejection(
        of=MessageKind.TYPE, code="name-taken", text="EnterEvent is another type", place="EnterEvent.room"
    ),
}


def message_of(body: Body) -> GatewayMessage:
    """A message with everything in its envelope that an envelope can have."""
    return GatewayMessage(
        id="m7",
        reply_to="m6",
        federation="street",
        sender=MessageSender(
            domain="house", number=12, key="k1", identity="{…}", node=NodeAddress("house.example", 7470)
        ),
        to=Addressee(Audience.RENDEZVOUS, "EnterEvent"),
        sent=datetime(2026, 5, 1, 12, 0, tzinfo=UTC),
        expires=datetime(2026, 5, 1, 12, 5, 0, 250, tzinfo=UTC),
        hops=2,
        via=NodeAddress("between.example", 7470),
        signature="c2ln",
        content=body,
    )


EVERY_GATEWAY_MESSAGE = {name: message_of(body) for name, body in BODIES.items()}
EVERY_GATEWAY_MESSAGE["control-broadcast"] = msgspec.structs.replace(
    EVERY_GATEWAY_MESSAGE["control-join"], to=Addressee(Audience.ALL)
)
