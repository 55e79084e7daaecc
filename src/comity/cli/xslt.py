"""`comity xslt`: mappings of contracts as stylesheets, and stylesheets that are run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from comity.cli.options import FederationArgument, argument, group, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.contract.mapping import Mapping
    from comity.federation.model import Federation

EXAMPLE = "Example:  comity xslt write examples/two_houses --contract fire --member house_a"
WRITE_EXAMPLE = EXAMPLE
RUN_EXAMPLE = "Example:  comity xslt run to_fire.xsl event.xml"

app = group("Print mappings as XSLT, and run stylesheets on events in XML.")


@app.command(epilog=WRITE_EXAMPLE)
def write(
    federation: FederationArgument,
    contract: Annotated[str, option("NAME", "The contract.")],
    member: Annotated[str | None, option("DOMAIN", "From a type of this domain.")] = None,
    observer: Annotated[str | None, option("DOMAIN", "To a type of this domain.")] = None,
    type: Annotated[str | None, option("TYPE", "Of several mappings, that of this type.")] = None,
) -> None:
    """Print a mapping of a contract as a stylesheet that gives the same events."""
    from comity.contract.xslt import to_xslt
    from comity.federation import load

    loaded = load(federation)
    mapping = _mapping(loaded, contract, member, observer, type)
    console().print(to_xslt(mapping, _subtypes(loaded, mapping)), end="", lines=True)


@app.command("run", epilog=RUN_EXAMPLE)
def run_stylesheet(
    stylesheet: Annotated[Path, argument("STYLESHEET", "A file of XSLT.")],
    event: Annotated[Path, argument("EVENT", "A file with one event in XML.")],
    functions: Annotated[Path | None, option("FILE", "Python file with extension functions.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Print what a stylesheet makes of an event. It sees nothing but the event, and the functions given."""
    from comity.contract.xslt import Stylesheet
    from comity.document import read_text
    from comity.event.schemas.xml_text import parse_xml
    from comity.expression.extensions import load_functions

    text = read_text(event)
    parse_xml(text, str(event))
    made = Stylesheet.of(stylesheet, load_functions(functions) if functions else None).run(text)
    if format is Format.JSON:
        write_json({"text": made})
    else:
        console().print(made, lines=True)


def _mapping(federation: Federation, name: str, member: str | None, observer: str | None, type: str | None) -> Mapping:
    contract = federation.contracts.get(name)
    if contract is None:
        known = ", ".join(federation.contracts)
        raise Misuse(f"there is no contract {name!r}", code="unknown-contract", hint=f"known: {known}")
    if (member is None) == (observer is None):
        raise Misuse("whose mapping is not said", code="bad-usage", hint="write --member NAME or --observer NAME")
    role = contract.members if member is not None else contract.observers
    domain = member or observer or ""
    found = [one for one in role.get(domain, ()) if type in (None, _local_type(one, member))]
    if len(found) == 1:
        return found[0]
    if found:
        types = ", ".join(_local_type(one, member) for one in found)
        raise Misuse(f"{domain} has several mappings", code="bad-usage", hint=f"choose with --type: {types}")
    message = f"{domain} is no {'member' if member else 'observer'} of {name} with such a type"
    raise Misuse(message, code="unknown-domain", hint=f"known: {', '.join(role)}")


def _local_type(mapping: Mapping, member: str | None) -> str:
    return mapping.source.name if member is not None else mapping.target.name


def _subtypes(federation: Federation, mapping: Mapping) -> list[str]:
    """The names of the types below the source of a mapping."""
    domain = federation.domains.get(mapping.source.namespace)
    if domain is None:
        return []
    below = domain.taxonomy.subtypes(mapping.source.qualified_name)
    return [one.name for one in below if one.name != mapping.source.name]
