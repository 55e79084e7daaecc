"""Notes the packages of Comity in the order in which a process enters them; Python runs it when it starts.

Each line of the notes is the number of the process, what it carries, and the package. A process carries subscriptions
until it first reads events.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType

_MARK = os.sep + os.path.join("src", "comity") + os.sep
_READING = (
    "event/files.py",
    "event/formats/jsonlines.py",
    "event/formats/table.py",
    "event/places.py",
    "event/scan/scanner.py",
)
_FUNCTIONS = {"decode", "fitting", "read_or_reject", "scan"}

_known: dict[CodeType, str | None] = {}
_entered: set[tuple[str, str]] = set()
_carried = "subscription"


def _package(code: CodeType) -> str | None:
    _, mark, inner = code.co_filename.rpartition(_MARK)
    return inner.split(os.sep)[0] if mark and os.sep in inner and code.co_name != "<module>" else None


def _is_loading(frame: FrameType | None) -> bool:
    """Whether this is done because a module is loaded, and not for a subscription or an event."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and _MARK in code.co_filename and not code.co_filename.endswith("__main__.py"):
            return True
        frame = frame.f_back
    return False


def _note(frame: FrameType, event: str, argument: object) -> None:
    global _carried
    if event != "call":
        return
    code = frame.f_code
    if code not in _known:
        _known[code] = _package(code)
        if code.co_name in _FUNCTIONS and code.co_filename.replace(os.sep, "/").endswith(_READING):
            _carried = "event"
    package = _known[code]
    if package is not None and (_carried, package) not in _entered and not _is_loading(frame):
        _entered.add((_carried, package))
        with open(os.environ["COMITY_TRACE"], "a") as notes:
            notes.write(f"{os.getpid()} {_carried} {package}\n")


def _forget() -> None:
    """In a forked process: what it enters is its own."""
    _entered.clear()


if "COMITY_TRACE" in os.environ:
    os.register_at_fork(after_in_child=_forget)
    threading.setprofile(_note)
    sys.setprofile(_note)
