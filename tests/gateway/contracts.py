"""Contracts for the tests: small ones, whose parts say little."""

from __future__ import annotations

from collections.abc import Iterable

from comity.gateway.agreements import Revision
from comity.gateway.messages import Declaration


def domain(name: str) -> Declaration:
    """What others know of a domain."""
    return {"domain": name, "types": {"Enter": {"attributes": {"room": "string"}}}}


def revision(
    members: Iterable[str],
    *,
    founders: tuple[str, ...] = (),
    authority: str = "",
    observers: Iterable[str] = (),
    room: str = "room",
    before: str = "",
    version: int = 1,
) -> Revision:
    """A form of the contract `enter`. `room` is what its members map to the room."""
    declaration: Declaration = {
        "contract": "enter",
        "version": version,
        "types": {"EnterEvent": {"attributes": {"room": "string"}}},
        "members": {name: {"type": "Enter", "map": {"room": room}} for name in members},
        "observers": {name: {"type": "Enter", "map": "same"} for name in observers},
    }
    if founders:
        declaration["founders"] = list(founders)
    if authority:
        declaration["authority"] = authority
    return Revision(declaration, {name: domain(name) for name in {*members, *observers}}, before)
