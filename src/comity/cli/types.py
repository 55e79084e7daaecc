"""`comity types`: types of domains as XML Schema, JSON Schema, Avro and AsyncAPI, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import argument, group
from comity.cli.output import console, refuse_overwriting, result_stream, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import ComityError, Misuse, Place

if TYPE_CHECKING:
    from comity.event.schemas.draft import Imported, Note
    from comity.event.taxonomy import Taxonomy
    from comity.event.types import AttributeType, EventType

EXAMPLE = "Example:  comity types export types.yaml --as xsd"
EXPORT_EXAMPLE = "Example:  comity types export types.yaml --as json-schema --type Fire --out fire.schema.json"
IMPORT_EXAMPLE = "Example:  comity types import buses.xsd --domain buses --out domains/buses.yaml"
SHOW_EXAMPLE = "Example:  comity types show types.yaml"

_YAML = (".yaml", ".yml")

app = group("Write types as XML Schema, JSON Schema, Avro or AsyncAPI, and read them from there.")


class SchemaName(StrEnum):
    """The formats of types."""

    XSD = "xsd"
    JSON_SCHEMA = "json-schema"
    AVRO = "avro"
    ASYNCAPI = "asyncapi"


OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="PATH", help="Write it there.", show_default="standard output")
]


@dataclass(frozen=True, slots=True)
class Exported:
    """Types, and the sources of their domain."""

    taxonomy: Taxonomy
    sources: Mapping[str, Any]
    notes: tuple[Note, ...] = ()


@app.command("export", epilog=EXPORT_EXAMPLE)
def export_types(
    path: Annotated[Path, argument("PATH", "File of types, or folder of a federation.")],
    form: Annotated[SchemaName, typer.Option("--as", help="The format to write.", show_default=False)],
    type: Annotated[
        str | None,
        typer.Option("--type", metavar="TYPE", help="Only this one and what it extends.", show_default="all"),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which domain or contract of a federation.", show_default="all")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Of a federation: also what its domains do not publish.")
    ] = False,
    out: OutOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Write types in another format.

    The types of a whole federation go to a folder, a file for each domain and contract. Of the types of a domain those
    are written that it publishes; what they inherit from others is written as their own.
    """
    from comity.event.schemas.formats import FORMATS, select

    found = _chosen(_exported(path, everything=everything), domain, path)
    schema = FORMATS[form.value]
    if type is not None:
        found = {name: one for name, one in found.items() if one.taxonomy.find(type) is not None} or found
        found = {name: Exported(select(one.taxonomy, type), one.sources) for name, one in found.items()}
    _tell((note for one in found.values() for note in one.notes), format)
    if len(found) == 1:
        ((_, one),) = found.items()
        refuse_overwriting(out, path)
        with result_stream(out) as stream:
            stream.write(schema.write(one.taxonomy, one.sources).encode())
        return
    if out is None or out.is_file():
        hint = f"choose one with --domain: {', '.join(found)}; or name a folder with --out"
        raise Misuse("these are the types of several domains", code="bad-usage", place=Place(str(path)), hint=hint)
    out.mkdir(parents=True, exist_ok=True)
    for name, one in found.items():
        with result_stream(out / f"{name}{schema.suffix}") as stream:
            stream.write(schema.write(one.taxonomy, one.sources).encode())
    console(stderr=True).print(f"{len(found)} files written to {out}", style="dim")


@app.command("import", epilog=IMPORT_EXAMPLE)
def import_types(
    file: Annotated[Path, argument("FILE", "A schema document.")],
    form: Annotated[
        SchemaName | None, typer.Option("--from", help="Its format.", show_default="by what it looks like")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="NAME", help="The domain of the types.", show_default="that of the document")
    ] = None,
    out: OutOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Read types from another format, and write the file of a domain.

    What cannot be kept is noted on standard error, with its place in the document.
    """
    from comity.event.schemas.domain_file import write_domain_file
    from comity.event.schemas.formats import read_types
    from comity.meaning.units import check_unit

    refuse_overwriting(out, file)
    found = read_types(file, form.value if form else None, domain=domain, check_unit=check_unit)
    sources, notes = _good_sources(found)
    text = write_domain_file(found.taxonomy, sources, found.descriptions)
    with result_stream(out) as stream:
        stream.write(text.encode())
    _tell(notes, format)
    if format is Format.TEXT:
        count = len(found.taxonomy.types)
        shown = f"{count} type{'' if count == 1 else 's'} of {found.taxonomy.namespace}"
        console(stderr=True).print(f"{shown}, {len(notes) or 'no'} note{'' if len(notes) == 1 else 's'}", style="dim")


@app.command("show", epilog=SHOW_EXAMPLE)
def show_types(
    path: Annotated[Path, argument("PATH", "File of types in any format, or folder of a federation.")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Show types with their attributes, each below what it extends."""
    from comity.event.schemas.domain_file import type_declaration

    found = _exported(path, everything=True)
    if format is Format.JSON:
        named = {name: {one.name: type_declaration(one) for one in each.taxonomy.types} for name, each in found.items()}
        write_json({"domains": named}, indent=2)
        return
    _tell((note for one in found.values() for note in one.notes), format)
    for name, each in found.items():
        console().print(name, style="bold")
        for one in each.taxonomy.subtypes("Event")[1:]:
            _show_type(one)


