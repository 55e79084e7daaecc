"""The decoder's side: one file after the other, within bounds that kill."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import resource
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import IO

from comity.event.expansion import LEAST_BYTES, ExpandsTooFarError, Expansion
from comity.event.formats.jsonlines import Rejected, TypeLookup, rejected, too_long
from comity.event.isolation.messages import (
    Answer,
    Done,
    Failed,
    Records,
    Request,
    TypeQuestion,
    Unreadable,
    encode_answer,
    receive,
    send,
)
from comity.event.types import EventType
from comity.limits import limited, limits

Lines = Iterator[tuple[int, bytes | Rejected]]
_PIECE_BYTES = 65_536


def serve() -> None:
    """Decode files until nobody asks any more."""
    # The libraries must not write into our answers, and the end of the run is told by the end of the requests.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(BrokenPipeError):
        while (content := receive(requests)) is not None:
            _Decoding(pickle.loads(content), requests, answers).run()


class _Decoding:
    """The decoding of one file."""

    def __init__(self, request: Request, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._request, self._requests, self._answers = request, requests, answers
        self._most_bytes = 0 if request.one_by_one else _PIECE_BYTES
        self._records: list[tuple[int, bytes | Rejected]] = []
        self._bytes = 0

    def run(self) -> None:
        with limited(**self._request.bounds):
            read = _reader(self._request.reader)
            with _bounded_memory():
                end = self._decode(read)
                self._hand_over()
        self._say(end)

    def _decode(self, read: Callable[..., Lines]) -> Answer:
        request = self._request
        _allow_time()
        try:
            expansion = Expansion(request.path)
            for number, line in read(request.path, self._types(), name=request.name, after=request.after):
                size = len(line) if isinstance(line, bytes) else 0
                expansion.add(max(size, LEAST_BYTES))
                self._add(number, line, size)
        except ExpandsTooFarError as error:
            return Failed(code="expands-too-far", reason=str(error))
        except BrokenPipeError:
            raise
        except OSError as error:
            return Unreadable(error.errno or 0, error.strerror or str(error))
        except MemoryError:
            reason = f"decoding it takes more than {limits().max_decoding_bytes} bytes"
            return Failed(code="too-much-memory", reason=reason)
        except Exception as error:  # whatever a stranger's file makes of a library: it costs this file only
            return Failed(code="decoder-failed", reason=f"{type(error).__name__}: {error}"[:500])
        return Done()

    def _add(self, number: int, line: bytes | Rejected, size: int) -> None:
        if isinstance(line, bytes) and size > limits().max_record_bytes:
            line = rejected(line, [too_long(f"{size} bytes")], number, self._request.name)
        self._records.append((number, line))
        self._bytes += max(size, LEAST_BYTES)
        if self._bytes > self._most_bytes:
            self._hand_over()
            _allow_time()

    def _hand_over(self) -> None:
        if self._records:
            self._say(Records(self._records))
            self._records, self._bytes = [], 0

    def _say(self, answer: Answer) -> None:
        send(self._answers, encode_answer(answer))

    def _types(self) -> TypeLookup | None:
        known: dict[str, EventType | None] = {}

        def find(name: str) -> EventType | None:
            if name not in known:
                self._say(TypeQuestion(name))
                known[name] = pickle.loads(receive(self._requests) or b"N.")
            return known[name]

        return find if self._request.typed else None


def _reader(name: str) -> Callable[..., Lines]:
    """A reader as the table of formats names it, and what it says that it loads only when it reads.

    That is loaded before memory is bounded: the bound is for the file alone.
    """
    place, _, function = name.partition(":")
    module = import_module(place)
    for library in getattr(module, "LOADED_LATE", ()):
        import_module(library)
    return getattr(module, function)  # type: ignore[no-any-return]


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """Room for the file beside what is loaded already. A system that cannot bound it goes without."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_held_bytes() + limits().max_decoding_bytes, hard))
    except (ValueError, OSError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _held_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def _allow_time() -> None:
    """Let the next piece take its time; beyond it the system ends this process."""
    soft = math.ceil(time.process_time()) + limits().max_decoding_s
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
