"""Whether attributes stand in units that their concepts can be in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from comity.document import Document
from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType
from comity.meaning import units
from comity.meaning.ontology import Ontology

_Path = tuple[str | int, ...]


def names_concepts(taxonomy: Taxonomy) -> bool:
    """Whether some attribute says what it means."""
    return any(declared.concept for one in taxonomy.types for _, declared in _attributes(one.own, ()))


def misfits(document: Document, taxonomy: Taxonomy, ontology: Ontology) -> Iterator[Misuse]:
    """Attributes whose unit measures something else than their concept. A concept that nobody knows is left alone."""
    for type in taxonomy.types:
        for path, declared in _attributes(type.own, ("types", type.name, "attributes")):
            concept = ontology.find(declared.concept) if declared.concept else None
            unit = ontology.unit(concept.name) if concept is not None else None
            if concept is None or unit is None or declared.unit is None:
                continue
            wanted, found = units.dimension(unit), units.dimension(declared.unit)
            if wanted != found:
                message = f"{declared.unit} is no unit of {concept.name}: {found} is not {wanted}"
                hint = f"for example {unit}; `comity concepts show {concept.name}` tells more"
                yield document.fault(message, path, code="concept-unit", key=True, hint=hint)


def _attributes(given: Mapping[str, AttributeType], path: _Path) -> Iterator[tuple[_Path, AttributeType]]:
    for name, declared in given.items():
        yield (*path, name), declared
        yield from _attributes(declared.attributes, (*path, name, "attributes"))
