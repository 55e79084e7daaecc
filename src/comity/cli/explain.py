"""`comity explain` and `comity why`: what a plan does, and why an event goes where it goes."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import FederationPlace, argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption, TypesOption, read_types
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from rich.console import Console

    from comity.event.event import Event
    from comity.event.formats.jsonlines import Rejected
    from comity.event.taxonomy import Taxonomy
    from comity.expression.clauses import Clause
    from comity.federation import Federation
    from comity.pattern.explain import PatternExplanation
    from comity.plan.asks import LanguageOf
    from comity.plan.explain import Node
    from comity.plan.why import Reasons, WayTaken

EXPLAIN_EXAMPLE = "Example:  comity explain examples/two_houses --profile serious_fires"
WHY_EXAMPLE = "Example:  comity why examples/two_houses --profile serious_fires --event event.json"


LanguageOption = Annotated[
    str | None,
    option("NAME", "As if every source understood this language."),
]


class ExplanationForm(StrEnum):
    """The form of an explanation."""

    TREE = "tree"
    JSON = "json"
    MERMAID = "mermaid"


def explain(
    federation: Annotated[
        str, argument("FEDERATION_DIR", "Folder of YAML files, or its address (s3a://…), or a file of profiles.")
    ],
    profile: Annotated[str | None, option("NAME", "Only what this profile needs.")] = None,
    language: LanguageOption = None,
    types: TypesOption = None,
    format: Annotated[ExplanationForm, typer.Option(help="A tree, JSON, or a Mermaid graph.")] = ExplanationForm.TREE,
) -> None:
    """Show what runs where.

    Per source what is asked of it, what is filtered here, which mapping applies, and who gets the events. Of a
    composite profile its pattern, the correlation key, what is kept for how long, and how it is detected; of a file of
    profiles this alone, over the types of a file if there is one.
    """
    if Path(federation).is_file():
        _explain_file(Path(federation), profile, read_types(types) if types else None, format)
        return
    if types is not None:
        raise Misuse("a federation has its own types, so --types has no place", code="bad-usage")
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
    if format is ExplanationForm.JSON:
        write_json(found.as_dict(), indent=2)
    elif format is ExplanationForm.MERMAID:
        console().print(found.as_mermaid(), lines=True)
    else:
        print_tree(console(), found.as_tree())


def _explain_file(path: Path, profile: str | None, taxonomy: Taxonomy | None, format: ExplanationForm) -> None:
    """Explain the composite profiles of a file."""
    from comity.language.files import read_bound_patterns
    from comity.pattern.explain import explain_patterns, pattern_edges

    explained = explain_patterns(read_bound_patterns(path, taxonomy, composite_only=True))
    found = _only(explained, profile, path)
    if format is ExplanationForm.JSON:
        write_json({"patterns": [one.as_dict() for one in found]}, indent=2)
    elif format is ExplanationForm.MERMAID:
        edges = [line for one in found for line in pattern_edges(one)]
        console().print("\n".join(["flowchart LR", *edges]), lines=True)
    else:
        for one in found:
            print_tree(console(), (f"composite profile {one.bound.name}", one.nodes()))


def _only(explained: tuple[PatternExplanation, ...], profile: str | None, path: Path) -> list[PatternExplanation]:
    """The profile of a name, or all of them; there is at least one."""
    found = [one for one in explained if profile in (None, one.bound.name)]
    if found:
        return found
    place, names = Place(str(path)), ", ".join(one.bound.name for one in explained[:8])
    if profile is not None and explained:
        hint = f"composite profiles in it: {names}"
        raise Misuse(f"there is no composite profile {profile!r}", code="unknown-profile", place=place, hint=hint)
    hint = "a file of simple profiles is explained with its sources: comity explain FEDERATION_DIR"
    raise Misuse("no composite profile is in it", code="no-composite-profile", place=place, hint=hint)


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
    from comity.pattern.explain import tree_lines

    for line in tree_lines(node, lead, below):
        shown.print(line)


def why(
    federation: FederationPlace,
    profile: Annotated[str, option("NAME", "The profile.")],
    event: Annotated[
        str,
        option("FILE", "One event as JSON, or - for standard input; or the first event of a file that `run` reads."),
    ],
    language: LanguageOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say clause by clause why one event is delivered to a profile, or is not.

    Of a composite profile: for which of its operands the event is a candidate. What becomes of several candidates is
    shown by `comity trace`.
    """
    from comity.federation import load
    from comity.plan import compile_plan
    from comity.plan.why import why as find_reasons

    found = load(federation)
    record = _first_record(event, found)
    reasons = find_reasons(
        compile_plan(found),
        profile,
        record,
        sources=found.sources,
        language_of=_language_of(language),
        scope=found.scope_of(profile),
    )
    if format is Format.JSON:
        write_json(_reasons_dict(reasons), indent=2)
    else:
        _print_reasons(console(), reasons)


