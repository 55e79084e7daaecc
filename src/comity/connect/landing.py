"""From a live source to a folder of `.jsonl` files, which a stream reads as it grows.

A file appears at once and whole. The source is told only then that its records are kept. Nothing is lost and nothing
repeated when the process dies at any point, if the source can replay:

1. the records are written under a hidden name, to the disk;
2. the position behind them, with the number of the file, takes the place of the one before: from here on they count;
3. the file gets its name;
4. the source is told.

After a crash before 2 the hidden file is removed, and the source goes on from the old position. After a crash behind 2
the file gets its name if it has none yet, and the source goes on from the new one.

The ask of a source that filters is noted with the position, and the source is always opened again with the ask that was
in force there. Another ask comes by `change` only, behind what was landed, and is noted when the source has it: so a
source whose subscriptions outlive us never meets a position under an ask that it does not belong to.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from comity.connect.port import FOR_EVERYTHING, Ask, Batch, FilteringSource, Position, Record, Source
from comity.connect.sealed import Purpose, read_note, sealed_note
from comity.errors import Misuse, Permanent, Place, Retryable
from comity.event.formats.jsonlines import Rejected, decode
from comity.limits import limits
from comity.storage.durable import make_folder, sync, sync_all, write_new, write_whole

REJECTED = "_rejected"
"""The folder, in that of the landed files, of what the source itself refused; readers pass over its name."""

POSITION = Purpose(
    "the position up to which a source was taken",
    "put back a copy of the file, or move its folder away to take the source from its beginning: what comes again is "
    "not delivered again",
    code="broken-position",
)

_BATCH_RECORDS = 200
_WAIT_S = 0.05
_FIRST_DELAY_S, _LAST_DELAY_S = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class LandingStep:
    """What one step did: records that it took, files that it landed, when to take the next one, whether it is over."""

    taken: int = 0
    landed: tuple[Path, ...] = ()
    wake_at_s: float | None = None
    is_ended: bool = False


class Landing:
    """Lands the records of one source in a folder.

    Use `start` and `stop` to do it in a thread, or `open`, `step` and `close` to do it by hand. Files are called
    `NAME-000000000001.jsonl` and so on. One comes `roll_s` seconds after the one before, or as soon as there are
    `max_landed_rows` records or `max_landed_bytes`; what comes after a longer silence does not wait. With `max_files`
    it takes nothing while that many of them stand in the folder: remove those that were read, with `release`. A source
    that filters is asked for what `ask` says, until `change` says something else.

    >>> from tempfile import TemporaryDirectory
    >>> from comity.connect.connectors.memory.source import MemorySource
    >>> with TemporaryDirectory() as folder:
    ...     landing = Landing(MemorySource([b"{}"]), Path(folder))
    ...     landing.open()
    ...     first, second = landing.step(), landing.step()
    ...     landing.close()
    >>> first.taken, [file.name for file in second.landed], second.is_ended
    (1, ['landed-000000000001.jsonl'], True)
    """

    def __init__(
        self,
        source: Source,
        folder: Path,
        *,
        ask: Ask = FOR_EVERYTHING,
        name: str = "landed",
        rejected: Path | None = None,
        roll_s: float = 0.1,
        max_files: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.folder = folder
        self.rejected = rejected if rejected is not None else folder / REJECTED
        self.fault: BaseException | None = None
        """Why the thread ended before the source did; None while all is well."""
        self.is_ended = False
        """Whether the source has come to its end and everything is landed."""
        self.rows = 0
        """Records that were landed since the start, with those that the source refused."""
        self._name, self._roll_s, self._max_files, self._clock = name, roll_s, max_files, clock
        self._lock_file: int | None = None
        self._number = 0
        self._position: Position = None
        self._wanted = ask
        self._asked: Ask | None = None  # what the source was told last, and the note says
        self._landed_at_s = clock()
        self._pending = _Pending()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._stirred = threading.Event()  # ends the wait for a source

    @property
    def asked(self) -> Ask:
        """What the source is asked for now."""
        return self._asked or FOR_EVERYTHING

    @property
    def wanted(self) -> Ask:
        """What it is asked for from the next step on."""
        return self._wanted

    def open(self) -> None:
        """Finish what a crash left, and open the source where it is to go on."""
        self._make_folders()
        self._lock_file = _lock(self.folder / f".{self._name}.lock")
        try:
            self._recover()
            self._open_source()
        except BaseException:
            self._unlock()
            raise

    def change(self, ask: Ask) -> None:
        """Ask the source for something else, with the next step; from any thread. Without filters it does nothing."""
        self._wanted = ask
        self._stirred.set()

    def step(self) -> LandingStep:
        """Take one batch from the source, and land what is due."""
        self._change_ask()
        if self._is_full():
            return LandingStep(wake_at_s=self._clock() + _WAIT_S)
        batch = self.source.next_batch(_BATCH_RECORDS)
        now = self._clock()
        if batch is None:
            return LandingStep(landed=self.flush(), is_ended=True)
        self._pending.add(batch)
        due_at_s = self._pending.due_at_s(self._landed_at_s + self._roll_s)
        if due_at_s is not None and due_at_s <= now:
            return LandingStep(len(batch.records), self.flush())
        return LandingStep(len(batch.records), (), _wake_at(batch, due_at_s))

    def flush(self) -> tuple[Path, ...]:
        """Land what was taken so far; gives the files. After an error, close it and open it again."""
        pending, self._pending = self._pending, _Pending()
        if not pending.count:
            return ()
        try:
            landed = self._land(pending)
        except OSError as error:
            reason = f"cannot be written: {error.strerror or error}"
            raise Permanent(reason, code="unwritable-file", place=Place(str(self.folder))) from error
        self.rows += pending.count
        self._landed_at_s = self._clock()
        self.source.acknowledge(pending.position)
        return landed

    def close(self) -> None:
        """Let go of the source and the folder; what was taken but not landed comes again."""
        self._pending = _Pending()
        self.source.close()
        self._unlock()

    def start(self) -> None:
        """Open the source, and go on in a thread. What is wrong from the beginning is raised here."""
        self.open()
        self.fault, self.is_ended = None, False
        self._stopping.clear()
        self._stirred.clear()
        context = contextvars.copy_context()  # so that the thread has the same limits
        name = f"landing:{self._name}"
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 30.0) -> None:
        """Land what was taken, and end the thread; a second time does nothing."""
        self._stopping.set()
        self._stirred.set()
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise Retryable(f"the source {self._name} does not stop", code="source-busy", place=Place(str(self.folder)))
        self._thread = None

    def __enter__(self) -> Landing:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._steps()
            self.flush()
        except BaseException as error:  # it is for whoever started the thread, not for the thread
            self.fault = error
        finally:
            self._end()

    def _end(self) -> None:
        try:
            self.close()
        except BaseException as error:
            self.fault = self.fault or error

    def _steps(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                step = self.step() if not failures else self._again(failures)
                failures = 0
            except Retryable:
                failures += 1
                if failures >= limits().max_source_attempts:
                    raise
                continue
            if step.is_ended:
                self.is_ended = True
                return
            if step.wake_at_s is not None:
                self._stirred.wait(max(0.0, step.wake_at_s - self._clock()))
                self._stirred.clear()

    def _again(self, failures: int) -> LandingStep:
        """Open the source anew, behind what was landed, after a while."""
        self._pending = _Pending()
        delay_s = min(_FIRST_DELAY_S * 2 ** (failures - 1), _LAST_DELAY_S)
        if self._stopping.wait(delay_s):
            return LandingStep()
        self.source.close()
        self._open_source()
        return self.step()

    def _open_source(self) -> None:
        """Open the source where it is to go on, under the ask that was in force there."""
        source = _filtering(self.source)
        if source is None:
            self.source.open(self._position)
            return
        if self._asked is None:  # the first time; noted before the source hears of it
            self._note(self._position, self._wanted)
        source.open(self._position, self.asked)

    def _change_ask(self) -> None:
        source, wanted = _filtering(self.source), self._wanted
        if source is None or wanted == self._asked:
            return
        passed = self._pending.position
        self.flush()
        source.change(wanted)
        self._note(self._position if passed is None else passed, wanted)
        if passed is not None:  # records that the source left out lie before it
            self.source.acknowledge(passed)

    def _is_full(self) -> bool:
        if self._max_files is None:
            return False
        standing = sum(1 for one in self.folder.iterdir() if one.name.startswith(f"{self._name}-"))
        return standing >= self._max_files

    def _make_folders(self) -> None:
        for folder in (self.folder, self.rejected):
            try:
                make_folder(folder)
            except OSError as error:
                reason = f"cannot be written: {error.strerror}"
                raise Misuse(reason, code="unwritable-folder", place=Place(str(folder))) from error

    def _land(self, pending: _Pending) -> tuple[Path, ...]:
        self._number += 1
        hidden = self._write(pending)
        self._note(pending.position, self._asked)
        return tuple(self._show(one) for one in hidden)

    def _write(self, pending: _Pending) -> list[Path]:
        written = []
        for folder, lines in ((self.rejected, pending.rejected), (self.folder, pending.lines)):
            if lines:
                path = folder / self._hidden_name(folder, f"{self._number:012d}")
                write_new(path, b"\n".join(lines) + b"\n")
                written.append(path)
        sync_all({path.parent for path in written})  # their names must be there before the position says so
        return written

    def _note(self, position: Position, asked: Ask | None) -> None:
        write_whole(self._position_file(), sealed_note(_Position(self._number, position, asked)))
        self._position, self._asked = position, asked

    def _show(self, hidden: Path) -> Path:
        shown = hidden.with_name(hidden.name.removeprefix("."))
        hidden.rename(shown)
        sync(hidden.parent)
        return shown

    def _recover(self) -> None:
        self._read_position()
        for folder in (self.rejected, self.folder):
            for hidden in folder.glob(self._hidden_name(folder, "[0-9]" * 12)):
                if hidden.name == self._hidden_name(folder, f"{self._number:012d}"):
                    self._show(hidden)
                else:
                    hidden.unlink()

    def _hidden_name(self, folder: Path, number: str) -> str:
        """Other sources may put what they refuse into the same folder; there the name says from which one it is."""
        is_shared = folder == self.rejected and self.rejected.parent != self.folder
        return f".{self._name}-{self.folder.name}-{number}.jsonl" if is_shared else f".{self._name}-{number}.jsonl"

    def _position_file(self) -> Path:
        return self.folder / f".{self._name}.position.json"

    def _read_position(self) -> None:
        found = read_note(self._position_file(), _Position, POSITION)
        self._number, self._position, self._asked = 0, None, None
        if found is not None:
            self._number, self._position = found.number, found.position
            self._asked = found.asked or FOR_EVERYTHING  # a position from before sources were asked

    def _unlock(self) -> None:
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


class _Position(msgspec.Struct, omit_defaults=True):
    """The number of the last file, the position behind it, and what a source that filters is asked for from there."""

    number: int
    position: Any
    asked: Ask | None = None


class _Pending:
    """Records that were taken and are not landed yet."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.rejected: list[bytes] = []
        self.position: Position = None
        self._bytes = 0

    @property
    def count(self) -> int:
        return len(self.lines) + len(self.rejected)

    def add(self, batch: Batch) -> None:
        for record in batch.records:
            line, is_rejected = _landed(record)
            (self.rejected if is_rejected else self.lines).append(line)
            self._bytes += len(line)
        self.position = batch.position

    def due_at_s(self, next_file_at_s: float) -> float | None:
        """When it is to be landed: never if there is nothing, at once if there is much."""
        if not self.count:
            return None
        bounds = limits()
        if self.count >= bounds.max_landed_rows or self._bytes >= bounds.max_landed_bytes:
            return float("-inf")
        return next_file_at_s


