"""The shape of an ontology in YAML, and what it becomes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from comity.document import Document, read_document, validate
from comity.errors import ComityError, Faults
from comity.meaning.concept import Concept
from comity.meaning.context import SemanticContext, simple
from comity.meaning.conversions import CodeTable, Conversion, LinearConversion, Registered
from comity.meaning.number import exact
from comity.meaning.ontology import Ontology
from comity.meaning.units import check_unit


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Words = Annotated[list[str], BeforeValidator(_listed)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


class ConversionFile(_Strict):
    """From one value of a property to another: by rows, or by factor and offset."""

    property: str
    source: str | int | float = Field(alias="from")
    target: str | int | float = Field(alias="to")
    rows: dict[str, Any] | None = None
    default: Any = None
    factor: int | float | str | None = None
    offset: int | float | str = 0
    since: datetime | None = None
    until: datetime | None = None

    @model_validator(mode="after")
    def _one_way(self) -> ConversionFile:
        if (self.rows is None) == (self.factor is None):
            raise ValueError("one of `rows` and `factor` is needed")
        return self


class ConceptFile(_Strict):
    """A concept, without its name."""

    broader: Words = []
    description: str = ""
    labels: dict[str, Words] = {}
    related: Words = []
    needs: Words = []
    defaults: dict[str, Any] = {}
    unit: str | None = None
    quantity_kind: str | None = None
    parts: Words = []
    conversions: list[ConversionFile] = []


class OntologyFile(_Strict):
    """`concepts`, by name."""

    ontology: str | None = None
    description: str | None = None
    concepts: dict[str, ConceptFile | None]


def read_ontology(path: str | Path, *, onto: Ontology | None = None) -> Ontology:
    """The ontology of a file: Turtle if its name ends in .ttl, else YAML.

    With `onto` it comes on top of another one, whose concepts it can name. Raises `Faults` with all that is wrong.
    """
    if Path(path).suffix == ".ttl":
        from comity.meaning.rdf import read_turtle  # takes a while to load

        return read_turtle(path, onto=onto)
    return ontology_of(read_document(path), onto=onto)


def ontology_of(document: Document, *, onto: Ontology | None = None) -> Ontology:
    """The ontology of a YAML document."""
    given = {name: one or ConceptFile() for name, one in validate(document, OntologyFile).concepts.items()}
    faults: list[ComityError] = []
    concepts: list[Concept] = []
    conversions: list[Registered] = []
    for name, one in given.items():
        try:
            concepts.append(_concept(name, one))
            conversions += [_registered(name, conversion) for conversion in one.conversions]
        except ComityError as error:
            faults.append(document.fault(error.message, ("concepts", name), code=error.code, key=True, hint=error.hint))
    if faults:
        raise Faults(faults)
    places = {name: document.place(("concepts", name), key=True) for name in given}
    return (onto or Ontology()).extended(concepts, conversions, places)


def _concept(name: str, given: ConceptFile) -> Concept:
    if given.unit is not None:
        check_unit(given.unit)
    return Concept(
        name=name,
        broader=tuple(given.broader),
        description=" ".join(given.description.split()),
        labels={language: tuple(words) for language, words in given.labels.items()},
        related=tuple(given.related),
        needs=tuple(given.needs),
        defaults=SemanticContext.of(given.defaults),
        unit=given.unit,
        quantity_kind=given.quantity_kind,
        parts=tuple(given.parts),
    )


def _registered(concept: str, given: ConversionFile) -> Registered:
    return Registered(
        concept,
        given.property,
        simple(given.source),
        simple(given.target),
        _conversion(given),
        given.since,
        given.until,
    )


def _conversion(given: ConversionFile) -> Conversion:
    if given.rows is not None:
        rows = {simple(code): simple(value) for code, value in given.rows.items()}
        return CodeTable(rows, None if given.default is None else simple(given.default))
    return LinearConversion(exact(given.factor or 0), exact(given.offset))
