"""What a node is told when it is started."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from comity.errors import Misuse
from comity.route.policy import Policy, Strategy
from comity.route.rendezvous.node import check_overlay_policy

SLICE = 16
"""Filters that a step of the routing looks at again, so that events go between the parts of a large change."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")


class Address(NamedTuple):
    """Where somebody listens.

    >>> Address.read("[::1]:7470"), str(Address("::1", 7470))
    (Address(host='::1', port=7470), '[::1]:7470')
    """

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        host, colon, port = text.rpartition(":")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not colon or not host or not port.isdecimal() or int(port) > 65_535:
            hint = "write HOST:PORT, as in 127.0.0.1:7470 or [::1]:7470"
            raise Misuse(f"{text[:100]!r} is no address", code="bad-address", hint=hint)
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class TlsFiles(NamedTuple):
    """PEM files: our certificate, its key, and the authorities whose certificates others must have."""

    certificate: Path
    key: Path
    authorities: Path


class ClientToken:
    """A text that is compared, and never shown."""

    def __init__(self, text: str) -> None:
        self._text = text

    def is_same(self, other: str | None) -> bool:
        """Whether somebody knows it; how long that takes tells nothing of it."""
        from hmac import compare_digest

        return other is not None and compare_digest(self._text.encode(), other.encode())

    def __repr__(self) -> str:
        return "ClientToken(***)"


class Overlay(Enum):
    """What brokers put over the graph of their links, other than one tree."""

    RENDEZVOUS = "rendezvous"
    """A tree for each type of events."""


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """A node: its name, where it listens, and whom it is linked to."""

    name: str
    listen: Address
    peers: tuple[Address, ...] = ()
    policy: Policy = field(default_factory=Policy)
    tls: TlsFiles | None = None
    store: Path | None = None
    is_generic: bool = False
    """Whether links may form circles; events then go along a spanning tree."""
    client_token: ClientToken | None = None
    """What clients must say; None: nothing."""
    silence_s: float = 15.0
    """After so long without a byte somebody is taken for gone."""

    overlay: Overlay | None = None
    """Then, too, links may form circles."""

    def __post_init__(self) -> None:
        if self.overlay is not None:
            self._check_overlay()
        if self.is_generic and self.store is not None:
            hint = "give the brokers links that form a tree, or leave out --store"
            raise Misuse("--generic and --store do not go together", code="bad-usage", hint=hint)
        if _NAME.fullmatch(self.name) is None:
            hint = "use up to 100 letters, digits, dots, hyphens and underscores, as in `north-1`"
            raise Misuse(f"{self.name[:120]!r} is no name of a broker", code="bad-broker-name", hint=hint)

    @property
    def may_form_circles(self) -> bool:
        """Whether links may form any graph."""
        return self.is_generic or self.overlay is not None

    def _check_overlay(self) -> None:
        if self.is_generic:
            hint = "leave out --generic: links of an overlay may form circles anyway"
            raise Misuse("--overlay and --generic do not go together", code="bad-usage", hint=hint)
        if self.store is not None:
            hint = "leave out --store, or --overlay: events are kept for subscribers in networks that form a tree only"
            raise Misuse("--overlay and --store do not go together", code="bad-usage", hint=hint)
        if self.policy.strategy is Strategy.FLOODING:
            hint = "choose another --strategy; covering is the default"
            raise Misuse("--overlay and --strategy flooding do not go together", code="bad-usage", hint=hint)
        if self.policy.notices:
            hint = "leave out --notices: nobody would be the publisher of such events in the tree of their type"
            raise Misuse("--overlay and --notices do not go together", code="bad-usage", hint=hint)
        check_overlay_policy(self.policy)
