"""`comity concepts`: look at an ontology, convert what is said in its terms, write it as RDF and check one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import argument, group, option
from comity.cli.output import console, refuse_overwriting, result_stream, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.meaning.concept import Concept
    from comity.meaning.ontology import Ontology

EXAMPLE = "Example:  comity concepts list"
LIST_EXAMPLE = "Example:  comity concepts list --below Location"
SHOW_EXAMPLE = "Example:  comity concepts show Humidity"
CONVERT_EXAMPLE = "Example:  comity concepts convert '<Distance, 3850, {<Unit, \"mile\">}>' --to '{unit: km}'"
EXPORT_EXAMPLE = "Example:  comity concepts export --output comity.ttl"
IMPORT_EXAMPLE = "Example:  comity concepts import city.ttl"

app = group("List, show and convert by the concepts of an ontology; write and check ontologies.")

OntologyOption = Annotated[
    Path | None,
    option("FILE", "Turtle or YAML file of more concepts, on top of ours.", "--ontology"),
]


@app.command("list", epilog=LIST_EXAMPLE)
def list_concepts(
    ontology: OntologyOption = None,
    below: Annotated[str | None, option("CONCEPT", "Only this one and its kinds.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """List the concepts, kinds below what they are kinds of."""
    known = _ontology(ontology)
    if format is Format.JSON:
        found = [one for one in known if below is None or known.is_a(one.name, below)]
        write_json([_described(known, one) for one in found])
        return
    tops = [known.concept(below)] if below else [one for one in known if not one.broader]
    for one in tops:
        _print_tree(known, one, 0)


@app.command(epilog=SHOW_EXAMPLE)
def show(
    word: Annotated[str, argument("CONCEPT", "Its name or any of its words.")],
    ontology: OntologyOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show a concept: what it is a kind of, its words, and what a value of it must say."""
    known = _ontology(ontology)
    facts = _described(known, known.concept(word))
    if format is Format.JSON:
        write_json(facts)
        return
    for name, fact in facts.items():
        if fact:
            console().print(f"{name.replace('_', ' '):>14}  {_told(fact)}")


@app.command(epilog=CONVERT_EXAMPLE)
def convert(
    text: Annotated[str, argument("OBJECT", "⟨Concept, value, {context}⟩")],
    to: Annotated[str, option("CONTEXT", "The context that is wanted.")],
    ontology: OntologyOption = None,
    rates: Annotated[Path | None, option("FILE", "CSV file of exchange rates.")] = None,
    at: Annotated[str | None, option("TIME", "The time that rates are taken of.")] = None,
    ascii: Annotated[bool, typer.Option("--ascii", help="Print < and > in place of ⟨ and ⟩.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say a semantic object in another context."""
    from comity.meaning.equivalence import Meaning
    from comity.meaning.notation import parse_context, parse_object

    given, target = parse_object(text), parse_context(to)
    meaning = Meaning(_ontology(ontology), _conversions(rates), at=_moment(at))
    meaning.check(given)
    result = meaning.convert(given, target)
    if format is Format.JSON:
        write_json(result.as_dict())
    else:
        console().print(result.printed(ascii=ascii), lines=True)


@app.command(epilog=EXPORT_EXAMPLE)
def export(
    ontology: OntologyOption = None,
    output: Annotated[Path | None, option("FILE", "Default: standard output.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Write an ontology as Turtle: ours, or with --ontology ours and that of the file."""
    from comity.meaning.rdf import turtle

    refuse_overwriting(output, *([ontology] if ontology else []))
    text = turtle(_ontology(ontology))
    with result_stream(output) as stream:
        stream.write(text.encode())


@app.command("import", epilog=IMPORT_EXAMPLE)
def check_file(
    file: Annotated[Path, argument("FILE", "Turtle or YAML file.")],
    alone: Annotated[bool, typer.Option("--alone", help="Without our concepts below it.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Check an ontology, and say what it adds. Leaves with 2 and a line for each fault if it is not well."""
    from comity.meaning.builtin import builtin
    from comity.meaning.ontology import Ontology
    from comity.meaning.ontology_file import read_ontology

    before = Ontology() if alone else builtin()
    known = read_ontology(file, onto=before)
    added = [one.name for one in known if one.name not in before.concepts]
    changed = [one.name for one in known if one.name in before.concepts and one != before.concepts[one.name]]
    more = len(known.conversions) - len(before.conversions)
    if format is Format.JSON:
        write_json({"added": added, "changed": changed, "conversions": more})
        return
    console().print(f"{_counted(len(added), 'new concept')}, {len(changed)} extended, {_counted(more, 'conversion')}")
    for name in added:
        console().print(f"  {name}")


def _ontology(path: Path | None) -> Ontology:
    from comity.meaning.builtin import builtin
    from comity.meaning.ontology_file import read_ontology

    return builtin() if path is None else read_ontology(path, onto=builtin())


def _conversions(path: Path | None) -> Any:
    from comity.meaning.conversions import ConversionManager

    manager = ConversionManager()
    if path is not None:
        from comity.meaning.rates import Rates

        manager.use_rates("Money", "currency", Rates.read(path))
    return manager


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Misuse(f"{text!r} is no time", code="bad-value", hint="write it as 2026-03-01T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _print_tree(known: Ontology, one: Concept, depth: int) -> None:
    unit = known.unit(one.name)
    more = f"  ({unit})" if unit and one.unit else ""
    console().print(f"{'  ' * depth}{one.name}{more}")
    for below in known.narrower(one.name):
        _print_tree(known, below, depth + 1)


def _described(known: Ontology, one: Concept) -> dict[str, Any]:
    return {
        "concept": one.name,
        "description": one.description,
        "kind_of": list(known.lineage(one.name)[1:]),
        "kinds": [below.name for below in known.narrower(one.name)],
        "related": list(one.related),
        "parts": list(one.parts),
        "labels": {language: list(words) for language, words in one.labels.items()},
        "unit": known.unit(one.name),
        "quantity_kind": one.quantity_kind,
        "needs": list(known.needs(one.name)),
        "defaults": known.defaults(one.name).as_dict(),
        "conversions": [_conversion(way) for way in known.conversions if way.concept in known.lineage(one.name)],
    }


def _conversion(way: Any) -> str:
    claims = [word for word in ("total", "lossless") if getattr(way.conversion, word)]
    claims += [f"order {way.conversion.order}"] if way.conversion.order else []
    return f"{way.property} {way.source} to {way.target}: {', '.join(claims) or 'partial, lossy'}"


def _told(fact: Any) -> str:
    if isinstance(fact, dict):
        return "; ".join(f"{name}: {_told(one)}" for name, one in fact.items())
    return ", ".join(map(str, fact)) if isinstance(fact, list) else str(fact)


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number or 'no'} {what}s"
