"""`comity profiles`: add, remove and list the profiles of a federation, also of one that is running."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import FederationArgument, argument, group, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.federation.change import Change, ListedProfile
    from comity.federation.new_profile import NewProfile

EXAMPLE = "Example:  comity profiles list examples/two_houses"
ADD_EXAMPLE = (
    "Example:  comity profiles add examples/two_houses cellar_fires --domain fire_station --on Incident "
    "--where \"where_inside = 'cellar'\""
)
REMOVE_EXAMPLE = "Example:  comity profiles remove examples/two_houses cellar_fires"
LIST_EXAMPLE = "Example:  comity profiles list examples/two_houses --format json"

_SHOWN = 20
_NEXT = "a running stream takes it up with its next batch"

app = group("Add, remove and list the profiles of a federation, also while it runs.")

DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check, and show what would change; write nothing.")]


@app.command(epilog=ADD_EXAMPLE)
def add(
    federation: FederationArgument,
    name: Annotated[str | None, argument("NAME", "The new profile.")] = None,
    domain: Annotated[str | None, option("NAME", "The domain that subscribes.")] = None,
    on: Annotated[str | None, option("TYPE", "The type that it is about, or a pattern over types.")] = None,
    where: Annotated[str, typer.Option(metavar="FILTER", help="Which of its events.")] = "true",
    duplicates: Annotated[str | None, option("MODES", "Of a pattern: how operands choose.")] = None,
    consume: Annotated[str | None, option("MODE", "Of a pattern: keep, delete or reapply.")] = None,
    limit: Annotated[int | None, option("N", "Of a pattern: events that an operand keeps at most.")] = None,
    ties: Annotated[str | None, option("ATTRIBUTE", "Of a pattern: orders events of one time.")] = None,
    description: Annotated[str | None, option("TEXT", "For readers.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change a profile that is there.")] = False,
    file: Annotated[Path | None, option("FILE", "File in DIR for new ones; default: profiles/DOMAIN.yaml.")] = None,
    many: Annotated[
        str | None,
        option("FILE", "YAML file of many, or with --domain composite ones as text; - is standard input.", "--from"),
    ] = None,
    dry_run: DryRunOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Add a profile, or all profiles of a file, to a federation.

    The whole federation is checked with the change before anything is written, so that a stream never meets half of
    it. Comments and layout of the file stay as they are.
    """
    from comity.federation import change

    said = {"duplicates": duplicates, "consume": consume, "limit": limit, "ties": ties}
    parameters = {word: value for word, value in said.items() if value is not None}
    if many is not None:
        added, source = _of_file(many, domain, given=[name, on, *parameters.values()])
    else:
        added, source = [_of_options(name, domain, on, where, description, parameters)], None
    with _maybe_locked(federation, dry_run):
        done = change.add(federation, added, file=file, replacing=replace, source=source)
        _finish(done, dry_run)
    names = [profile.name for profile in added]
    _tell(done, names, "replaced or added" if replace else "added", dry_run, format)


