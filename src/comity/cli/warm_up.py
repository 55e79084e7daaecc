"""`comity warm-up`: what makes later starts of Spark quick."""

from __future__ import annotations

from typing import Annotated

import typer

from comity.cli.output import console, write_json
from comity.cli.screen import Screen
from comity.cli.session import Format, FormatOption

EXAMPLE = "Example:  comity warm-up"
_MEGABYTE = 1_000_000


def warm_up(
    again: Annotated[bool, typer.Option("--again", help="Also if it was done before.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Let Spark start in half the time from now on.

    Runs some examples, and keeps what Java loads for them in an archive in the user's cache folder (some 150 MB), which
    every later start on this machine takes its classes from. It takes about a minute, once for each Java and Spark.
    """
    from comity.run.warm_up import warm_up as make

    done = make(Screen(format), again=again)
    size = done.archive.stat().st_size
    if format is Format.JSON:
        write_json({"archive": str(done.archive), "bytes": size, "new": done.is_new})
        return
    told = "" if done.is_new else " already; --again makes it anew"
    console().print(f"Spark starts from {done.archive} ({size // _MEGABYTE} MB){told}")