def _first_record(path: str, federation: Federation) -> Event | Rejected:
    """The first event of a file of whatever form, or why it is none."""
    from comity.event.files import read_events
    from comity.event.formats.jsonlines import decode
    from comity.event.formats.table import format_of

    if path == "-" or (format_of(path).is_plain_lines and not Path(path).is_dir()):
        return decode(_one_line(path), federation.find_type, require_time=True, source_file=path)
    found = next(read_events(path, federation.find_type, require_time=True), None)
    if found is None:
        raise Misuse("there is no event in it", code="no-events", place=Place(path))
    return found


def _one_line(path: str) -> bytes:
    """The first event of a file, which may be spread over several lines when it is the only one."""
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise Misuse(f"cannot be read: {error.strerror}", code="unreadable-file", place=Place(path)) from error
    first, _, _ = content.strip().partition(b"\n")
    return first if first.rstrip().endswith(b"}") else content.strip()


def _print_reasons(shown: Console, reasons: Reasons) -> None:
    from comity.event.formats.jsonlines import Rejected

    if isinstance(reasons.event, Rejected):
        shown.print("not delivered: the record is no event of the federation", style="bold red")
        for fault in reasons.event.faults:
            shown.print(f"  {fault.path} {fault.reason} [{fault.code}]")
        return
    shown.print(_verdict(reasons), style="bold green" if reasons.delivered else "bold red")
    if reasons.outside:
        shown.print(f"  the profile's scope is {', '.join(reasons.outside)}; {reasons.event.type} is outside of it")
    elif reasons.is_own:
        shown.print(f"  {reasons.event.type} is the subscriber's own, and does not come back to it through a contract")
        shown.print("  hint: `own: true` in the profile, or at the observer in the contract, asks for it", style="dim")
    elif not reasons.ways:
        shown.print(f"  no way leads from {reasons.event.type} to this profile")
    for way in reasons.ways:
        print_tree(shown, _way_node(way), "  ", "  ")
    for asked in reasons.asked:
        if not asked.sends:
            shown.print(f"  not sent by {asked.source}, which is asked for {asked.native}")
    if reasons.is_composite:
        hint = "what the pattern makes of several events: comity trace PROFILES EVENTS --profile"
        console(stderr=True).print(f"{hint} {reasons.profile}", style="dim")


def _verdict(reasons: Reasons) -> str:
    if not reasons.is_composite:
        return f"{'delivered' if reasons.delivered else 'not delivered'} to {reasons.profile}"
    if reasons.operands:
        return f"a candidate of {reasons.profile} for {', '.join(reasons.operands)}"
    return f"no candidate of {reasons.profile}"


def _way_node(way: WayTaken) -> Node:
    parts: list[Node] = []
    if way.met_as is not None:
        parts.append((f"as {way.met_as.type}: {_values(way.met_as.data)}", []))
    if way.clause is not None:
        parts.append(_clause_node(way.clause))
    parts += [(f"✗ {fault.path}: {fault.reason} [{fault.code}]", []) for fault in way.faults]
    if way.delivered is not None:
        done = "delivered" if way.operand is None else "candidate"
        parts.append((f"{done} as {way.delivered.type}: {_values(way.delivered.data)}", []))
    if way.key is not None:
        verdict = "✗ in no trace, for it has no key" if way.is_without_key else "in the trace of its key"
        parts.append((f"{verdict}: {_values(way.key)}", []))
    through = f"through contract {way.contract}" if way.contract else "within the domain"
    return (f"{way.operand}: {through}" if way.operand else through), parts


def _clause_node(clause: Clause) -> Node:
    seen = f"   where {_values(clause.values)}" if clause.values else ""
    return f"{'✓' if clause.holds else '✗'} {clause.text}{seen}", [_clause_node(part) for part in clause.parts]


def _values(values: dict[str, Any]) -> str:
    from comity.expression.clauses import values_text

    return values_text(values)


def _reasons_dict(reasons: Reasons) -> dict[str, Any]:
    from comity.event.formats.jsonlines import Rejected

    refused = [fault.as_dict() for fault in reasons.event.faults] if isinstance(reasons.event, Rejected) else []
    ways = [
        {
            "contract": way.contract,
            "clause": None if way.clause is None else _clause_dict(way.clause),
            "faults": [fault.as_dict() for fault in way.faults],
            "delivered": way.delivered is not None,
            **({} if way.operand is None else {"operand": way.operand, "key": _key_dict(way)}),
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
        **({"outside_scope": list(reasons.outside)} if reasons.outside else {}),
        **({"is_own": True} if reasons.is_own else {}),
        **({"candidate_for": list(reasons.operands)} if reasons.is_composite else {}),
    }


def _key_dict(way: WayTaken) -> dict[str, Any] | None:
    from comity.expression.clauses import value_text

    return way.key and {name: None if value is None else value_text(value) for name, value in way.key.items()}


def _clause_dict(clause: Clause) -> dict[str, Any]:
    from comity.expression.clauses import value_text

    values = {name: None if value is None else value_text(value) for name, value in clause.values.items()}
    parts = [_clause_dict(part) for part in clause.parts]
    return {"text": clause.text, "holds": clause.holds, "values": values, "parts": parts}
