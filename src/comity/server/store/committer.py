"""Group commit: one thread does what waits in one transaction, and whoever waits is told when it is on the disk.

While a commit waits for the disk, the next group comes together. So the disk is asked once for all of them, and a
publisher waits for two commits at most.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.errors import ComityError, Retryable
from comity.logs import log
from comity.server.store.desk import Desk
from comity.server.store.failure import meaning

_MOST_TASKS = 4_096
"""Tasks of one transaction."""
_TIDY_EVERY_S = 1.0
_IDLE_S = 60.0
"""Seconds after which a store that nobody asks for anything looks what has become too old."""

Work = Callable[[Desk], Any]
Tidy = Callable[[Desk], bool]
"""Takes away some of what need not be kept; whether there is more of it."""


@dataclass(frozen=True, slots=True)
class _Task:
    work: Work
    answer: asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class _Outcome:
    task: _Task
    value: Any = None
    error: BaseException | None = None


class Committer:
    """The thread that writes. It ends with `close`, and answers with errors only once the store itself has failed."""

    def __init__(self, desk: Desk, path: Path, tidy: Tidy, committed: Callable[[int], None]) -> None:
        self._desk, self._path, self._tidy, self._committed = desk, path, tidy, committed
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._tidied, self._wait_s = 0.0, 0.0
        self._failure: ComityError | None = None
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="comity-store", daemon=True)
        self._thread.start()

    async def do(self, work: Work) -> Any:
        """What some work gives, once it is on the disk."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.put(_Task(work, answer))
        return await answer

    async def close(self) -> None:
        """Do what waits, and end."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    # In the thread

    def _run(self) -> None:
        is_open = True
        while is_open:
            tasks, is_open = self._next_group()
            outcomes = self._done(tasks) if tasks else []
            self._loop.call_soon_threadsafe(_tell, outcomes, self._committed, self._desk.last)
            self._tidy_if_due()

    def _next_group(self) -> tuple[list[_Task], bool]:
        """What waits, and whether the store stays open."""
        tasks: list[_Task] = []
        try:
            task = self._waiting.get(timeout=self._wait_s)
            while task is not None:
                tasks.append(task)
                if len(tasks) == _MOST_TASKS:
                    break
                task = self._waiting.get_nowait()
        except queue.Empty:
            return tasks, True
        return tasks, task is not None

    def _done(self, tasks: list[_Task]) -> list[_Outcome]:
        """Do all in one transaction. If one of them fails, each has its own, so that the others do not fail with it."""
        if self._failure is not None:
            return [_Outcome(task, error=self._failure) for task in tasks]
        try:
            return self._in_one(tasks)
        except BaseException as error:  # whatever it is, somebody waits for it
            told = self._undone(error)
            if len(tasks) > 1:
                return [outcome for task in tasks for outcome in self._done([task])]
            return [_Outcome(tasks[0], error=told)]

    def _in_one(self, tasks: list[_Task]) -> list[_Outcome]:
        self._desk.begin()
        outcomes = [_Outcome(task, task.work(self._desk)) for task in tasks]
        self._desk.commit()
        return outcomes

    def _undone(self, error: BaseException) -> BaseException:
        """Take back what was begun; gives the error to tell."""
        told = self._judged(error)
        try:
            self._desk.rollback()
        except sqlite3.Error as another:
            return self._judged(another)
        return told

    def _judged(self, error: BaseException) -> BaseException:
        """After an error of the database that does not pass, nothing more is written."""
        if not isinstance(error, sqlite3.Error):
            return error
        told = meaning(error, self._path)
        if not isinstance(told, Retryable):
            self._failure = told
        return told

    def _tidy_if_due(self) -> None:
        now = time.monotonic()
        if self._failure is not None or now - self._tidied < _TIDY_EVERY_S:
            return
        is_more = False
        try:
            self._desk.begin()
            is_more = self._tidy(self._desk)
            self._desk.commit()
        except BaseException as error:  # nobody waits for it, so it is told in the log, and tried again
            log("store not tidied", level=logging.WARNING, reason=str(self._undone(error)))
        self._tidied, self._wait_s = (self._tidied, 0.0) if is_more else (now, _IDLE_S)


def _tell(outcomes: list[_Outcome], committed: Callable[[int], None], last: int) -> None:
    committed(last)
    for outcome in outcomes:
        answer = outcome.task.answer
        if answer.done():  # whoever waited was cancelled
            continue
        if outcome.error is not None:
            answer.set_exception(outcome.error)
        else:
            answer.set_result(outcome.value)
