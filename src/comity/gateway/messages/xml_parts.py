"""Elements of others inside of a message: definitions, stylesheets and events, as texts that stand for themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.errors import Misuse
from comity.event.schemas.xml_text import parse_xml

_PREFIX = re.compile(r"(?<![\w.-])([A-Za-z_][\w.-]*):")
_DEFAULT = "#default"


def part_text(element: Any) -> str:
    """An element as a text of its own: in canonical form, with the namespaces that it uses.

    Names stand in values, too (`type="xs:string"`, `select="h:room"`), so a prefix that is followed by a colon anywhere
    in a value counts as used. The text does not depend on what surrounds the element.
    """
    kept = sorted({prefix for prefix in _declared(element) if prefix == _DEFAULT or prefix in set(_said(element))})
    try:
        written: bytes = etree.tostring(
            element, method="c14n", exclusive=True, inclusive_ns_prefixes=kept, with_tail=False
        )
    except etree.C14NError:
        hint = "a namespace is an address with a scheme, as `urn:house`"
        raise Misuse("an element has no canonical form", code="bad-message", hint=hint) from None
    return written.decode()


def standard_part(text: str) -> str:
    """An element that somebody wrote, in the form that it has in messages.

    >>> standard_part("<a  y='2'\\n x='1' xmlns:p='urn:p' xmlns:q='urn:q' z='q:v'/>")
    '<a xmlns:q="urn:q" x="1" y="2" z="q:v"></a>'
    """
    element = parse_xml(text)
    drop_remarks(element)
    return part_text(element)


def drop_remarks(element: Any) -> None:
    """Take out comments and processing instructions, which say nothing."""
    etree.strip_elements(element, etree.Comment, etree.ProcessingInstruction, with_tail=False)


def _declared(element: Any) -> Iterator[str]:
    for one in element.iter(etree.Element):
        yield from (prefix or _DEFAULT for prefix in one.nsmap)


def _said(element: Any) -> Iterator[str]:
    """The prefixes that stand in values."""
    for one in element.iter(etree.Element):
        for text in (*one.attrib.values(), one.text or "", *(below.tail or "" for below in one)):
            yield from _PREFIX.findall(text)
