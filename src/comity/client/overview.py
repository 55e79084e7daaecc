"""A network seen from outside: what each broker tells, found by way of the links of the first ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from comity.client.address import BrokerUrl
from comity.client.session import NetworkSession
from comity.client.settings import ClientSettings
from comity.errors import ComityError
from comity.wire import NodeStatus


@dataclass(frozen=True, slots=True)
class BrokerRates:
    """What a broker did between two looks at it, or since it was started."""

    events_in_s: float
    events_out_s: float
    unwanted: float
    """The share of the events over links that nobody at the broker, or behind it, wanted."""
    processor: float
    """The share of a processor that it took."""

    @classmethod
    def between(cls, before: NodeStatus | None, now: NodeStatus) -> BrokerRates:
        """The rates of a broker; one that was started anew begins at zero."""
        if before is None or before.instance != now.instance:
            return cls._of(now, now.uptime_s, 0, 0, 0, 0, 0.0)
        seconds = now.uptime_s - before.uptime_s
        came, unwanted = _over_links(before)
        return cls._of(now, seconds, before.events_in, before.events_out, came, unwanted, before.cpu_s)

    @classmethod
    def _of(
        cls, now: NodeStatus, seconds: float, went_in: int, went_out: int, came: int, unwanted: int, cpu_s: float
    ) -> BrokerRates:
        per_s = 1 / max(seconds, 1e-3)
        all_came, all_unwanted = _over_links(now)
        return cls(
            (now.events_in - went_in) * per_s,
            (now.events_out - went_out) * per_s,
            (all_unwanted - unwanted) / max(all_came - came, 1),
            (now.cpu_s - cpu_s) * per_s,
        )


def _over_links(status: NodeStatus) -> tuple[int, int]:
    """The events that came over links, and those of them that nobody wanted."""
    return sum(link.events_in for link in status.links), sum(link.unwanted for link in status.links)


@dataclass(frozen=True, slots=True)
class BrokersSeen:
    """What the brokers of a network told, by name, and why others did not answer, by address."""

    brokers: dict[str, NodeStatus]
    unreached: dict[str, str]

    def rates(self, before: BrokersSeen | None) -> dict[str, BrokerRates]:
        """The rates of each broker since an earlier look."""
        earlier = {} if before is None else before.brokers
        return {name: BrokerRates.between(earlier.get(name), status) for name, status in self.brokers.items()}


class NetworkOverview:
    """Keeps a connection to each broker of a network; close it."""

    def __init__(self, first: Sequence[ClientSettings]) -> None:
        self._first = first[0]
        self._known = {one.url: one for one in first}
        self._sessions: dict[BrokerUrl, NetworkSession] = {}

    async def look(self) -> BrokersSeen:
        """Ask all that are known, and those whom they are linked to."""
        view = BrokersSeen({}, {})
        asked: set[BrokerUrl] = set()
        while new := [url for url in self._known if url not in asked]:
            asked.update(new)
            answers = await asyncio.gather(*(self._ask(url) for url in new))
            for url, answer in zip(new, answers):
                self._note(view, url, answer)
        return view

    async def close(self) -> None:
        """Leave them all."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    async def _ask(self, url: BrokerUrl) -> NodeStatus | ComityError:
        try:
            if url not in self._sessions:
                session = NetworkSession(self._known[url])
                await session.open()
                self._sessions[url] = session
            return await self._sessions[url].status()
        except ComityError as error:
            if url in self._sessions:
                await self._sessions.pop(url).close()
            return error

    def _note(self, view: BrokersSeen, url: BrokerUrl, answer: NodeStatus | ComityError) -> None:
        if isinstance(answer, ComityError):
            view.unreached[str(url)] = answer.message
            return
        view.brokers[answer.name] = answer
        for link in answer.links:
            if link.address:
                there = replace(BrokerUrl.read(f"comity://{link.address}"), is_secured=url.is_secured)
                self._known.setdefault(there, replace(self._first, url=there, broker=link.name or None))
