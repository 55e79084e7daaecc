"""The same words without `await`: a session whose event loop is in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from comity.client.publishing import Publishable
from comity.client.session import Advertisement, NetworkSession, session_closed
from comity.client.settings import ClientSettings
from comity.client.subscription import EventSubscription
from comity.event.event import Event
from comity.wire import NodeStatus

T = TypeVar("T")


class _Thread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="comity-client", daemon=True)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine gives. It is cancelled if the wait for it is interrupted."""
        if self.loop.is_closed():
            work.close()
            raise session_closed()
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class BlockingAdvertisement:
    """What a script says that its events will fit."""

    def __init__(self, thread: _Thread, advertisement: Advertisement) -> None:
        self._thread, self._advertisement = thread, advertisement

    def cancel(self) -> None:
        """Say it no longer."""
        self._thread.do(self._advertisement.cancel())


class BlockingSubscription:
    """Events that fit a filter, as they come, from `for`; the broker was asked for them when it was made."""

    def __init__(self, thread: _Thread, subscription: EventSubscription) -> None:
        self._thread, self._subscription = thread, subscription

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self._thread.do(_next(self._subscription))
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> BlockingSubscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.do(self._subscription.__aexit__(kind, error, trace))

    def cancel(self) -> None:
        """Want no more events; of a durable one, what waits for it is given up."""
        self._thread.do(self._subscription.cancel())


class BlockingSession:
    """A place in a network, for a script: `subscribe`, `publish`, `advertise`."""

    def __init__(self, thread: _Thread, session: NetworkSession) -> None:
        self._thread, self._session = thread, session

    @classmethod
    def opened(cls, settings: ClientSettings) -> BlockingSession:
        """One with a connection. Close it."""
        thread = _Thread()
        try:
            return cls(thread, thread.do(_opened(settings)))
        except BaseException:
            thread.stop()
            raise

    @property
    def broker(self) -> str:
        """The name of the broker."""
        return self._session.broker

    @property
    def lost(self) -> int:
        """Events that were not delivered."""
        return self._session.lost

    def subscribe(self, filter: str = "true", *, durable: str | None = None) -> BlockingSubscription:
        """See `NetworkSession.subscribe`."""
        subscription = self._session.subscribe(filter, durable=durable)
        self._thread.do(subscription.begin())
        return BlockingSubscription(self._thread, subscription)

    def publish(self, events: Publishable | Iterable[Publishable]) -> int:
        """See `NetworkSession.publish`."""
        return self._thread.do(self._session.publish(events))

    def advertise(self, filter: str) -> BlockingAdvertisement:
        """See `NetworkSession.advertise`."""
        return BlockingAdvertisement(self._thread, self._thread.do(self._session.advertise(filter)))

    def status(self) -> NodeStatus:
        """What the broker tells of itself."""
        return self._thread.do(self._session.status())

    def close(self, *, is_well: bool = True) -> None:
        """Say goodbye. If all is well, the events that were handed out are acknowledged."""
        try:
            self._thread.do(self._session.close(is_well=is_well))
        finally:
            self._thread.stop()


async def _opened(settings: ClientSettings) -> NetworkSession:
    session = NetworkSession(settings)
    await session.open()
    return session


async def _next(subscription: EventSubscription) -> Event | None:
    try:
        return await anext(subscription)
    except StopAsyncIteration:
        return None