@app.command(epilog=REMOVE_EXAMPLE)
def remove(
    federation: FederationArgument,
    names: Annotated[list[str], argument("NAME…", "Profiles to take away.")],
    dry_run: DryRunOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Take profiles out of a federation, with the comment lines directly above them."""
    from comity.federation import change

    with _maybe_locked(federation, dry_run):
        done = change.remove(federation, names)
        _finish(done, dry_run)
    _tell(done, list(dict.fromkeys(names)), "removed", dry_run, format)


@app.command("list", epilog=LIST_EXAMPLE)
def list_profiles(federation: FederationArgument, format: FormatOption = Format.TEXT) -> None:
    """List the profiles of a federation: whose, on which type, which events, where it stands, and its worst cost."""
    from comity.federation import load
    from comity.federation.change import listed

    found = listed(federation, load(federation))
    if format is Format.JSON:
        write_json({"profiles": [_as_dict(one) for one in found]}, indent=2)
        return
    shown = console()
    for one in found:
        shown.print(one.profile.name, style="bold", end="")
        shown.print(f"  {one.profile.domain} on {_on(one)}", end="")
        shown.print(f"  {one.place.file}:{one.place.line}  up to {one.cost.total:,} ns an event", style="dim")
        shown.print("    " + one.written.where.replace("\n", "\n    "), lines=True)
        if one.written.parameters:
            shown.print(f"    {', '.join(f'{word} {said}' for word, said in one.written.parameters.items())}")
    console(stderr=True).print(_counted(len(found)), style="dim")


def _of_file(
    path: str, domain: str | None, given: list[str | int | None]
) -> tuple[list[NewProfile], tuple[str, str] | None]:
    """The profiles of a file, and its name and text, if faults can be shown there."""
    from comity.federation.new_profile import read_new_profiles
    from comity.language.files import is_text_form

    if any(one is not None for one in given):
        raise Misuse("the profiles come from a file, so NAME and what is about one have no place", code="bad-usage")
    name, text = _read(path)
    return read_new_profiles(text, name, domain), None if is_text_form(text, name) else (name, text)


def _of_options(
    name: str | None,
    domain: str | None,
    on: str | None,
    where: str,
    description: str | None,
    parameters: dict[str, str | int],
) -> NewProfile:
    """The profile that the options ask for."""
    from comity.federation.new_profile import NewProfile

    if name is None or domain is None or on is None:
        hint = "comity profiles add DIR NAME --domain NAME --on TYPE --where FILTER, or --from FILE"
        raise Misuse("a profile needs a name, a domain and a type", code="bad-usage", hint=hint)
    return NewProfile(name, domain, on.strip(), where.strip(), description, parameters)


def _read(path: str) -> tuple[str, str]:
    from comity.document import read_text
    from comity.limits import limits

    if path != "-":
        return path, read_text(path)
    content = sys.stdin.buffer.read(limits().max_file_bytes + 1)
    try:
        return "standard input", content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Misuse("standard input is not UTF-8 text", code="not-utf-8", hint="save it as UTF-8") from None


def _maybe_locked(federation: Path, dry_run: bool) -> Any:
    from contextlib import nullcontext

    from comity.federation.change import locked

    return nullcontext() if dry_run else locked(federation)


def _finish(change: Change, dry_run: bool) -> None:
    if not dry_run:
        change.apply()


def _tell(change: Change, names: list[str], done: str, dry_run: bool, format: Format) -> None:
    files = [str(path) for path in change.texts]
    if format is Format.JSON:
        costs = {name: cost.total for name, cost in change.costs.items()}
        told = {"profiles": names, "done": not dry_run, "files": files, "cost_ns": costs}
        write_json({**told, "diff": change.diff()} if dry_run else told, indent=2)
        return
    if dry_run:
        console().print(change.diff(), end="", lines=True)
        console(stderr=True).print(f"{_counted(len(names))} would be {done}; nothing was written", style="dim")
        return
    shown = console()
    for name in names[:_SHOWN]:
        cost = f", up to {change.costs[name].total:,} ns an event" if name in change.costs else ""
        shown.print(f"{name}: {done}{cost}")
    if len(names) > _SHOWN:
        shown.print(f"… and {len(names) - _SHOWN:,} more")
    console(stderr=True).print(f"written to {', '.join(files)}; {_NEXT}", style="dim")


def _counted(count: int) -> str:
    return "1 profile" if count == 1 else f"{count:,} profiles"


def _on(one: ListedProfile) -> str:
    """The type that a profile is about, or its pattern in one line."""
    from comity.federation.model import CompositeSubscription
    from comity.pattern.text.render import render_pattern

    if isinstance(one.profile, CompositeSubscription):
        return render_pattern(one.profile.bound.pattern)
    return one.profile.type.qualified_name


def _as_dict(one: ListedProfile) -> dict[str, Any]:
    from comity.federation.model import CompositeSubscription

    told: dict[str, Any] = {
        "name": one.profile.name,
        "domain": one.profile.domain,
        "on": _on(one),
        "where": one.written.where,
        "file": one.place.file,
        "line": one.place.line,
        "cost_ns": one.cost.total,
    }
    if isinstance(one.profile, CompositeSubscription):
        operands = {of.name.rpartition("/")[2]: of.type.qualified_name for of in one.profile.operands}
        told |= {"composite": True, "operands": operands, "parameters": dict(one.written.parameters)}
    return told
