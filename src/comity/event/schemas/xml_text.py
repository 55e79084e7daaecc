"""XML documents of others, read without entities, document types and the network."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.errors import Misuse, Place

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_EXTRA_CONTENT = 5  # libxml2's number for a second root
_SAFE = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def parse_xml(text: str, file: str | None = None, *, around: str | None = None) -> Any:
    """The root of a document; raises `Misuse` with the place if it is not well formed or has a DOCTYPE.

    `around` names an element that is put around a text with several roots, such as one that shows only the types.

    >>> parse_xml("<a/><b/>", around="schema").tag
    'schema'
    """
    plain = _DECLARATION.sub(_as_spaces, text, count=1)  # it names an encoding, but the text is decoded
    try:
        root = etree.fromstring(plain.encode(), etree.XMLParser(encoding="utf-8", **_SAFE), base_url=file)
    except etree.XMLSyntaxError as error:
        if around is not None and error.code == _EXTRA_CONTENT:
            return parse_xml(f"<{around}>{plain}</{around}>", file)
        line, column = error.position
        reason = str(error.msg).rpartition(", line ")[0] or str(error.msg)
        raise Misuse(f"not XML: {reason}", code="bad-xml", place=Place(file, line, column)) from None
    except UnicodeEncodeError:
        raise Misuse("the text holds half of a surrogate pair", code="bad-xml", place=Place(file)) from None
    refuse_document_type(root, file)
    return root


def refuse_document_type(element: Any, file: str | None) -> None:
    """A DOCTYPE can make a short document stand for a huge one, or for a file of this machine."""
    if element.getroottree().docinfo.internalDTD is not None:
        hint = "take the DOCTYPE out, and write entities as text"
        raise Misuse("a document with a DOCTYPE is not read", code="has-doctype", place=Place(file, 1), hint=hint)


def _as_spaces(found: re.Match[str]) -> str:
    return "".join(one if one == "\n" else " " for one in found[0])