def _filtering(source: Source) -> FilteringSource | None:
    """The source, if it says that it filters."""
    if source.capability.filters == "none":
        return None
    if isinstance(source, FilteringSource):
        return source
    message = f"a source says that it filters ({source.capability.filters}), and has no `change`"
    raise Permanent(message, code="broken-connector", hint=f"it is {type(source).__qualname__}")


def _landed(record: Record) -> tuple[bytes, bool]:
    """The line that a record becomes, and whether it is rejected: what is more or less than one line, if not JSON."""
    if record.rejected is not None:
        return _as_json(record.rejected.as_dict()), True
    line = record.line
    if b"\n" not in line and b"\r" not in line and line.strip():
        return line, False
    found = decode(line, line_number=record.number, source_file=record.file)
    if isinstance(found, Rejected):
        return _as_json(found.as_dict()), True
    return msgspec.json.format(line, indent=-1), False


def _as_json(fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode(fields)


def _wake_at(batch: Batch, due_at_s: float | None) -> float | None:
    if batch.records or batch.wake_at_s is None:
        return None
    return batch.wake_at_s if due_at_s is None else min(batch.wake_at_s, due_at_s)


def _lock(path: Path) -> int:
    import fcntl  # where there is no such module, as on Windows, only landing is amiss

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        hint = "stop the other run, or choose another folder"
        raise Misuse("another run lands here", code="landing-in-use", place=Place(str(path)), hint=hint) from None
    return descriptor
