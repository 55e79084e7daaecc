"""What a client asked of its broker, and who waits for the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from comity.errors import ComityError, Misuse
from comity.wire import Granted, Message, NodeStatus, RefuseRequest

Reply = Granted | NodeStatus
Replied = Callable[[Reply | ComityError], None]
Asking = Callable[[int], Message]
"""Makes the message of a request from its number."""


class RequestRefused(Misuse):
    """The broker did not do what it was asked for; the code says why."""


class _Request(NamedTuple):
    message: Message
    answered: Replied
    is_standing: bool


class Requests:
    """Requests without an answer, by number."""

    def __init__(self) -> None:
        self._open: dict[int, _Request] = {}
        self._last = 0

    def put(self, asking: Asking, answered: Replied, *, is_standing: bool = False) -> Message:
        """A new request; gives its message. A standing one is put anew for each connection."""
        self._last += 1
        message = asking(self._last)
        self._open[self._last] = _Request(message, answered, is_standing)
        return message

    def begin_anew(self) -> list[Message]:
        """The messages of those that are open, to ask them again; standing ones are forgotten."""
        self._open = {number: one for number, one in self._open.items() if not one.is_standing}
        return [request.message for request in self._open.values()]

    def answer(self, answer: Reply | RefuseRequest) -> None:
        """The broker has answered."""
        request = self._open.pop(answer.request, None)
        if request is None:
            return
        if isinstance(answer, RefuseRequest):
            message, _, excerpt = answer.message.partition("\n")
            request.answered(
                RequestRefused(message, code=answer.code, hint=answer.hint or None, excerpt=excerpt or None)
            )
        else:
            request.answered(answer)

    def forget(self, answered: Replied) -> None:
        """Nobody waits for an answer any more."""
        self._open = {number: one for number, one in self._open.items() if one.answered != answered}

    def fail(self, error: ComityError) -> None:
        """There will be no answers."""
        failed, self._open = self._open, {}
        for request in failed.values():
            request.answered(error)


def into(future: asyncio.Future[Reply]) -> Replied:
    """Brings an answer into a future."""

    def answered(answer: Reply | ComityError) -> None:
        if future.done():  # whoever waited has gone
            return
        if isinstance(answer, ComityError):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    return answered
