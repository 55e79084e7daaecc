"""A taxonomy written in a format and read again is the same."""

from __future__ import annotations

import json

import fastavro
import pytest
import xmlschema
from hypothesis import given

from comity.document import parse_document
from comity.event import Taxonomy
from comity.event.schemas.domain_file import write_domain_file
from comity.event.schemas.formats import FORMATS, format_of
from tests.event.schemas.taxonomies import taxonomies

SOURCES = {"incoming": {"files": {"path": "events", "follow": True}}}


@pytest.mark.parametrize("format", FORMATS)
@given(taxonomy=taxonomies())
def test_types_come_back_as_they_were(format: str, taxonomy: Taxonomy) -> None:
    text = FORMATS[format].write(taxonomy, SOURCES)
    assert format_of(text).name == format
    found = FORMATS[format].read(text, "a.txt")
    assert (found.notes, found.sources) == ((), SOURCES if format == "asyncapi" else {})
    assert (found.taxonomy.namespace, found.taxonomy.types) == (taxonomy.namespace, taxonomy.types)
    assert [one.description for one in found.taxonomy.types] == [one.description for one in taxonomy.types]


@given(taxonomy=taxonomies())
def test_types_come_back_from_a_domain_file(taxonomy: Taxonomy) -> None:
    found = Taxonomy.from_document(parse_document(write_domain_file(taxonomy)))
    assert (found.namespace, found.types) == (taxonomy.namespace, taxonomy.types)


@given(taxonomy=taxonomies())
def test_what_is_written_is_valid_for_others(taxonomy: Taxonomy) -> None:
    xmlschema.XMLSchema(FORMATS["xsd"].write(taxonomy, {}))
    fastavro.parse_schema(json.loads(FORMATS["avro"].write(taxonomy, {})))
