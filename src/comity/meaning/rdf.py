"""Ontologies as RDF: SKOS for concepts, their words and relations, QUDT for quantities, our own terms for the rest.

| in Turtle | here |
|---|---|
| `skos:notation`, or the last part of the address | name |
| `skos:prefLabel`, `skos:altLabel` | labels, the preferred one first |
| `skos:broader`, `skos:related`, `skos:definition` | broader, related, description |
| `qudt:hasQuantityKind`, `qudt:ucumCode` | quantity kind, unit |
| `cm:needs`, `cm:default`, `cm:part`, `cm:conversion` | needs, defaults, parts, conversions |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote, unquote

from rdflib import RDF, SKOS, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from comity.document import read_text
from comity.errors import ComityError, Faults, Misuse, Place
from comity.meaning.concept import Concept
from comity.meaning.context import SemanticContext, Simple, print_simple, simple
from comity.meaning.conversions import CodeTable, Conversion, LinearConversion, Registered
from comity.meaning.notation import parse_context
from comity.meaning.number import exact
from comity.meaning.ontology import Ontology
from comity.meaning.ucum import check, is_ucum
from comity.meaning.units import check_unit, conversion

CM = Namespace("urn:comity:meaning#")
QUDT = Namespace("http://qudt.org/schema/qudt/")
QUANTITY_KIND = Namespace("http://qudt.org/vocab/quantitykind/")
CONCEPTS = Namespace("urn:comity:concept:")

_CONTEXT = "defaults"


def read_turtle(path: str | Path, *, onto: Ontology | None = None) -> Ontology:
    """The ontology of a Turtle file; with `onto` on top of another one. Raises `Misuse` or `Faults` with the places."""
    return parse_turtle(read_text(path), file=str(path), onto=onto)


def parse_turtle(text: str, *, file: str | None = None, onto: Ontology | None = None) -> Ontology:
    """The same for a text at hand."""
    graph = _parsed(text, file)
    subjects = sorted(set(graph.subjects(RDF.type, SKOS.Concept)), key=str)
    reader = _GraphReader(graph, {one: _name(graph, one) for one in subjects})
    places = {name: _place(text, file, node) for node, name in reader.names.items()}
    concepts: list[Concept] = []
    conversions: list[Registered] = []
    faults: list[ComityError] = []
    for node, name in reader.names.items():
        try:
            concepts.append(reader.concept(node))
            conversions += reader.conversions(node)
        except ComityError as error:
            faults.append(Misuse(error.message, code=error.code, place=places[name], hint=error.hint))
    if faults:
        raise Faults(faults)
    return (onto or Ontology()).extended(concepts, conversions, places)


def turtle(ontology: Ontology) -> str:
    """An ontology as Turtle.

    >>> text = turtle(Ontology([Concept("Length", unit="m", labels={"en": ("length",)})]))
    >>> parse_turtle(text).concept("length").unit
    'm'
    """
    graph = Graph()
    for prefix, space in (("cm", CM), ("qudt", QUDT), ("quantitykind", QUANTITY_KIND), ("skos", SKOS), ("", CONCEPTS)):
        graph.bind(prefix, space, override=True)
    for one in ontology:
        _write_concept(graph, one)
    for number, one_way in enumerate(ontology.conversions):
        _write_conversion(graph, one_way, number)
    return graph.serialize(format="turtle")


def _write_concept(graph: Graph, concept: Concept) -> None:
    node = CONCEPTS[_escaped(concept.name)]
    for predicate, value in _statements(concept):
        graph.add((node, predicate, value))


def _statements(concept: Concept) -> Iterable[tuple[URIRef, Node]]:
    yield RDF.type, SKOS.Concept
    yield SKOS.notation, Literal(concept.name)
    for language, words in concept.labels.items():
        for place, word in enumerate(words):
            yield (SKOS.altLabel if place else SKOS.prefLabel), Literal(word, lang=language)
    if concept.description:
        yield SKOS.definition, Literal(concept.description)
    for predicate, names in (
        (SKOS.broader, concept.broader),
        (SKOS.related, concept.related),
        (CM.part, concept.parts),
    ):
        yield from ((predicate, CONCEPTS[_escaped(name)]) for name in names)
    yield from ((CM.needs, Literal(name)) for name in concept.needs)
    if concept.defaults:
        yield CM[_CONTEXT], Literal(str(concept.defaults))
    if concept.quantity_kind:
        kind = concept.quantity_kind
        yield QUDT.hasQuantityKind, URIRef(kind) if ":" in kind else QUANTITY_KIND[kind]
    if concept.unit is not None:
        code = concept.unit.removeprefix("ucum:")
        yield (QUDT.ucumCode, Literal(code)) if _unit_of(code) == concept.unit else (CM.unit, Literal(concept.unit))


def _unit_of(code: str) -> str | None:
    """The unit text of a UCUM code, None if it is none: the code itself unless it has another meaning here."""
    if not is_ucum(code):
        return None
    try:
        same = conversion(code, f"ucum:{code}").is_identity
    except ComityError:
        same = False
    return code if same else f"ucum:{code}"


def _write_conversion(graph: Graph, given: Registered, number: int) -> None:
    node = BNode(f"conversion{number}")
    graph.add((CONCEPTS[_escaped(given.concept)], CM.conversion, node))
    graph.add((node, CM.property, Literal(given.property)))
    graph.add((node, CM["from"], _literal(given.source)))
    graph.add((node, CM.to, _literal(given.target)))
    for predicate, moment in ((CM.since, given.since), (CM.until, given.until)):
        if moment is not None:
            graph.add((node, predicate, Literal(moment)))
    _write_function(graph, node, given)


def _write_function(graph: Graph, node: BNode, given: Registered) -> None:
    function = given.conversion
    if isinstance(function, LinearConversion):
        graph.add((node, CM.factor, Literal(str(function.factor))))
        graph.add((node, CM.offset, Literal(str(function.offset))))
    elif isinstance(function, CodeTable):
        for row, (code, value) in enumerate(function.rows.items()):
            inner = BNode(f"{node}row{row}")
            graph.add((node, CM.row, inner))
            graph.add((inner, CM.code, _literal(code)))
            graph.add((inner, CM.value, _literal(value)))
        if function.default is not None:
            graph.add((node, CM.default, _literal(function.default)))
    else:
        raise Misuse(
            f"the conversion of {given.concept} by {given.property} cannot be written as RDF",
            code="no-rdf",
            hint="tables and linear conversions can",
        )


class _GraphReader:
    """Concepts of a graph, by the names of their nodes."""

    def __init__(self, graph: Graph, names: dict[Node, str]) -> None:
        self.graph, self.names = graph, names

    def concept(self, node: Node) -> Concept:
        defaults = self._one(node, CM[_CONTEXT])
        kind = self._one(node, QUDT.hasQuantityKind)
        return Concept(
            name=self.names[node],
            broader=self._concepts(node, SKOS.broader),
            description=_text(self._one(node, SKOS.definition)),
            labels=self._labels(node),
            related=self._concepts(node, SKOS.related),
            needs=tuple(str(one) for one in self.graph.objects(node, CM.needs)),
            defaults=SemanticContext() if defaults is None else parse_context(str(defaults)),
            unit=self._unit(node),
            quantity_kind=None if kind is None else str(kind).removeprefix(str(QUANTITY_KIND)),
            parts=self._concepts(node, CM.part),
        )

    def conversions(self, node: Node) -> list[Registered]:
        found = [self._conversion(node, inner) for inner in self.graph.objects(node, CM.conversion)]
        return sorted(found, key=lambda one: (one.property, str(one.source), str(one.target), str(one.since)))

    def _conversion(self, concept: Node, node: Node) -> Registered:
        return Registered(
            self.names[concept],
            str(self._required(node, CM.property)),
            _value(self._required(node, CM["from"])),
            _value(self._required(node, CM.to)),
            self._function(node),
            self._moment(node, CM.since),
            self._moment(node, CM.until),
        )

    def _function(self, node: Node) -> Conversion:
        factor = self._one(node, CM.factor)
        if factor is not None:
            return LinearConversion(exact(str(factor)), exact(str(self._one(node, CM.offset) or 0)))
        rows = {
            _value(self._required(row, CM.code)): _value(self._required(row, CM.value))
            for row in self.graph.objects(node, CM.row)
        }
        default = self._one(node, CM.default)
        ordered = dict(sorted(rows.items(), key=lambda pair: print_simple(pair[0])))
        return CodeTable(ordered, None if default is None else _value(default))

    def _moment(self, node: Node, predicate: URIRef) -> datetime | None:
        found = self._one(node, predicate)
        if found is None:
            return None
        value = _value(found)
        if not isinstance(value, datetime):
            raise Misuse(f"{found} is no time", code="bad-value", hint="write it as xsd:dateTime")
        return value

    def _unit(self, node: Node) -> str | None:
        code, unit = self._one(node, QUDT.ucumCode), self._one(node, CM.unit)
        if code is not None:
            check(str(code))
            return _unit_of(str(code))
        if unit is not None:
            check_unit(str(unit))
        return None if unit is None else str(unit)

    def _labels(self, node: Node) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for predicate in (SKOS.prefLabel, SKOS.altLabel):
            for label in sorted(self.graph.objects(node, predicate), key=str):
                language = (label.language if isinstance(label, Literal) else None) or "en"
                found[language] = (*found.get(language, ()), str(label))
        return found

    def _concepts(self, node: Node, predicate: URIRef) -> tuple[str, ...]:
        return tuple(self.names.get(one) or _last(one) for one in self.graph.objects(node, predicate))

    def _required(self, node: Node, predicate: URIRef) -> Node:
        found = self._one(node, predicate)
        if found is None:
            raise Misuse(f"a conversion lacks cm:{_last(predicate)}", code="missing-key")
        return found

    def _one(self, node: Node, predicate: URIRef) -> Node | None:
        return next(iter(sorted(self.graph.objects(node, predicate), key=str)), None)


def _parsed(text: str, file: str | None) -> Graph:
    graph = Graph()
    try:
        graph.parse(data=text, format="turtle", publicID="urn:comity:file")
    except Exception as error:  # the parser raises many kinds
        line = getattr(error, "lines", None)
        why = getattr(error, "_why", None) or (str(error).splitlines() or ["it cannot be read"])[0]
        place = Place(file, None if line is None else line + 1)
        raise Misuse(f"this is no Turtle: {why}", code="syntax", place=place) from None
    return graph


def _place(text: str, file: str | None, node: Node) -> Place:
    """The first line that begins with the node, in whichever way it is written."""
    subject = re.compile(rf"^[^\s#]*{re.escape(_last(node))}>?(?=\s|$)", re.M)
    found = subject.search(text)
    line = None if found is None else text.count("\n", 0, found.start()) + 1
    return Place(file, line, None if line is None else 1, path=None if line else str(node))


def _name(graph: Graph, node: Node) -> str:
    notation = next(iter(sorted(graph.objects(node, SKOS.notation), key=str)), None)
    return str(notation) if notation is not None else _last(node)


def _last(node: Node) -> str:
    """The last part of an address."""
    return unquote(re.split(r"[#/:]", str(node).rstrip("#/:"))[-1])


def _escaped(name: str) -> str:
    return quote(name, safe="")


def _text(node: Node | None) -> str:
    return "" if node is None else " ".join(str(node).split())


def _literal(value: Simple) -> Literal:
    return Literal(Decimal(print_simple(value))) if isinstance(value, Fraction) else Literal(value)


def _value(node: Node) -> Simple:
    return simple(node.toPython()) if isinstance(node, Literal) else str(node)
