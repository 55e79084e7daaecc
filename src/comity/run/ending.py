"""How a run ends when somebody asks for it: by a signal, without a mess, and within a time that is known.

Python hands signals to the main thread, and a call to Java that is under way goes on after it. So the main thread never
waits for Java here: what does, is in a thread of its own. When it does not come to its end, Java is ended, and with it
whatever waits for it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

from comity.errors import ComityError, Retryable
from comity.limits import limits

_T = TypeVar("_T")
_NAP_S = 0.2
_CANCEL_S = 5


def gets_signals() -> bool:
    """Whether Python hands signals to this thread."""
    return threading.current_thread() is threading.main_thread()


class StopRequest(threading.Event):
    """Set by the first signal that asks us to end."""

    signal_number = 0

    def note(self, number: int, frame: object) -> None:
        self.signal_number = number
        self.set()


@contextmanager
def asked_to_stop(stopping: Callable[[], None] = lambda: None) -> Iterator[StopRequest]:
    """Set by the first Ctrl-C or SIGTERM, which as an exception would leave half an answer in the bridge to Java.

    `stopping` is called then, from another thread, whatever this one does.
    """
    asked = StopRequest()
    if not gets_signals():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    over = threading.Event()

    def note(number: int, frame: object) -> None:
        asked.note(number, frame)
        put_back()

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def tell() -> None:
        while not (asked.wait(_NAP_S) or over.is_set()):
            pass
        if asked.is_set():
            stopping()

    telling = _in_a_thread(tell)
    for number in before:
        signal.signal(number, note)
    try:
        yield asked
    finally:
        put_back()
        over.set()
        wait([telling], timeout=_CANCEL_S)


class HasFault(Protocol):
    """A stream, which knows why a batch failed."""

    @property
    def fault(self) -> ComityError | None: ...


def wait_for(query: Any, stream: HasFault, *, meanwhile: Callable[[], None], stopping: Callable[[], None]) -> bool:
    """Wait until a streaming query ends, or a signal ends it; every second there is time for something else.

    Gives whether it ended by itself. A query that does not stop within `max_stop_s` loses its Java in the middle of a
    batch, which raises `Retryable`.
    """
    from comity.pipeline.failure import spark_failures

    def follow() -> None:
        with spark_failures():
            while not asked.is_set() and not query.awaitTermination(1):
                meanwhile()
            if asked.is_set():
                query.stop()

    with asked_to_stop(stopping) as asked:
        following = _in_a_thread(follow)
        _await(following, asked)
        if not _is_over(following, limits().max_stop_s):
            raise did_not_stop()
    try:
        following.result()
    except ComityError:
        if stream.fault is not None:
            raise stream.fault from None
        raise
    return not asked.is_set()


def did_not_stop() -> Retryable:
    """Somebody asked for the end, and waited for as long as there is time."""
    reason = f"the stream did not stop within {limits().max_stop_s} s, and was ended in the middle of a batch"
    hint = "the same command takes that batch again; COMITY_MAX_STOP_S gives it more time"
    return Retryable(reason, code="not-stopped", hint=hint)


def on_spark(spark: Any, work: Callable[[], _T], stopping: Callable[[], None] = lambda: None) -> _T:
    """What the work gives, done in a thread of its own, so that a signal never comes into a call to Java.

    A signal to end cancels what Spark is doing; where that does not help within seconds, Java is ended. In both cases
    the work comes to its own end, and cleans up, before the signal takes effect here.
    """
    with asked_to_stop(stopping) as asked:
        doing = _in_a_thread(work)
        _await(doing, asked)
        if not doing.done():
            # In a thread, since Java may be too busy to answer.
            _in_a_thread(lambda: _cancel_jobs(spark))
            _is_over(doing, _CANCEL_S)
    if asked.is_set():
        signal.raise_signal(asked.signal_number)
    return doing.result()


def _in_a_thread(work: Callable[[], _T]) -> Future[_T]:
    """What the work gives, in time; nobody waits for the thread when the program ends."""
    found: Future[_T] = Future()
    context = copy_context()

    def do() -> None:
        try:
            found.set_result(context.run(work))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=do, name="comity-work", daemon=True).start()
    return found


def _await(work: Future[Any], asked: StopRequest) -> None:
    """Wait until the work is done, or somebody asks for the end."""
    while not (work.done() or asked.is_set()):
        asked.wait(_NAP_S)


def _is_over(work: Future[Any], patience_s: float) -> bool:
    """Whether the work ends in time; if not, Java is ended, and the work has some seconds to notice."""
    from comity.pipeline.session import abandon_session

    if wait([work], timeout=patience_s).done:
        return True
    abandon_session()
    wait([work], timeout=_CANCEL_S)
    return False


def _cancel_jobs(spark: Any) -> None:
    with suppress(Exception):  # a Spark that has gone has no jobs
        spark.sparkContext.cancelAllJobs()
