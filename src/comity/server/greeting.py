"""The first words on a connection: who is there, and whether they may stay."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from comity.errors import ComityError, Misuse, Permanent
from comity.limits import limits
from comity.server.connection import NodeConnection
from comity.server.links import DialedLink
from comity.server.overlay.topology import RENDEZVOUS
from comity.server.tls import check_named
from comity.server.topology import GENERIC
from comity.wire import PROTOCOL, Frame, Hello, Message, PeerRole, Welcome
from comity.wire.faults import ProtocolFault

if TYPE_CHECKING:
    from comity.server.node import BrokerNode


_NAMES = {GENERIC: "any graph", RENDEZVOUS: "an overlay of types"}
_KINDS = _NAMES.keys()


class _Waiting:
    """Somebody who waits for the first message, not for ever."""

    def __init__(self, node: BrokerNode, connection: NodeConnection) -> None:
        self._node, self._connection = node, connection
        too_late = ProtocolFault("no hello came in time", code="silent")
        within_s = limits().max_request_s
        self._timer = asyncio.get_running_loop().call_later(within_s, lambda: connection.close(too_late))

    def take(self, frames: list[Frame]) -> None:
        raise ProtocolFault("events before a hello", code="out-of-turn")

    def _check(self, comity: int, what: str) -> None:
        if comity != PROTOCOL:
            raise Permanent(f"the {what} is of version {comity}, we speak {PROTOCOL}", code="other-protocol")

    def _check_broker(self, message: Hello | Welcome, name: str) -> None:
        node, policy = self._node, self._node.settings.policy
        if name == node.name:
            raise Misuse(f"both brokers are called {name}", code="own-name", hint="give each a name of its own")
        ours, theirs = (policy.strategy.value, policy.advertisements), (message.strategy, message.advertisements)
        if set(message.options) & _KINDS != set(node.topology.options):
            reason = (
                f"our network is {_kind(node.topology.options)}, that of the other broker is {_kind(message.options)}"
            )
            hint = "start all brokers of a network with --generic, or with --overlay rendezvous, or none"
            raise Misuse(reason, code="other-strategy", hint=hint)
        if ours != theirs:
            reason = f"we route by {_told(*ours)}, the other broker by {_told(*theirs)}"
            raise Misuse(reason, code="other-strategy", hint="all brokers of a network route alike")
        if node.settings.tls is not None:
            check_named(self._connection.certificate(), name)


def _kind(options: tuple[str, ...]) -> str:
    return next((_NAMES[one] for one in options if one in _NAMES), "a tree")


def _told(strategy: str | None, advertisements: bool) -> str:
    return f"{strategy} with advertisements" if advertisements else f"{strategy}"


class AcceptGreeting(_Waiting):
    """On a connection that came: waits for a hello, and welcomes a broker or a client."""

    def hear(self, message: Message) -> None:
        if not isinstance(message, Hello):
            raise ProtocolFault("the first message is no hello", code="out-of-turn")
        self._timer.cancel()
        self._check(message.comity, "hello")
        self._connection.queue.grant(message.window)
        if message.role is PeerRole.BROKER:
            self._check_broker(message, message.name)
            if not self._node.links.admits(message.name, dialer=message.name, instance=message.instance):
                raise Permanent(f"there is a link to {self._node.name} already", code="linked-already")
            self._node.welcome_broker(self._connection, message)
        else:
            self._welcome_client(message)

    def _welcome_client(self, hello: Hello) -> None:
        token = self._node.settings.client_token
        if token is not None and not token.is_same(hello.token):
            raise Permanent("the client may not connect", code="wrong-token", hint="give the token of this broker")
        self._node.welcome_client(self._connection, hello)

    def lost(self, why: ComityError | None) -> None:
        self._timer.cancel()
        self._node.figures.turned_away(why)


class DialGreeting(_Waiting):
    """On a connection that we opened: waits for a welcome."""

    def __init__(self, node: BrokerNode, connection: NodeConnection, link: DialedLink) -> None:
        super().__init__(node, connection)
        self._link = link

    def hear(self, message: Message) -> None:
        if not isinstance(message, Welcome):
            raise ProtocolFault("the first message is no welcome", code="out-of-turn")
        self._timer.cancel()
        self._check(message.comity, "welcome")
        self._link.name = message.name
        self._check_broker(message, message.name)
        if not self._node.links.admits(message.name, dialer=self._node.name, instance=message.instance):
            raise Permanent(f"there is a link to {message.name} already", code="linked-already")
        self._connection.queue.grant(message.window)
        self._node.welcomed(self._connection, message, self._link)

    def lost(self, why: ComityError | None) -> None:
        self._timer.cancel()
        self._link.ended_with(why or Permanent("the other side hung up", code="hung-up"), came_up=False)
