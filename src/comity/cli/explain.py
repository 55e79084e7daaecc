"""`comity explain` and `comity why`: what a plan does, and why an event goes where it goes."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from rich.console import Console

    from comity.expression.clauses import Clause
    from comity.plan.asks import LanguageOf
    from comity.plan.explain import Node
    from comity.plan.why import Reasons, Way

EXPLAIN_EXAMPLE = "Example:  comity explain examples/active_city --profile serious_fires"
WHY_EXAMPLE = "Example:  comity why examples/active_city --profile serious_fires --event event.json"

FederationArgument = Annotated[
    Path, typer.Argument(metavar="FEDERATION_DIR", help="Folder of YAML files.", show_default=False)
]


LanguageOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="As if every source understood this language.", show_default=False),
]


class Shape(StrEnum):
    """The form of an explanation."""

    TREE = "tree"
    JSON = "json"
    MERMAID = "mermaid"


def explain(
    federation: FederationArgument,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what this profile needs.", show_default=False)
    ] = None,
    language: LanguageOption = None,
    format: Annotated[Shape, typer.Option(help="A tree, JSON, or a Mermaid graph.")] = Shape.TREE,
) -> None:
    """Show what runs where.

    Per source what is asked of it, what is filtered here, which mapping applies, and who gets the events.
    """
    from comity.federation import load
    from comity.plan import compile_plan
    from comity.plan.explain import explain as explain_plan

    loaded = load(federation)
    found = explain_plan(
        compile_plan(loaded),
        profile,
        sources=loaded.sources,
        sinks=loaded.sinks,
        language_of=_language_of(language),
    )
    if format is Shape.JSON:
        write_json(found.as_dict(), indent=2)
    elif format is Shape.MERMAID:
        console().print(found.as_mermaid())
    else:
        print_tree(console(), found.as_tree())


def _language_of(name: str | None) -> LanguageOf:
    """What sources understand: what their connectors say, or one language for all of them."""
    from comity.language.languages import language
    from comity.plan.asks import language_of

    if name is None:
        return language_of
    chosen = language(name)
    return lambda source: chosen


def print_tree(shown: Console, node: Node, lead: str = "", below: str = "") -> None:
    """Nested lines with the branches of a tree in front."""
    text, inner = node
    shown.print(lead + text)
    for number, part in enumerate(inner, start=1):
        last = number == len(inner)
        print_tree(shown, part, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))


def why(
    federation: FederationArgument,
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile.", show_default=False)],
    event: Annotated[
        str, typer.Option(metavar="FILE", help="One event as JSON, or - for standard input.", show_default=False)
    ],
    language: LanguageOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say clause by clause why one event is delivered to a profile, or is not."""
    from comity.event.jsonlines import decode
    from comity.federation import load
    from comity.plan import compile_plan
    from comity.plan.why import why as find_reasons

    found = load(federation)
    line = _one_line(event)
    record = decode(line, found.find_type, require_time=True, source_file=event)
    reasons = find_reasons(
        compile_plan(found), profile, record, sources=found.sources, language_of=_language_of(language)
    )
    if format is Format.JSON:
        write_json(_reasons_dict(reasons), indent=2)
    else:
        _print_reasons(console(), reasons)


def _one_line(path: str) -> bytes:
    """The first event of a file, which may be spread over several lines when it is the only one."""
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise Misuse(f"cannot be read: {error.strerror}", code="unreadable-file", place=Place(path)) from error
    first, _, _ = content.strip().partition(b"\n")
    return first if first.rstrip().endswith(b"}") else content.strip()


def _print_reasons(shown: Console, reasons: Reasons) -> None:
    from comity.event.jsonlines import Rejected

    if isinstance(reasons.event, Rejected):
        shown.print("not delivered: the record is no event of the federation", style="bold red")
        for fault in reasons.event.faults:
            shown.print(f"  {fault.path} {fault.reason} [{fault.code}]")
        return
    verdict, style = ("delivered", "bold green") if reasons.delivered else ("not delivered", "bold red")
    shown.print(f"{verdict} to {reasons.profile}", style=style)
    if not reasons.ways:
        shown.print(f"  no way leads from {reasons.event.type} to this profile")
    for way in reasons.ways:
        print_tree(shown, _way_node(way), "  ", "  ")
    for asked in reasons.asked:
        if not asked.sends:
            shown.print(f"  not sent by {asked.source}, which is asked for {asked.native}")


def _way_node(way: Way) -> Node:
    parts: list[Node] = []
    if way.met_as is not None:
        parts.append((f"as {way.met_as.type}: {_values(way.met_as.data)}", []))
    if way.clause is not None:
        parts.append(_clause_node(way.clause))
    parts += [(f"✗ {fault.path}: {fault.reason} [{fault.code}]", []) for fault in way.faults]
    if way.delivered is not None:
        parts.append((f"delivered as {way.delivered.type}: {_values(way.delivered.data)}", []))
    return (f"through contract {way.contract}" if way.contract else "within the domain"), parts


def _clause_node(clause: Clause) -> Node:
    seen = f"   where {_values(clause.values)}" if clause.values else ""
    return f"{'✓' if clause.holds else '✗'} {clause.text}{seen}", [_clause_node(part) for part in clause.parts]


def _values(values: dict[str, Any]) -> str:
    from comity.expression.clauses import values_text

    return values_text(values)


def _reasons_dict(reasons: Reasons) -> dict[str, Any]:
    from comity.event.jsonlines import Rejected

    refused = [fault.as_dict() for fault in reasons.event.faults] if isinstance(reasons.event, Rejected) else []
    ways = [
        {
            "contract": way.contract,
            "clause": None if way.clause is None else _clause_dict(way.clause),
            "faults": [fault.as_dict() for fault in way.faults],
            "delivered": way.delivered is not None,
        }
        for way in reasons.ways
    ]
    asked = [{"source": one.source, "native": one.native, "sends": one.sends} for one in reasons.asked]
    return {
        "profile": reasons.profile,
        "delivered": reasons.delivered,
        "rejected": refused,
        "asked": asked,
        "ways": ways,
    }


def _clause_dict(clause: Clause) -> dict[str, Any]:
    from comity.expression.clauses import value_text

    values = {name: None if value is None else value_text(value) for name, value in clause.values.items()}
    parts = [_clause_dict(part) for part in clause.parts]
    return {"text": clause.text, "holds": clause.holds, "values": values, "parts": parts}
