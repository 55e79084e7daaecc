"""`comity gateway`: the gateway of a domain, which has a folder and a key of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from comity.cli.keys import public_key, read_key_text
from comity.cli.options import argument, group, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.run.gateway.exchange import ExchangeReport

EXAMPLE = "Example:  comity gateway sync house"

app = group("The gateway of a domain: let a folder have one, and exchange messages with the others.")

DomainFolder = Annotated[Path, argument("DOMAIN_DIR", "Folder of a domain that has a gateway.")]


@app.command(
    epilog="Example:  comity gateway init house --key house.key --identity house.identity --authority street.key.pub "
    "--broker comity://127.0.0.1:7470"
)
def init(
    folder: Annotated[Path, argument("DOMAIN_DIR", "Folder of YAML files with the domain.")],
    key: Annotated[Path, option("FILE", "The private key of the domain; it is copied.", "--key")],
    identity: Annotated[Path, option("FILE", "What the authority says of it.", "--identity")],
    authority: Annotated[Path, option("FILE", "The public key of the authority.", "--authority")],
    broker: Annotated[str, option("URL", "A broker with a store, through which gateways meet.", "--broker")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Let a folder have a gateway: who the domain is, and where it meets the others. Nothing is sent yet."""
    from comity.client.address import BrokerUrl
    from comity.gateway.keys import DomainKey, read_identity
    from comity.run.gateway.folder import GatewaySettings, make_gateway

    document = read_identity(read_key_text(identity))
    settings = GatewaySettings(public_key(authority), str(BrokerUrl.read(broker)))
    make_gateway(folder, DomainKey.of_text(read_key_text(key)), document, settings)
    if format is Format.JSON:
        write_json({"domain": document.domain, "federation": document.federation, "broker": broker})
    else:
        console().print(f"{folder} has a gateway: {document.domain} in {document.federation}, by way of {broker}")


@app.command(epilog=EXAMPLE)
def sync(folder: DomainFolder, format: FormatOption = Format.TEXT) -> None:
    """Exchange messages with the other gateways, and keep the files of what came of it.

    What others said meanwhile has waited at the broker. The contracts in force, and what other domains publish, are
    files in the folder then.
    """
    from comity.run.gateway.administer import synchronise

    opened, report = synchronise(folder)
    if format is Format.JSON:
        write_json({"domain": opened.domain, **told_report(report)})
        return
    console().print(f"{opened.domain}: {report.taken} messages of others, {report.sent} of ours")
    print_report(report)


def told_report(report: ExchangeReport) -> dict[str, Any]:
    """What an exchange brought, for programs."""
    return {
        "taken": report.taken,
        "sent": report.sent,
        "domains": sorted(set(report.domains)),
        "contracts": {one.after.name: one.after.state.value for one in report.changes},
        "refused": [one.as_dict() for one in report.refused],
        "rejected": [{"code": one.code, "message": one.text} for one in report.rejections],
    }


def print_report(report: ExchangeReport) -> None:
    """What an exchange brought, line by line."""
    for name in sorted(set(report.domains)):
        console().print(f"{name} says what it publishes")
    for change in report.changes:
        console().print(contract_line(change.after))
    for refused in report.refused:
        console(stderr=True).print(f"not taken: {refused.message} [{refused.code}]")
    for rejection in report.rejections:
        console(stderr=True).print(f"rejected by another gateway: {rejection.text} [{rejection.code}]")


def contract_line(agreement: Any) -> str:
    """Where a contract stands, in a line."""
    parts = [f"{agreement.name} is {agreement.state.value}"]
    if agreement.current is not None:
        parts.append(f"between {', '.join(sorted(agreement.parties))}" if agreement.parties else "without parties")
    for form in agreement.proposed:
        if form.refused:
            why = "; ".join(f"{who}: {reason}" if reason else who for who, reason in sorted(form.refused.items()))
            parts.append(f"form {form.revision.digest[:12]} is refused by {why}")
        else:
            parts.append(f"form {form.revision.digest[:12]} awaits {', '.join(sorted(form.awaits))}")
    return ", ".join(parts)
