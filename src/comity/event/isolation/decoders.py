"""Our side: decoders that are started, asked, kept for the next file, and buried."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, cast

import msgspec

from comity.errors import Permanent
from comity.event.formats.jsonlines import Rejected, TypeLookup, rejected
from comity.event.isolation.messages import (
    Answer,
    Failed,
    Records,
    Request,
    TypeQuestion,
    Unreadable,
    decode_answer,
    receive,
    send,
)
from comity.event.taxonomy import Taxonomy
from comity.event.validate import Fault
from comity.limits import limits

_SERVE = "from comity.event.isolation.child import serve; serve()"
_QUIET = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
"""Libraries that reserve memory by the thread would not leave room for the file."""


def decoded_apart(
    reader: str,
    path: str | Path,
    types: Taxonomy | TypeLookup | None = None,
    *,
    name: str | None = None,
    after: int = 0,
) -> Iterator[tuple[int, bytes | Rejected]]:
    """The records of a file, each with its number, decoded in another process by a reader of the table of formats.
    `name` is what it is called in rejected records, if not by its path.

    If that process dies, the file is read once more from the last record on, record by record; so that the one that
    kills is known, and all before it are given. It comes as `Rejected`, and it is the last.
    """
    lookup = types.find if isinstance(types, Taxonomy) else types
    last, told = after, name or str(path)
    for one_by_one in (False, True):
        request = Request(reader, os.path.abspath(path), told, last, asdict(limits()), one_by_one, lookup is not None)
        try:
            for number, line in _answers(request, lookup):
                last = number
                yield number, line
            return
        except _EndedError as end:
            if one_by_one or not end.died:
                yield last + 1, rejected(b"", [end.fault], last + 1, told)
                return


class _EndedError(Exception):
    """The decoding ended in the midst of a file."""

    def __init__(self, fault: Fault, *, died: bool) -> None:
        self.fault, self.died = fault, died


class _Decoder:
    """A process that decodes."""

    def __init__(self) -> None:
        places = [os.path.abspath(one) for one in sys.path]  # the empty one is where we are
        environment = {**os.environ, **_QUIET, "PYTHONPATH": os.pathsep.join(places)}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        except OSError as error:
            hint = "files of this format are decoded in a process of their own"
            raise Permanent(f"Python cannot be started: {error}", code="no-decoder", hint=hint) from error
        self._requests = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)

    def say(self, content: object) -> None:
        try:
            send(self._requests, pickle.dumps(content))
        except BrokenPipeError:
            raise _EndedError(self.bury(), died=True) from None

    def answer(self) -> Answer:
        content = receive(self._answers)
        try:
            if content is not None:
                return decode_answer(content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._process.kill()
        raise _EndedError(self.bury(), died=True)

    def bury(self) -> Fault:
        """End the process, if it has not ended; gives why it did."""
        for pipe in (self._answers, self._requests):
            with suppress(BrokenPipeError):
                pipe.close()
        return _cause(self._process.wait())

    def kill(self) -> None:
        self._process.kill()
        self.bury()


def _cause(code: int) -> Fault:
    if code == -signal.SIGXCPU:
        reason = f"decoding the next record takes more than {limits().max_decoding_s} s"
        return Fault("", "", reason, "too-slow")
    name = signal.Signals(-code).name if code < 0 else f"exit {code}"
    return Fault("", "", f"the process that decodes it died of it ({name})", "decoder-died")


class _Idle:
    """At most one decoder that waits for the next file of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decoder: _Decoder | None = None

    def take(self) -> _Decoder:
        with self._lock:
            decoder, self._decoder = self._decoder, None
        return decoder or _Decoder()

    def put_back(self, decoder: _Decoder) -> None:
        with self._lock:
            if self._decoder is None:
                self._decoder = decoder
                return
        decoder.bury()

    def close(self) -> None:
        with self._lock:
            decoder, self._decoder = self._decoder, None
        if decoder is not None:
            decoder.bury()

    def forget(self) -> None:
        """In a forked process: the decoder talks to the process that started it."""
        self.__init__()  # type: ignore[misc]


_idle = _Idle()
atexit.register(_idle.close)
os.register_at_fork(after_in_child=_idle.forget)


def _answers(request: Request, lookup: TypeLookup | None) -> Iterator[tuple[int, bytes | Rejected]]:
    with _borrowed() as decoder:
        decoder.say(request)
        while True:
            answer = decoder.answer()
            if isinstance(answer, Records):
                yield from answer.records
            elif isinstance(answer, TypeQuestion):
                decoder.say(lookup(answer.name) if lookup is not None else None)
            else:
                break
    if isinstance(answer, Unreadable):
        raise OSError(answer.errno, answer.reason, request.name)
    if isinstance(answer, Failed):
        raise _EndedError(Fault("", "", answer.reason, answer.code), died=False)


@contextmanager
def _borrowed() -> Iterator[_Decoder]:
    """A decoder that waits, or a new one; it is kept only if it was heard to its end."""
    decoder = _idle.take()
    try:
        yield decoder
    except BaseException:
        decoder.kill()
        raise
    _idle.put_back(decoder)
