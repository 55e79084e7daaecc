"""`comity contract propose|show|agree|refuse|join|leave`: contracts among domains that have folders of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from comity.cli.gateway import DomainFolder, contract_line, print_report, told_report
from comity.cli.options import argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.gateway.agreements import Agreement
    from comity.run.gateway.administer import Administered

PROPOSE_EXAMPLE = "Example:  comity contract propose house enter.yaml"
AGREE_EXAMPLE = "Example:  comity contract agree office enter"
REFUSE_EXAMPLE = "Example:  comity contract refuse office enter --reason 'we have no rooms'"
JOIN_EXAMPLE = "Example:  comity contract join shop enter part.yaml"
LEAVE_EXAMPLE = "Example:  comity contract leave office enter"
SHOW_EXAMPLE = "Example:  comity contract show office enter"

ContractArgument = Annotated[str, argument("CONTRACT", "Its name, or the beginning of its first digest.")]
RevisionOption = Annotated[str, option("DIGEST", "The beginning of the digest of a form.", "--revision")]
ReasonOption = Annotated[str, option("TEXT", "Why; the others read it.", "--reason")]


def propose(
    folder: DomainFolder,
    file: Annotated[Path, argument("FILE", "The contract, as a file of a federation has it.")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Propose a contract to its parties, or another form of one.

    It is checked with the files of the domain, and with what the others publish. It holds when those have agreed who
    must: both founders, or the authority, and each party of which it says something new.
    """
    from comity.run.gateway import administer

    _tell(administer.propose(folder, file), format)


def agree(
    folder: DomainFolder, name: ContractArgument, revision: RevisionOption = "", format: FormatOption = Format.TEXT
) -> None:
    """Agree to the form of a contract that others proposed, exactly as it is, if it fits the files of the domain."""
    from comity.run.gateway import administer

    _tell(administer.agree(folder, name, revision), format)


def refuse(
    folder: DomainFolder,
    name: ContractArgument,
    reason: ReasonOption = "",
    revision: RevisionOption = "",
    format: FormatOption = Format.TEXT,
) -> None:
    """Refuse the form of a contract that others proposed, or take back one of our own."""
    from comity.run.gateway import administer

    _tell(administer.refuse(folder, name, reason, revision), format)


def join(
    folder: DomainFolder,
    name: ContractArgument,
    file: Annotated[Path, argument("FILE", "What the domain adds, below `members:` or `observers:`.")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Ask to take part in a contract that is in force. Its founders, or its authority, must agree."""
    from comity.run.gateway import administer

    _tell(administer.join(folder, name, file), format)


def leave(
    folder: DomainFolder, name: ContractArgument, reason: ReasonOption = "", format: FormatOption = Format.TEXT
) -> None:
    """Take part in a contract no longer. Nobody has to agree to that; one of two domains is suspended by it."""
    from comity.run.gateway import administer

    _tell(administer.leave(folder, name, reason), format)


def show(
    folder: DomainFolder,
    name: Annotated[str | None, argument("CONTRACT", "Only this one, with what it says.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show where contracts stand, as far as this domain has heard; nothing is asked of others."""
    from comity.gateway.agreements import agreements
    from comity.gateway.contract_steps import contract_named
    from comity.run.gateway.folder import open_gateway

    with open_gateway(folder) as opened:
        facts = opened.notes.state.facts
    found = agreements(facts) if name is None else (contract_named(facts, name),)
    if format is Format.JSON:
        write_json([told_agreement(one) for one in found])
        return
    for one in found:
        console().print(contract_line(one))
        if name is not None:
            _print_forms(one)
    if not found:
        console(stderr=True).print("nobody has proposed a contract yet")


def _print_forms(agreement: Agreement) -> None:
    from comity.document import write_yaml

    in_force = agreement.in_force()
    forms = {"in force": in_force} if in_force is not None else {}
    forms |= {f"form {one.revision.digest[:12]}": one.revision.declaration for one in agreement.proposed}
    for title, declaration in forms.items():
        console().print(f"\n{title}:\n{write_yaml(declaration).rstrip()}", lines=True)


def told_agreement(agreement: Agreement) -> dict[str, Any]:
    """A contract for programs."""
    proposed = [
        {
            "revision": one.revision.digest,
            "awaits": sorted(one.awaits),
            "refused": dict(sorted(one.refused.items())),
            "declaration": one.revision.declaration,
        }
        for one in agreement.proposed
    ]
    told: dict[str, Any] = {"contract": agreement.name, "first": agreement.first, "state": agreement.state.value}
    if agreement.current is not None:
        told |= {"revision": agreement.current.digest, "parties": sorted(agreement.parties)}
    return told | {"in_force": agreement.in_force(), "proposed": proposed}


def _tell(done: Administered, format: Format) -> None:
    if format is Format.JSON:
        told = {"revision": done.revision.digest, **told_agreement(done.agreement)}
        write_json({**told, "heard": told_report(done.report)})
        return
    console().print(contract_line(done.agreement))
    others = [one for one in done.report.changes if one.after.first != done.agreement.first]
    done.report.changes[:] = others
    print_report(done.report)
