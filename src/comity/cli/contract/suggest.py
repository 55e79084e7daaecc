"""`comity contract suggest`: a proposal for a contract between two types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import FederationArgument, argument, option
from comity.cli.output import console, result_stream, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.contract.suggest import Proposal
    from comity.contract.suggest.names import Vocabulary
    from comity.event.event import Event
    from comity.event.types import EventType
    from comity.federation import Federation

EXAMPLE = "Example:  comity contract suggest examples/two_houses house_a.FireDetected house_b.Brand"


def suggest(
    federation: FederationArgument,
    left: Annotated[str, argument("TYPE_A", "A type, as in house_a.Fire.")],
    right: Annotated[str, argument("TYPE_B", "A type of another domain.")],
    events: Annotated[list[str] | None, option("PATH", "Sample events: a file or folder; may be repeated.")] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Samples of both types with one id tell of the same happening.")
    ] = False,
    name: Annotated[str | None, option("NAME", "Of the new contract; default: after TYPE_A.")] = None,
    out: Annotated[Path | None, option("FILE", "Write the contract file there.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Propose a contract type and the mappings of two types to it.

    Names, kinds, units, concepts and structure count, and the values of sample events. Each pair of attributes comes
    with a confidence and its reasons. The proposal loads as it is; what a person must decide stands on top of it.
    """
    from comity.contract.suggest import contract_text, propose
    from comity.federation import load

    found = load(federation)
    if out is not None and out.exists():
        raise Misuse("this file is there already", code="file-exists", place=Place(str(out)), hint="name another one")
    proposal = propose(
        _type(found, left),
        _type(found, right),
        _samples(found, events or []),
        name=_free_name(found, name, left),
        paired=paired,
        vocabulary=_vocabulary(),
    )
    text = contract_text(proposal)
    if out is not None:
        with result_stream(out) as stream:
            stream.write(text.encode())
    if format is Format.JSON:
        write_json({**proposal.as_dict(), "yaml": text}, indent=2)
    elif out is None:
        console().print(text, end="", lines=True)
    _sum_up(proposal, out)


def _type(federation: Federation, name: str) -> EventType:
    """A type of a domain; a contract type is refused, because contracts are between domains."""
    from comity.document import did_you_mean

    found = federation.find_type(name)
    if found is not None:
        if not federation.domains[found.namespace].publishes(found):
            hint = f"add {found.name} to `publish` in the file of {found.namespace}"
            raise Misuse(f"{found.namespace} does not publish {found.name}", code="not-published", hint=hint)
        return found
    if name.rpartition(".")[0] in federation.contracts:
        hint = "a domain joins it with a mapping under `members` in its file"
        raise Misuse(f"{name} is the type of a contract already", code="contract-of-contracts", hint=hint)
    known = [one.qualified_name for one in federation.local_types()]
    hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
    raise Misuse(f"there is no type {name!r}", code="unknown-type", hint=hint)


def _samples(federation: Federation, paths: list[str]) -> Iterator[Event]:
    """The events of all files; what is none is counted, and told at the end."""
    from comity.event.event import Event
    from comity.event.files import read_events

    rejected = 0
    for path in paths:
        for one in read_events(path, federation.find_type):
            if isinstance(one, Event):
                yield one
            else:
                rejected += 1
    if rejected:
        console(stderr=True).print(f"{rejected:,} records were no events of known types", style="yellow")


def _free_name(federation: Federation, given: str | None, left: str) -> str:
    """The name that was given, or one after the type that nobody has."""
    from comity.contract.suggest import contract_name

    taken = {*federation.domains, *federation.contracts, *federation.inside}
    if given is not None:
        if given in taken or not given.isidentifier():
            hint = "use letters, digits and underscores, and a name that no domain or contract has"
            raise Misuse(f"{given!r} cannot name the contract", code="bad-name", hint=hint)
        return given
    base = contract_name(left.rpartition(".")[2])
    return next(name for name in (base, *(f"{base}_{number}" for number in range(2, 10_000))) if name not in taken)


def _vocabulary() -> Vocabulary:
    from comity.meaning.builtin import builtin

    return builtin()


def _sum_up(proposal: Proposal, out: Path | None) -> None:
    sure = sum(one.sure for one in proposal.attributes)
    where = f"written to {out}: " if out else ""
    counts = f"attributes: {len(proposal.attributes)}, of them sure: {sure}, to decide: {len(proposal.decisions)}"
    console(stderr=True).print(f"{where}{counts}", style="dim")
