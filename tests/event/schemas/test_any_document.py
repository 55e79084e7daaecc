"""Whatever a document says, reading it gives types or an error with a place, never a crash."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import ComityError
from comity.event import Taxonomy
from comity.event.schemas.formats import FORMATS
from tests.event.schemas.taxonomies import taxonomies

WORDS = """$defs $ref definitions type properties required items allOf oneOf anyOf enum format x-kind x-unit x-context
    record fields name namespace union null array map long string logicalType duration extends kind point list asyncapi
    channels messages components schemas payload schema schemaFormat servers bindings info title object #/$defs/a
    #/components/schemas/a a number integer 3.0.0 default additionalProperties"""
words = st.sampled_from(WORDS.split())
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=25,
)


@st.composite
def damaged(draw: Any, text: str) -> str:
    """A text of which a piece was replaced by another piece of it."""
    begin = draw(st.integers(0, len(text)))
    end = draw(st.integers(begin, min(len(text), begin + 60)))
    other = draw(st.integers(0, len(text)))
    return text[:begin] + text[other : other + draw(st.integers(0, 40))] + text[end:]


def _read(format: str, text: str) -> None:
    with suppress(ComityError):
        assert isinstance(FORMATS[format].read(text, "a.txt", domain="d").taxonomy, Taxonomy)


@pytest.mark.parametrize("format", ["json-schema", "avro", "asyncapi"])
@given(document=documents)
def test_any_json_is_read_or_refused(format: str, document: Any) -> None:
    wrapped = {"asyncapi": "3.0.0", **document} if format == "asyncapi" and isinstance(document, dict) else document
    _read(format, json.dumps(wrapped))


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_damaged_document_is_read_or_refused(format: str, data: Any) -> None:
    text = FORMATS[format].write(data.draw(taxonomies()), {"a": {"files": "x"}})
    _read(format, data.draw(damaged(text)))
