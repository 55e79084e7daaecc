"""Publishing what comes from somewhere, as it comes: a thread reads it, and what has been read goes out together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Generic, TypeVar

from comity.client.publishing import EventsRefused
from comity.client.session import NetworkSession

T = TypeVar("T")

_MOST_AHEAD = 10_000
"""Things that are read before they were taken."""
_MOST_AT_ONCE = 2_000


async def publish_stream(
    session: NetworkSession,
    lines: Iterable[bytes],
    *,
    refused: Callable[[EventsRefused, Sequence[bytes]], None],
    progress: Callable[[int], None],
) -> int:
    """Publish events as they are read, in another thread; how many the broker took.

    What it does not take is told with the events that were published together with it.
    """
    count = 0
    async for together in _Reading(lines).groups():
        try:
            await session.publish(together)
        except EventsRefused as error:
            refused(error, together)
            count -= error.count
        count += len(together)
        progress(count)
    return count


class _Reading(Generic[T]):
    """An iteration in a thread, which is as far ahead as a bound says."""

    def __init__(self, things: Iterable[T]) -> None:
        self._things = things
        self._read: list[T] = []
        self._error: BaseException | None = None
        self._is_over = self._is_left = False
        self._changed = threading.Condition()
        self._loop = asyncio.get_running_loop()
        self._some = asyncio.Event()

    async def groups(self) -> AsyncIterator[Sequence[T]]:
        """What has been read, again and again, until the end; raises what the iteration raised."""
        threading.Thread(target=self._run, name="comity-reader", daemon=True).start()
        try:
            while group := await self._next():
                yield group
        finally:
            self._leave()

    async def _next(self) -> Sequence[T]:
        while True:
            self._some.clear()
            with self._changed:
                group, self._read = self._read[:_MOST_AT_ONCE], self._read[_MOST_AT_ONCE:]
                is_over = self._is_over
                self._changed.notify()
            if group:
                return group
            if is_over:
                if self._error is not None:
                    raise self._error
                return ()
            await self._some.wait()

    def _leave(self) -> None:
        with self._changed:
            self._is_left = True
            self._changed.notify()

    # In the thread

    def _run(self) -> None:
        try:
            for thing in self._things:
                if not self._put(thing):
                    return
        except BaseException as error:  # it is raised where the groups are taken
            self._error = error
        with self._changed:
            self._is_over = True
        self._wake()

    def _put(self, thing: T) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: len(self._read) < _MOST_AHEAD or self._is_left)
            self._read.append(thing)
            is_first = len(self._read) == 1
        if is_first:
            self._wake()
        return not self._is_left

    def _wake(self) -> None:
        if not self._is_left:
            self._loop.call_soon_threadsafe(self._some.set)
