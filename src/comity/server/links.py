"""The links of a node: which there are, whom one reaches through each, and how they come back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from comity.errors import ComityError
from comity.logs import log
from comity.server.link_session import LinkSession
from comity.server.settings import Address
from comity.wire import LogPosition, Reach

_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.1, 10.0
_MOST_NOTED = 10_000
"""Neighbours of which something is remembered while they are away; anybody may give itself a name."""
_STEADY_S = 5.0
"""A link that was up for so long is tried again at once."""

T = TypeVar("T")
Dial = Callable[[Address], Coroutine[Any, Any, "DialedLink"]]


class DialedLink:
    """A link that we opened: whether it came up, and when it ended."""

    def __init__(self) -> None:
        self.name = ""
        self.came_up = False
        self.why: ComityError | None = None
        self.ended = asyncio.Event()

    def ended_with(self, why: ComityError | None, *, came_up: bool) -> None:
        """The link is over."""
        self.why, self.came_up = why, came_up
        self.ended.set()


class Links:
    """Neighbours by name. A neighbour has one link; of two, that of the side whose name is the smaller one stays."""

    def __init__(self, own_name: str, *, may_form_circles: bool = False) -> None:
        self._own_name, self._may_form_circles = own_name, may_form_circles
        self.sessions: dict[str, LinkSession] = {}
        """From their greeting on."""
        self.why_down: dict[str, str] = {}
        """Of neighbours and addresses to which there is no link."""
        self._seen: dict[str, LogPosition] = {}
        self._tasks: list[asyncio.Task[None]] = []

    # Who is there

    def admits(self, name: str, *, dialer: str, instance: str) -> bool:
        """Whether a new link to a neighbour takes the place of the one that there is."""
        old = self.sessions.get(name)
        if old is None or not old.connection.is_open or old.instance != instance or old.dialer == dialer:
            return True
        return dialer < old.dialer

    def add(self, session: LinkSession) -> None:
        """A neighbour was greeted; an older link to it ends."""
        old = self.sessions.get(session.name)
        if old is not None:
            old.connection.close()
        self.sessions[session.name] = session

    def remove(self, session: LinkSession, why: ComityError | None) -> bool:
        """A link is lost; gives whether it was the one that counts."""
        if self.sessions.get(session.name) is not session:
            return False
        del self.sessions[session.name]
        _note(self.why_down, session.name, "" if why is None else f"{why.code or 'ended'}: {why.message}")
        self.tell_reach(session.name)
        return True

    def up(self) -> Iterable[LinkSession]:
        return [session for session in self.sessions.values() if session.is_up]

    # Whom one reaches

    def reach_without(self, name: str) -> frozenset[str]:
        """Whom a neighbour reaches through us. Where circles are allowed nobody asks for more than us."""
        if self._may_form_circles:
            return frozenset({self._own_name})
        others = [session.reach for session in self.sessions.values() if session.name != name and session.is_up]
        return frozenset({self._own_name}).union(*others)

    def tell_reach(self, but: str) -> None:
        """Tell the other neighbours whom they reach now, those too whose link is not up yet."""
        if self._may_form_circles:
            return
        for session in self.sessions.values():
            if session.name != but:
                session.connection.send(Reach(tuple(sorted(self.reach_without(session.name)))))

    # What was taken of them

    def taken(self, name: str) -> LogPosition | None:
        """The last stored event that we have of a neighbour, as far as we remember."""
        return self._seen.get(name)

    def take_position(self, session: LinkSession, position: int) -> None:
        """All up to a position of the neighbour's log is where it has to be."""
        if session.log is not None and position > self.position_of(session):
            _note(self._seen, session.name, LogPosition(session.log, position))

    def remember(self, name: str, position: LogPosition) -> None:
        """How far we were in the log of a neighbour when we were here before."""
        self._seen[name] = position

    def position_of(self, session: LinkSession) -> int:
        """How far we are in the log of a neighbour."""
        seen = self._seen.get(session.name)
        return seen.position if seen is not None and seen.log == session.log else 0

    # How they come back

    def keep_dialing(self, peers: Iterable[Address], dial: Dial, chance: Callable[[], float]) -> None:
        """From now on have links to these peers; `chance` gives numbers between 0 and 1."""
        loop = asyncio.get_running_loop()
        self._tasks += [loop.create_task(self._keep(peer, dial, chance)) for peer in peers]

    async def _keep(self, peer: Address, dial: Dial, chance: Callable[[], float]) -> None:
        pause_s, told = _FIRST_PAUSE_S, ""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            link = await self._dialed(peer, dial)
            why = link.why.code if link.why is not None else ""
            if link.came_up and loop.time() - began > _STEADY_S:
                pause_s, told = _FIRST_PAUSE_S, ""
            if link.why is not None and not link.came_up and why not in (told, "linked-already"):
                told = why
                log("peer not linked", level=logging.WARNING, peer=str(peer), code=why, reason=link.why.message)
            await asyncio.sleep(pause_s * (0.5 + chance()))
            await self._until_needed(link.name)
            pause_s = min(2 * pause_s, _MOST_PAUSE_S)

    async def _dialed(self, peer: Address, dial: Dial) -> DialedLink:
        link = await dial(peer)
        await link.ended.wait()
        if link.why is not None:
            _note(self.why_down, str(peer), f"{link.why.code}: {link.why.message}")
        return link

    async def _until_needed(self, name: str) -> None:
        """Wait while the neighbour has a link that it opened itself."""
        while name in self.sessions and self.sessions[name].connection.is_open:
            await asyncio.sleep(_FIRST_PAUSE_S)

    def stop_dialing(self) -> None:
        """What is lost from now on does not come back by us."""
        for task in self._tasks:
            task.cancel()

    def close(self, why: ComityError | None = None) -> None:
        """Dial no more, and say goodbye."""
        self.stop_dialing()
        for session in list(self.sessions.values()):
            session.connection.close(why)


def _note(noted: dict[str, T], name: str, what: T) -> None:
    """Remember something, and forget what was noted first if it is too much."""
    noted.pop(name, None)
    noted[name] = what
    if len(noted) > _MOST_NOTED:
        del noted[next(iter(noted))]
