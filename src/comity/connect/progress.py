"""What a sink has been offered already: survives a crash, and does not depend on the order of a batch's files.

`OUT/.sent/SUBSCRIBER/SINK/` holds `done`, the last batch of which everything is settled, and for the batch after it
`NAME.keys`, the digests of the messages that are settled: taken, or dead letters.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from comity.connect.dead_letters import dead_letter_path, read_dead_letters, replacing
from comity.connect.identity import DIGEST_BYTES, key_digest
from comity.connect.sealed import Purpose, read_note, sealed_note
from comity.errors import Retryable
from comity.storage.durable import make_folder, sync, write_whole

SENT = ".sent"
"""The folder of progress in the results folder."""

DONE = "done"
SENT_BATCHES = Purpose(
    "the mark of what a sink was sent",
    "put back a copy of the file; without the file, all that is still in the results folder is sent again",
    code="broken-state",
)
_LOCK, _REPLAY = "lock", "replay.keys"
_LOCK_POLL_S = 0.05


class KnownKeys:
    """Digests of keys, in 16 bytes each, because a batch may have millions."""

    def __init__(self, digests: bytes = b"") -> None:
        self._sorted = None
        if digests:
            import numpy as np

            self._sorted = np.unique(np.frombuffer(digests, dtype=f"S{DIGEST_BYTES}"))

    def __contains__(self, digest: bytes) -> bool:
        if self._sorted is None:
            return False
        at = int(self._sorted.searchsorted(digest))
        # NumPy leaves out zeros at the end of a text.
        return at < len(self._sorted) and self._sorted[at] == digest.rstrip(b"\0")


class KeyLog:
    """An append-only file of digests; a digest that a crash cut off is not in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        size = os.fstat(self._file).st_size
        if size % DIGEST_BYTES:
            os.ftruncate(self._file, size - size % DIGEST_BYTES)
        sync(path.parent)

    def known(self) -> KnownKeys:
        """What is in the file now."""
        return KnownKeys(self.path.read_bytes())

    def add(self, keys: Iterable[str]) -> None:
        """Add keys; they are on the disk when this returns."""
        data = memoryview(b"".join(key_digest(key) for key in keys))
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file; a second time does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Let go of the file, and remove it."""
        self.close()
        self.path.unlink(missing_ok=True)


class SinkProgress:
    """The progress of one sink of a subscriber. Made by `sink_progress`, which locks it against other processes."""

    def __init__(self, out: Path, subscriber: str, sink: str) -> None:
        self.folder = _progress_folder(out, subscriber, sink)
        self.dead_letters = dead_letter_path(out, subscriber, sink)
        self._done = self._read_done()

    def is_done(self, series: str, number: int) -> bool:
        """Whether everything of a batch is settled."""
        return number <= self._done.get(series, -1)

    def begin(self, series: str, number: int) -> tuple[KeyLog, KnownKeys]:
        """The log of a batch, and what an earlier attempt at it settled."""
        path = self._log_path(series, number)
        is_restart = path.exists()
        log = KeyLog(path)
        if not is_restart:
            return log, KnownKeys()
        self._note_dead_letters(log)
        return log, log.known()

    def finish(self, series: str, number: int) -> None:
        """Mark a batch, and all before it, as done; what was noted of them is no longer needed."""
        self._done[series] = max(number, self._done.get(series, -1))
        write_whole(self.folder / DONE, sealed_note(self._done))
        self._log_path(series, number).unlink(missing_ok=True)

    def settle(self) -> None:
        """Note dead letters in the log of a batch that was cut off, before a replay removes them from their file."""
        for path in self.folder.glob("*-*.keys"):
            log = KeyLog(path)
            self._note_dead_letters(log)
            log.close()

    def replay_log(self) -> KeyLog:
        """The log of a replay: which dead letters were taken and are not removed from their file yet."""
        return KeyLog(self.folder / _REPLAY)

    def finish_replay(self) -> None:
        """Remove from the dead letters what a replay that was cut off has sent."""
        path = self.folder / _REPLAY
        if not path.exists():
            return
        log = KeyLog(path)
        if self.dead_letters.exists():
            known = log.known()
            with replacing(self.dead_letters) as kept:
                for letter in read_dead_letters(self.dead_letters):
                    if key_digest(letter.key) not in known:
                        kept.keep(letter)
        log.remove()

    def _log_path(self, series: str, number: int) -> Path:
        return self.folder / f"{series}-{number:08d}.keys"

    def _note_dead_letters(self, log: KeyLog) -> None:
        """A crash between the dead letter and its note must not offer the message again."""
        known = log.known()
        keys = (letter.key for letter in read_dead_letters(self.dead_letters))
        log.add([key for key in keys if key_digest(key) not in known])

    def _read_done(self) -> dict[str, int]:
        return read_note(self.folder / DONE, dict[str, int], SENT_BATCHES) or {}


@contextmanager
def sink_progress(
    out: Path, subscriber: str, sink: str, give_up: Callable[[], bool] = lambda: False
) -> Iterator[SinkProgress]:
    """The progress of a sink, for the caller alone: while another process sends or replays, it waits.

    Raises `Retryable` as soon as `give_up` says so. A process that dies holds no lock.
    """
    folder = _progress_folder(out, subscriber, sink)
    make_folder(folder)
    with (folder / _LOCK).open("ab") as lock:
        while not _is_locked(lock):
            if give_up():
                message = f"another process sends to {subscriber}/{sink}"
                raise Retryable(message, code="sink-in-use", hint="try again later, or stop the other one")
            time.sleep(_LOCK_POLL_S)
        progress = SinkProgress(out, subscriber, sink)
        progress.finish_replay()
        yield progress


def _is_locked(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _progress_folder(out: Path, subscriber: str, sink: str) -> Path:
    return out / SENT / subscriber / sink
