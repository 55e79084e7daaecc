"""What messages between gateways say, one record a kind; `docs/reference/gateway-messages.md` is the reference."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

Name = Annotated[str, Meta(max_length=300)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
Declaration = dict[str, Any]
"""A part of a file of a federation, as JSON: a type, a contract, a mapping."""


class MessageKind(StrEnum):
    """The kinds of messages, by the words of the thesis; an answer names the kind that it answers."""

    CONTROL = "control"
    ROUTING = "routing"
    TYPE = "type"
    ADVERTISEMENT = "advertisement"
    SUBSCRIPTION = "subscription"
    NOTIFICATION = "notification"
    CONTRACT = "contract"
    OBSERVER = "observer"
    DISCOVERY = "discovery"
    DISCOVERY_REPLY = "discoveryreply"


class NodeRole(StrEnum):
    """What a node of the overlay is there for."""

    BROKER = "broker"
    SOURCE = "source"
    SINK = "sink"
    GATEWAY = "gateway"


class NodeAction(StrEnum):
    """What a node asks of another one."""

    JOIN = "join"
    LEAVE = "leave"
    PING = "ping"


class EventMode(StrEnum):
    """When an event occurred, seen from who gets it. Systems say so, and not producers."""

    LIVE = "live"
    PAST = "past"
    REPLAY = "replay"


class _Body(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="body"):
    """What all bodies have in common: they name themselves, and leave out what is as usual."""


class NodeRequest(_Body, frozen=True, kw_only=True, tag="request"):
    """A node joins the overlay, leaves it, or asks whether somebody is there."""

    role: NodeRole = NodeRole.GATEWAY
    action: NodeAction = NodeAction.JOIN
    node: Name = ""
    addresses: tuple[Name, ...] = ()
    versions: tuple[Count, ...] = ()


class RouteEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node that can be reached through the sender."""

    name: Name
    port: Port
    cost: Count
    node: Name = ""
    sequence: Count = 0
    withdrawn: bool = False


class RoutingUpdate(_Body, frozen=True, kw_only=True, tag="routing"):
    """What changed of routes, or all of them. It has no answer."""

    entries: tuple[RouteEntry, ...]


class TypeAddition(_Body, frozen=True, kw_only=True, tag="addtype"):
    """A contract type: it is known from now on, and has a rendezvous."""

    typename: Name
    extends: Name = ""
    definition: tuple[str, ...] = ()
    """Elements of XML Schema."""
    declaration: Declaration = {}
    """The type as files of a federation declare it; it says more than XML Schema can."""
    contract: Name = ""
    version: Count = 0
    namespace: Name = ""
    founders: tuple[Name, ...] = ()
    authority: Name = ""


class TypeRemoval(_Body, frozen=True, kw_only=True, tag="removetype"):
    """A contract type is no more, nor what was advertised and subscribed of it."""

    typename: Name
    version: Count = 0


class TypeOffer(_Body, frozen=True, kw_only=True, tag="advertise"):
    """A member has a function for a contract type: its events may come."""

    typename: Name
    filter: str = ""
    """What can occur at all; empty: anything."""
    offer: Name = ""
    lease_s: Seconds | None = None


class OfferWithdrawal(_Body, frozen=True, kw_only=True, tag="unadvertise"):
    """An offer is no more."""

    typename: Name
    offer: Name = ""


class TypeSubscription(_Body, frozen=True, kw_only=True, tag="subscribe"):
    """A domain wants events of a contract type."""

    typename: Name
    fedreg: str = ""
    """The filter, in FedReg."""
    filter: str = ""
    """The same filter in our own language, in which nothing is lost; empty: all events, or what FedReg says."""
    subscription: Name = ""
    lease_s: Seconds | None = None
    priority: Annotated[int, Meta(ge=-(2**31), le=2**31)] = 0


class SubscriptionWithdrawal(_Body, frozen=True, kw_only=True, tag="unsubscribe"):
    """A subscription is no more."""

    typename: Name
    subscription: Name


class EventNotice(_Body, frozen=True, kw_only=True, tag="notify"):
    """Events of a contract type, for those who subscribed."""

    typename: Name
    instances: tuple[str, ...] = ()
    """Events as elements of XML."""
    events: tuple[Declaration, ...] = ()
    """Events as CloudEvents."""
    subscription: Name = ""
    """The first subscription that they match, as old gateways want it."""
    subscriptions: tuple[Name, ...] = ()
    contract: Name = ""
    version: Count = 0
    origin: Name = ""
    """The domain in which they occurred."""
    mode: EventMode = EventMode.LIVE


