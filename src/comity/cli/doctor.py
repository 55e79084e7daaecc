"""`comity doctor`: whether this machine can run Comity, and what to do if not."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.failure import FAILED
from comity.cli.options import option
from comity.cli.output import console, write_json
from comity.cli.progress import is_shown
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.run.doctor import Check, Found

EXAMPLE = "Example:  comity doctor --out results --spark"

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failure": ("✗", "bold red")}


def doctor(
    master: Annotated[str | None, option("URL", "Spark master that shall be used.")] = None,
    out: Annotated[Path | None, option("DIR", "Folder for results.")] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=1, max=65_535, help="A port that shall be used here.", show_default=False),
    ] = None,
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark, and run a small job.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Check Python, Java, memory, disks, permissions, sockets and Spark.

    Leaves with 0 if Comity can run here (there may be warnings), and with 1 if it cannot; each line that is no ✓ says
    what to do.
    """
    from comity.run.doctor import Status, checks

    found: list[tuple[Check, Found]] = []
    for check in checks(master=master, out=out, port=port, spark=spark):
        with _working(check.name, format):
            found.append((check, check.run()))
        if format is Format.TEXT:
            _print(*found[-1])
    failures = sum(one.status is Status.FAILURE for _, one in found)
    warnings = sum(one.status is Status.WARNING for _, one in found)
    if format is Format.JSON:
        write_json({"ok": not failures, "checks": [_as_dict(check, one) for check, one in found]}, indent=2)
    else:
        told = f"{len(found)} checks, {failures or 'none'} failed, {warnings or 'none'} with a warning"
        console(stderr=True).print(told, style="red" if failures else "green")
    if failures:
        raise typer.Exit(FAILED)


def _working(name: str, format: Format) -> Any:
    return console(stderr=True).status(f"checking {name}") if is_shown(format) else nullcontext()


def _print(check: Check, found: Found) -> None:
    mark, style = _MARKS[found.status.value]
    shown = console()
    shown.print(mark, style=style, end="")
    shown.print(f" {check.name}: {found.text}")
    if found.hint:
        shown.print(f"    hint: {found.hint}", style="dim")


def _as_dict(check: Check, found: Found) -> dict[str, Any]:
    return {"check": check.name, "status": found.status.value, "found": found.text, "hint": found.hint}