def _show_type(one: EventType) -> None:
    indent = "  " * (len(one.lineage) - 1)
    more = f"  {one.description}" if one.description else ""
    console().print(f"{indent}{one.name}{' (abstract)' if one.abstract else ''}", style="bold", end="")
    console().print(more, style="dim")
    _show_attributes(one.own, indent + "    ")


def _show_attributes(attributes: Mapping[str, AttributeType], indent: str) -> None:
    for name, one in attributes.items():
        concept = f"  {one.concept}" if one.concept else ""
        console().print(f"{indent}{name}: {one}{concept}")
        _show_attributes(one.attributes or (one.element.attributes if one.element else {}), indent + "  ")


def _exported(path: Path, *, everything: bool) -> dict[str, Exported]:
    """The types at a path, by domain or contract; of a federation only what is published, or everything."""
    if path.is_dir():
        return _of_federation(path, everything)
    if path.suffix in _YAML:
        own = _of_file(path)
        if own is not None:
            return {own.taxonomy.namespace: own}
    from comity.event.schemas.formats import read_types
    from comity.meaning.units import check_unit

    found = read_types(path, check_unit=check_unit)
    return {found.taxonomy.namespace: Exported(found.taxonomy, found.sources, found.notes)}


def _of_file(path: Path) -> Exported | None:
    """The types of one of our own files; None for a document of another format."""
    from comity.document import read_document
    from comity.event.taxonomy import Taxonomy
    from comity.meaning.units import check_unit

    document = read_document(path)
    keys = document.data if isinstance(document.data, dict) else {}
    if not keys.keys() & {"domain", "contract", "namespace"}:
        return None
    taxonomy = Taxonomy.from_document(document, ignore=keys.keys(), check_unit=check_unit)
    sources = keys.get("sources")
    return Exported(taxonomy, sources if isinstance(sources, dict) else {})


def _of_federation(folder: Path, everything: bool) -> dict[str, Exported]:
    from comity.event.taxonomy import Taxonomy
    from comity.federation import load

    federation = load(folder)
    sources: dict[str, dict[str, Any]] = {}
    for spec in federation.sources:
        sources.setdefault(spec.domain, {})[spec.name] = {spec.kind: dict(spec.options)}
    types = {name: one.taxonomy if everything else one.published_taxonomy() for name, one in federation.domains.items()}
    found = {name: Exported(one, sources.get(name, {})) for name, one in types.items()}
    for name, contract in federation.contracts.items():
        found[name] = Exported(Taxonomy(contract.type.namespace, [contract.type]), {})
    return {name: one for name, one in found.items() if one.taxonomy.types}


def _chosen(found: dict[str, Exported], domain: str | None, path: Path) -> dict[str, Exported]:
    if domain is None:
        return found
    if domain not in found:
        from comity.document import did_you_mean

        hint = did_you_mean(domain, found) or f"there are: {', '.join(found)}"
        raise Misuse(f"there are no types of `{domain}`", code="unknown-domain", place=Place(str(path)), hint=hint)
    return {domain: found[domain]}


def _good_sources(found: Imported) -> tuple[Mapping[str, Any], list[Note]]:
    """The suggested sources that a domain file may have, and the notes with those about the others."""
    from comity.document import parse_document
    from comity.event.schemas.domain_file import write_domain_file
    from comity.event.schemas.draft import Note
    from comity.federation.endpoints import read_sources

    good: dict[str, Any] = {}
    notes = list(found.notes)
    for name, how in found.sources.items():
        try:
            read_sources(parse_document(write_domain_file(found.taxonomy, {name: how})), found.taxonomy.namespace)
        except ComityError as error:
            reason = str(error).splitlines()[0].partition(": ")[2] or error.message
            notes.append(Note(f"the source `{name}` is not kept: {reason}", Place(None)))
        else:
            good[name] = how
    return good, notes


def _tell(notes: Iterable[Note], format: Format) -> None:
    told = list(notes)
    if format is Format.JSON:
        write_json({"notes": [one.as_dict() for one in told]}, stderr=True)
        return
    for one in told:
        console(stderr=True).print(f"note: {one}", style="yellow")