class ContractTerms(_Body, frozen=True, kw_only=True, tag="contracting"):
    """The functions of a member of a contract, or only who else takes part: it holds from now on."""

    typename: Name
    functions: tuple[str, ...] = ()
    """Stylesheets from the types of a domain to that of the contract."""
    contract: Name = ""
    revision: Name = ""
    """The digest of what was agreed."""
    declaration: Declaration = {}
    """The contract as files of a federation declare it."""
    partners: tuple[Name, ...] = ()
    left: tuple[Name, ...] = ()
    """Those who no longer take part."""


class ContractProposal(_Body, frozen=True, kw_only=True, tag="proposing"):
    """A contract, or another form of one, to which those who must are to consent."""

    typename: Name
    contract: Name
    revision: Name
    declaration: Declaration
    domains: dict[str, Declaration] = {}
    """By party, the published types that the contract is about, as a file of a domain declares them."""
    before: Name = ""
    """The revision that this one is to take the place of."""


class ContractConsent(_Body, frozen=True, kw_only=True, tag="agreeing"):
    """The sender agrees to exactly this revision of a contract."""

    typename: Name
    contract: Name
    revision: Name


class ContractRefusal(_Body, frozen=True, kw_only=True, tag="refusing"):
    """The sender does not agree to a revision; it will not be."""

    typename: Name
    contract: Name
    revision: Name
    reason: str = ""


class ContractDeparture(_Body, frozen=True, kw_only=True, tag="leaving"):
    """The sender takes part in a contract no longer."""

    typename: Name
    contract: Name
    revision: Name
    """The one that is in force when it leaves."""
    reason: str = ""


class ObserverRequest(_Body, frozen=True, kw_only=True, tag="observe"):
    """A contract type is to be seen in a type of the receiver's own domain."""

    contracttypename: Name
    types: tuple[str, ...] = ()
    """The type of the observer, in XML."""
    functions: tuple[str, ...] = ()
    """Stylesheets to that type; none: it equals that of the contract."""
    typename: Name = ""
    declaration: Declaration = {}
    version: Count = 0


class ObserverWithdrawal(_Body, frozen=True, kw_only=True, tag="unobserve"):
    """An observer is no more."""

    contracttypename: Name
    typename: Name = ""


class DiscoveryQuestion(_Body, frozen=True, kw_only=True, tag="discover"):
    """What is there? Everything, if nothing is asked for."""

    names: Name = ""
    """A pattern of names of types, with `*`."""
    since: Name = ""
    """Only what is not in the answer of this digest."""


class DiscoveryAnswer(_Body, frozen=True, kw_only=True, tag="discoverreply"):
    """The types that a domain publishes, and the contracts in which it takes part."""

    definitions: tuple[str, ...] = ()
    """Types in XML."""
    types: tuple[Declaration, ...] = ()
    contracts: tuple[Declaration, ...] = ()
    digest: Name = ""
    more: bool = False
    """Whether another part of the answer follows."""


class Acceptance(_Body, frozen=True, kw_only=True, tag="accept"):
    """Yes; and what came of it."""

    of: MessageKind
    role: NodeRole = NodeRole.GATEWAY
    """To a request of a node: the role that it asked for."""
    effect: Name = ""
    """The version that is stored now, or the id of a subscription."""


class Rejection(_Body, frozen=True, kw_only=True, tag="reject"):
    """No; and why."""

    of: MessageKind
    role: NodeRole = NodeRole.GATEWAY
    code: Name = ""
    text: str = ""
    place: str = ""


Body = (
    NodeRequest
    | RoutingUpdate
    | TypeAddition
    | TypeRemoval
    | TypeOffer
    | OfferWithdrawal
    | TypeSubscription
    | SubscriptionWithdrawal
    | EventNotice
    | ContractTerms
    | ContractProposal
    | ContractConsent
    | ContractRefusal
    | ContractDeparture
    | ObserverRequest
    | ObserverWithdrawal
    | DiscoveryQuestion
    | DiscoveryAnswer
    | Acceptance
    | Rejection
)
