"""Who may write into a results folder: one run or stream at a time, which finds it empty, or goes on with it.

A lock is a file that the operating system holds for a process, so one that dies holds none. It goes with its holder;
because somebody else may have opened it meanwhile, whoever gets a lock looks whether its file is still in the folder.
Results do not stand in one another: emptying the outer folder would remove the inner one, and what a batch replaces is
looked for by its name at any depth.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from comity.connect.folder import CHECKPOINT, DEAD_LETTERS, LANDING, QUARANTINE, STAGING
from comity.errors import Misuse, Place

LOCK, REPLAY_LOCK = ".lock", ".replay.lock"
RUN_FILE = ".run.json"
"""Where a run remembers which federation it ran."""
_LOG_OF_TABLE = "_delta_log"
KEPT_INPUT = "stdin.jsonl"
"""Standard input, as a run over stored events keeps it below `.landing`."""
_MARKS = (RUN_FILE, LOCK, CHECKPOINT, ".delivered.db")
"""What stands in a results folder, and nowhere else in it."""

_claimed: ContextVar[frozenset[Path]] = ContextVar("comity_claimed_folders", default=frozenset())


class FolderLock:
    """A lock that is held until it is closed; a second time does nothing."""

    def __init__(self, path: Path | None = None, handle: int = -1) -> None:
        self._path, self._handle = path, handle

    def close(self) -> None:
        """Leave the folder to others."""
        if self._path is None:
            return
        with suppress(BlockingIOError):  # others that share it
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._path = None


def lock_folder(out: Path) -> FolderLock:
    """The folder for this caller alone; refused while another one has it.

    Inside of `claimed_folder` it is the caller's already.
    """
    if out.resolve() in _claimed.get():
        return FolderLock()
    _check_not_inside(out)
    with _writing(out):
        out.mkdir(parents=True, exist_ok=True)
        return _locked(out, LOCK, "a run or a stream is working on this folder")


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """The folder for the length of a block, as `lock_folder` gives it."""
    lock = lock_folder(out)
    try:
        yield
    finally:
        lock.close()


@contextmanager
def shared_for_replay(out: Path) -> Iterator[None]:
    """Nobody empties the folder while the block runs; runs and streams may work on it."""
    with _writing(out):
        lock = _locked(out, REPLAY_LOCK, "the results in this folder are being replaced", is_shared=True)
    try:
        yield
    finally:
        lock.close()


@contextmanager
def claimed_folder(out: Path, *, overwrite: bool, goes_on: bool = False) -> Iterator[None]:
    """An empty folder for results, for the caller alone while the block runs.

    One that holds results is refused unless it may be overwritten; a stream `goes_on` with what is there. When the
    block fails before there are results, the folder is as if it had not been tried.
    """
    if out.exists() and not out.is_dir():
        raise Misuse("this is not a folder", code="not-a-folder", place=Place(str(out)))
    made = _missing(out)
    lock = lock_folder(out)
    try:
        with _claim(out, lock, is_made=out in made):
            with _writing(out):
                _check_none_inside(out)
                if overwrite or not goes_on:
                    _empty(out, overwrite=overwrite)
            yield
    except BaseException:
        _remove_empty(made)
        raise


def _check_not_inside(out: Path) -> None:
    for above in out.resolve().parents:
        is_hidden = out.resolve().relative_to(above).parts[0].startswith(".")
        if is_hidden and above in _claimed.get():  # a backtest works in a hidden folder of the one that it has
            continue
        if (above / RUN_FILE).is_file() or _is_held(above / LOCK):
            reason = f"the folder above it, {above}, holds results"
            hint = "choose a folder that is not inside of another results folder"
            raise Misuse(reason, code="folder-in-use", place=Place(str(out)), hint=hint)


def _check_none_inside(out: Path) -> None:
    """Results right below are found here, those further down when the folder is emptied."""
    for mark in _MARKS:
        if (path := next(out.glob(f"[!.]*/{mark}"), None)) is not None:
            reason = "this folder holds results of its own, the one around it is left alone"
            raise Misuse(reason, code="foreign-file", place=Place(str(path.parent)))


def _is_held(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(handle)


@contextmanager
def _claim(out: Path, lock: FolderLock, *, is_made: bool) -> Iterator[None]:
    token = _claimed.set(_claimed.get() | {out.resolve()})
    try:
        yield
    except BaseException:
        with suppress(OSError):
            _withdraw(out, is_made=is_made)
        raise
    finally:
        _claimed.reset(token)
        lock.close()


def _locked(out: Path, name: str, reason: str, *, is_shared: bool = False) -> FolderLock:
    path = out / name
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            hint = "end it first, or choose another folder"
            raise Misuse(reason, code="folder-in-use", place=Place(str(out)), hint=hint) from None
        except OSError:
            os.close(handle)
            raise
        if _is_at(path, handle):
            return FolderLock(path, handle)
        os.close(handle)  # its holder has removed it since


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "locks do not work on this disk" if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP) else None
        reason = f"cannot be written: {error.strerror}"
        raise Misuse(reason, code="unwritable-folder", place=Place(str(out)), hint=hint) from error


def _empty(out: Path, *, overwrite: bool) -> None:
    """Remove what an earlier run wrote; anything else in the folder is not ours to remove."""
    if not _has_results(out):
        _remove_leftovers(out)
        return
    if not overwrite:
        raise _not_empty(out)
    for path in out.rglob("*"):
        if path.is_file() and not _is_result(path, out):
            reason = "this file is no result of a run, the folder is left alone"
            raise Misuse(reason, code="foreign-file", place=Place(str(path)))
    replay = _locked(out, REPLAY_LOCK, "comity replay is working on this folder")
    try:
        _remove_all(out)
    finally:
        replay.close()


def _not_empty(out: Path) -> Misuse:
    place = Place(str(out))
    if (out / STAGING).exists():
        hint = "pass --overwrite to do it again, or choose another folder"
        reason = "an earlier run was cut off here while it published its results, so they are not complete"
        return Misuse(reason, code="not-empty", place=place, hint=hint)
    hint = "choose another folder, or pass --overwrite"
    return Misuse("the folder for results is not empty", code="not-empty", place=place, hint=hint)


def _is_result(path: Path, out: Path) -> bool:
    inside = path.relative_to(out).parts
    if not inside[0].startswith(".") and any(name in _MARKS for name in inside[1:]):
        return False  # it belongs to results in a folder of their own
    is_ours = path.name.startswith(("part-", "batch-", "landed-")) or inside[0] in (DEAD_LETTERS, QUARANTINE)
    is_ours |= _LOG_OF_TABLE in inside
    return is_ours or any(name.startswith(".") for name in inside)


def _has_results(out: Path) -> bool:
    """Whether there is more than a run leaves that was cut off before it had results."""
    return any(not path.is_dir() and not _is_leftover(path, out) for path in out.rglob("*"))


def _is_leftover(path: Path, out: Path) -> bool:
    top = path.relative_to(out).parts[0]
    if top == LANDING:  # what a live source has landed there was promised to its sender
        return path.name == KEPT_INPUT or path.name.endswith(".lock")
    return top in (LOCK, REPLAY_LOCK, RUN_FILE) or top.startswith((STAGING, ".backtest-"))


def _remove_leftovers(out: Path) -> None:
    for path in out.iterdir():
        if path.name != LOCK and path.name.startswith((RUN_FILE, STAGING, ".backtest-", LANDING)):
            _remove(path)


def _remove_all(out: Path) -> None:
    """Everything but the locks, which go when they are no longer held."""
    for path in out.iterdir():
        if path.name not in (LOCK, REPLAY_LOCK):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _withdraw(out: Path, *, is_made: bool) -> None:
    if _has_results(out):
        return
    if is_made:
        _remove_all(out)
    else:
        _remove_leftovers(out)


def _missing(out: Path) -> list[Path]:
    """The folders that have to be made, the innermost first."""
    return [path for path in (out, *out.parents) if not path.exists()]


def _remove_empty(made: list[Path]) -> None:
    for path in made:
        with suppress(OSError):  # somebody else put something there
            path.rmdir()
