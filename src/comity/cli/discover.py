"""`comity discover`: what the domains of a federation offer, and which contracts there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from comity.cli.options import FederationArgument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.event.types import AttributeType
    from comity.federation.discovery import OfferedDomain
    from comity.federation.model import Contract

EXAMPLE = "Example:  comity discover examples/two_houses --domain fire_station"

_Line = tuple[int, str, str]
"""How far it is indented, what it says, and what it adds in a dim colour."""


def discover(
    federation: FederationArgument,
    domain: Annotated[str | None, option("NAME", "Only this domain, and what it can see.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """List what each domain offers, and which contracts there are.

    A domain offers the types that it publishes. A contract has a type, which every domain of its federation can
    subscribe to under its full name; its observers see it as a type of their own.
    """
    from comity.federation import load
    from comity.federation.discovery import discover as discovered

    found = discovered(load(federation), domain)
    if format is Format.JSON:
        write_json(found.as_dict(), indent=2)
        return
    lines = [line for one in found.domains for line in _domain(one)]
    lines += [line for one in found.contracts for line in _contract(one)]
    shown = console()
    for depth, text, more in lines:
        shown.print("  " * depth + text, style=None if depth else "bold", end="")
        shown.print(f"  {' '.join(more.split())}" if more else "", style="dim")  # a description may have several lines


def _domain(one: OfferedDomain) -> Iterator[_Line]:
    yield (
        0,
        f"domain {one.name}",
        " ".join(
            filter(
                None, (one.federation and f"of {one.federation}" + ("." if one.description else ""), one.description)
            )
        ),
    )
    for offered in one.types:
        notes = ["abstract"] if offered.type.abstract else []
        notes += [f"goes to {', '.join(offered.contracts)}"] if offered.contracts else []
        yield 1, f"offers {offered.type.name}", ", ".join(notes)
        yield from _attributes(offered.type.attributes, 2)
    if one.withheld:
        yield 1, f"keeps to itself {', '.join(one.withheld)}", ""
    for name, kind in one.sources:
        yield 1, f"source {name}", kind
    for seen in one.sees:
        yield 1, f"sees {seen.contract_type} as {seen.as_type.rpartition('.')[2]}", ""
    if one.may_read:
        yield 1, f"can subscribe to {', '.join(one.may_read)}", ""


def _attributes(attributes: Mapping[str, AttributeType], depth: int) -> Iterator[_Line]:
    for name, one in attributes.items():
        yield depth, f"{name}: {one}", f"concept {one.concept}" if one.concept else ""
        yield from _attributes(one.attributes, depth + 1)


def _contract(one: Contract) -> Iterator[_Line]:
    by = f", founded by {one.authority or ' and '.join(one.founders)}" if one.authority or one.founders else ""
    earlier = f", earlier ones {', '.join(map(str, sorted(one.earlier)))}" if one.earlier else ""
    yield 0, f"contract {one.name}", one.description or ""
    yield 1, f"{one.kind}{by}, version {one.version}{earlier}", ""
    yield 1, f"type {one.type.qualified_name}", ""
    yield from _attributes(one.type.attributes, 2)
    for name, given in one.members.items():
        yield 1, f"member {name}", ", ".join(each.source.name for each in given)
    for name, given in one.observers.items():
        yield 1, f"observer {name}", ", ".join(each.target.name for each in given)
