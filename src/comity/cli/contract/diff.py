"""`comity contract diff`: what changed in a federation or a contract, and whom it breaks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.failure import FAILED
from comity.cli.options import argument
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.federation.difference import Broken, Difference, Version

EXAMPLE = "Example:  comity contract diff old/city new/city"

_STYLES = {"breaking": "red", "meaning": "yellow", "additive": "green"}


def diff(
    old: Annotated[Path, argument("OLD", "A federation, or a contract file.")],
    new: Annotated[Path, argument("NEW", "The same, changed.")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Show what changed, and which members, observers and profiles it breaks.

    Whom it breaks is found by trying the old mappings and profiles with the new types. Leaves with 0 if nothing
    breaks, and with 1 if something does.
    """
    from comity.federation.difference import difference

    found = difference(old, new)
    if format is Format.JSON:
        write_json(found.as_dict(), indent=2)
    else:
        _print(found)
    if found.breaks:
        raise typer.Exit(FAILED)


def _print(found: Difference) -> None:
    out = console()
    for change in found.changes:
        out.print(f"{change.effect:9}", style=_STYLES[change.effect], end="")
        out.print(f" {change.where}: {change.text}")
    for one in found.broken:
        out.print("mended   " if one.mended else "broken   ", style="yellow" if one.mended else "bold red", end="")
        out.print(f" {_named(one)}: {one.reason}")
    for version in found.versions:
        out.print(f"version   {_advice(version)}")
    if not found.changes:
        out.print("nothing changed")
    _sum_up(found)


def _named(one: Broken) -> str:
    of = f" of the contract {one.contract}" if one.contract and one.role in ("member", "observer") else ""
    return f"{one.role} {one.name}{of}"


def _advice(one: Version) -> str:
    """What to do about a contract's version."""
    if one.breaks and not one.migrated:
        return (
            f"{one.contract}: make it version {one.suggested}, and put version {one.old} under "
            f"`earlier: [{{version: {one.old}, types: …, upgrade: …, downgrade: …}}]`, "
            "so that who knows it can keep to it"
        )
    if one.new < one.suggested:
        return f"{one.contract}: make it version {one.suggested}, it was {one.old}"
    migrated = f", and who knows version {one.old} can keep to it" if one.migrated else ""
    return (
        f"{one.contract}: {one.new} instead of {one.old}{migrated}"
        if one.new != one.old
        else f"{one.contract}: stays {one.old}"
    )


def _sum_up(found: Difference) -> None:
    broken = sum(not one.mended for one in found.broken)
    told = console(stderr=True)
    if not found.breaks:
        is_harmless = not any(one.effect == "breaking" for one in found.changes)
        told.print("nothing breaks" if is_harmless else "nobody in this federation breaks", style="green")
    elif broken:
        what = "1 member, observer or profile" if broken == 1 else f"{broken} members, observers and profiles"
        told.print(f"{what} would break: change them, too, or keep the old version under `earlier`", style="red")
    else:
        told.print("a contract changed for those who know its old version: keep that under `earlier`", style="red")
