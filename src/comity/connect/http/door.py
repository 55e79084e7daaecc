"""Who gets in when there is little room: bounds on connections, in all and of one address.

A connection that is waited for, because its request has not come yet or only in part, costs its owner nothing: whoever
opens many of them and sends a byte now and then would lock everybody else out. So when there is no room, the one that
was waited for longest goes. One whose request is complete, or whose sender is known, stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

from comity.limits import limits

_SAFE_S = 1.0
"""Seconds that a connection is waited for in any case, so that many that come at once do not push each other out."""


@dataclass(eq=False, slots=True)
class Guest:
    """A connection, as the door sees it."""

    group: str
    send_away: Callable[[], None]
    since_s: float
    """Since when it is waited for."""
    is_waited_for: bool = True


@dataclass(slots=True)
class Door:
    """Lets guests in and sends guests away. Times are seconds of any one clock."""

    most: int = field(default_factory=lambda: limits().max_connections)
    most_of_an_address: int = field(default_factory=lambda: limits().max_connections_per_address)
    _inside: dict[str, set[Guest]] = field(default_factory=dict)
    _is_open: bool = True

    @property
    def count(self) -> int:
        """How many are inside."""
        return sum(map(len, self._inside.values()))

    def admit(self, guest: Guest) -> bool:
        """Let a guest in, if there is room or room can be made; its `since_s` is now."""
        own = self._inside.get(guest.group, set())
        if not self._is_open:
            return False
        if len(own) >= self.most_of_an_address and not self._make_room(own, guest.since_s):
            return False
        if self.count >= self.most and not self._make_room(self._all(), guest.since_s):
            return False
        self._inside.setdefault(guest.group, set()).add(guest)
        return True

    def leave(self, guest: Guest) -> None:
        """Note that a guest is gone; a second time does nothing."""
        own = self._inside.get(guest.group, set())
        own.discard(guest)
        if not own:
            self._inside.pop(guest.group, None)

    def close(self) -> None:
        """Let nobody in any more, and send those away that are waited for."""
        self._is_open = False
        self._send_away([guest for guest in self._all() if guest.is_waited_for])

    def clear(self) -> None:
        """Send everybody away."""
        self._send_away(list(self._all()))

    def _send_away(self, guests: Iterable[Guest]) -> None:
        for guest in guests:
            self.leave(guest)
            guest.send_away()

    def _all(self) -> Iterable[Guest]:
        return (guest for own in self._inside.values() for guest in own)

    def _make_room(self, among: Iterable[Guest], now_s: float) -> bool:
        """Send one away: of the address that has the most, the one that was waited for longest."""
        idle = [guest for guest in among if guest.is_waited_for and now_s - guest.since_s >= _SAFE_S]
        if not idle:
            return False
        chosen = max(idle, key=lambda guest: (len(self._inside[guest.group]), -guest.since_s))
        self.leave(chosen)
        chosen.send_away()
        return True


def address_group(address: str) -> str:
    """What counts as one address: an IPv4 address, or the /64 of an IPv6 one, because its owner has all of that.

    >>> address_group("192.0.2.7"), address_group("2001:db8:1:2:3:4:5:6%eth0"), address_group("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::', '192.0.2.7')
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Address(int(found) >> 64 << 64))
