"""`comity fedreg`: subscriptions of FedReg as profiles, and profiles as such subscriptions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import FederationArgument, argument, group, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption, TypesOption, read_types
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.types import EventType

if TYPE_CHECKING:
    from comity.federation.model import Federation
    from comity.profile.profile import Profile

EXAMPLE = "Example:  comity fedreg read watch.xml --domain house_b --federation examples/two_houses"
READ_EXAMPLE = EXAMPLE
WRITE_EXAMPLE = "Example:  comity fedreg write examples/two_houses --profile serious_fires"

app = group("Read and print subscriptions in FedReg, the XML language of federation-level registrations.")


@app.command(epilog=READ_EXAMPLE)
def read(
    file: Annotated[Path, argument("FILE", "A subscription in FedReg.")],
    domain: Annotated[str | None, option("NAME", "The domain that subscribes.")] = None,
    types: TypesOption = None,
    federation: Annotated[Path | None, option("DIR", "The federation whose types the domain can see.")] = None,
    name: Annotated[str | None, option("NAME", "Of the profile; default: that of the file.")] = None,
    at: Annotated[str | None, option("TIMESTAMP", "When it is registered; default: now.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Print the profiles that a subscription stands for, as a file of profiles has them.

    With types the values mean what the type declares; without, what they look like.
    """
    from comity.document import read_text
    from comity.language.fedreg.read import read_fedreg
    from comity.profile.entries import entry_of, write_entries

    known = _types(types, federation, domain)
    registered = _moment(at)
    found = read_fedreg(read_text(file), known, name=name or _name(file), registered=registered, file=str(file))
    if federation is not None and domain is not None:
        _check(found, domain, federation, file)
    if any(one.terms.active for one in found):
        console(stderr=True).print("note: times of day are in UTC, here and in the profiles", style="dim")
    named = [replace(one, domain=domain) for one in found]
    if format is Format.JSON:
        write_json({"profiles": {one.name: entry_of(one) for one in named}}, indent=2)
    else:
        console().print(write_entries(named), end="", lines=True)


@app.command(epilog=WRITE_EXAMPLE)
def write(
    federation: FederationArgument,
    profile: Annotated[list[str], typer.Option(metavar="NAME", help="The profile; may be given again.")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Print profiles of a federation as one subscription.

    What FedReg cannot say is left out, and told: the subscription then asks for more than the profile.
    """
    from comity.federation import load
    from comity.language.fedreg.write import to_fedreg

    loaded = load(federation)
    chosen = [_written(federation, loaded, name) for name in profile]
    printed = to_fedreg([one for one, _ in chosen], {one.on or "": type for one, type in chosen})
    if format is Format.JSON:
        write_json({"text": printed.text, "left": [one.as_dict() for one in printed.left]}, indent=2)
        return
    console().print(printed.text, end="", lines=True)
    for one in printed.left:
        console(stderr=True).print(f"left out: {one}  {one.explanation}", style="yellow")


def _name(file: Path) -> str:
    from comity.event.schemas.names import identifier

    return identifier(file.stem)


def _moment(text: str | None) -> datetime:
    from comity.event.times import parse_timestamp

    if text is None:
        return datetime.now(UTC)
    found = parse_timestamp(text)
    if found is None:
        raise Misuse(f"{text} is no timestamp", code="bad-usage", hint="write --at 2026-01-31T12:00:00Z")
    return found


def _types(types: Path | None, federation: Path | None, domain: str | None) -> dict[str, EventType] | None:
    if types is not None and federation is not None:
        raise Misuse("types come from a file or from a federation", code="bad-usage", hint="leave one of them out")
    if types is not None:
        return {one.name: one for one in read_types(types).types}
    return _visible(federation, domain) if federation is not None else None


def _visible(folder: Path, domain: str | None) -> dict[str, EventType]:
    """The types that a domain can subscribe to: its own, and those of contracts."""
    from comity.federation import load
    from comity.federation.discovery import visible_types

    federation = load(folder)
    own = federation.domains.get(domain or "")
    if own is None:
        message = f"there is no domain {domain!r}" if domain else "the domain that subscribes is not named"
        raise Misuse(message, code="unknown-domain", hint=f"known: {', '.join(federation.domains)}")
    return visible_types(federation, own.name)


def _check(profiles: list[Profile], domain: str, folder: Path, file: Path) -> None:
    """Refuse what the federation would refuse as a profile of the domain, for whatever reason."""
    from comity.federation.change import check
    from comity.federation.new_profile import NewProfile

    faults: list[ComityError] = []
    for one in profiles:
        line = one.place.line if one.place else None
        faults += [
            Misuse(error.message, code=error.code, place=Place(str(file), line), hint=error.hint)
            for error in check(folder, NewProfile.of(replace(one, domain=domain)))
        ]
    if faults:
        raise Faults(faults)


def _written(folder: Path, federation: Federation, name: str) -> tuple[Profile, EventType]:
    """A profile as its file has it, without what it says about when and whose; that is beside it."""
    from comity.federation.change import profiles_in

    bound = federation.profiles.get(name)
    found = next((one for one in profiles_in(folder) if one.name == name), None)
    if bound is None or found is None:
        composite = name in federation.composites
        message = f"{name!r} is a composite profile" if composite else f"there is no profile {name!r}"
        hint = "FedReg has no patterns" if composite else f"known: {', '.join(federation.profiles)}"
        raise Misuse(message, code="composite-profile" if composite else "unknown-profile", hint=hint)
    return found, bound.type
