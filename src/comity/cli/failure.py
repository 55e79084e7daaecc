"""What a failed command says, and its exit code."""

from __future__ import annotations

import os
import traceback

from comity.cli.output import console, write_json
from comity.cli.session import Format, Session
from comity.errors import ComityError, Faults, Misuse

BAD_INPUT, FAILED, BUG, INTERRUPTED, TERMINATED = 2, 1, 70, 130, 143


def report(error: Exception, session: Session) -> int:
    """Say what went wrong on standard error; gives the exit code."""
    if isinstance(error, ComityError):
        show(errors_in(error), session.format)
        return BAD_INPUT if isinstance(error, Misuse) else FAILED
    verbose = session.verbose or os.environ.get("COMITY_DEBUG", "") not in ("", "0")
    if verbose:
        console(stderr=True).print("".join(traceback.format_exception(error)), end="", lines=True)
    if isinstance(error, OSError):
        show([ComityError(str(error), code="system-error")], session.format)
        return FAILED
    hint = None if verbose else "this is a bug in comity; `comity -v …` or COMITY_DEBUG=1 shows the traceback"
    message = f"unexpected {type(error).__name__}: {_first_line(error)}"
    show([ComityError(message, code="internal-error", hint=hint)], session.format)
    return BUG


def errors_in(error: ComityError) -> list[ComityError]:
    """The single errors."""
    if isinstance(error, Faults):
        return [single for one in error.errors for single in errors_in(one)]
    return [error]


def show(errors: list[ComityError], form: Format) -> None:
    """Every error with its place, the excerpt and the hint."""
    if form is Format.JSON:
        write_json({"errors": [error.as_dict() for error in errors]}, stderr=True)
        return
    out = console(stderr=True)
    for error in errors:
        out.print("error: ", style="bold red", end="")
        out.print(str(error), lines=True)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0][:300] if lines else ""
