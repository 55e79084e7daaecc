"""Names of other formats as names of ours: identifiers for types and attributes, one word for a namespace."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from comity.event.types import EventType

DOMAIN_URI = "urn:comity:domain:"
"""Before the name of a domain, where a format wants its namespace as an address."""
EVENT_URI = "urn:comity:event"
"""The namespace of what we add to XML: the envelope of an event, the unit and concept of an attribute."""
ROOT_NAMES = ("Event", "BaseEventType", "baseEvent", "BaseEvent")
"""How a document may call the root of all types; the first that it defines or uses is the root."""
ENVELOPE_WORDS = {"id": "id", "src": "source", "ts": "time"}
"""How the root of the seeds names the parts of the envelope."""

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_]")
_BETWEEN_SEGMENTS = re.compile(r"[/#:.]+")


def identifier(name: str) -> str:
    """The name with what no identifier can have as underscores.

    >>> identifier("Bus Position"), identifier("break-in"), identifier("2nd"), identifier("été")
    ('Bus_Position', 'break_in', '_2nd', 'ete')
    """
    plain = "".join(one for one in unicodedata.normalize("NFKD", name.strip()) if not unicodedata.combining(one))
    found = _NOT_OF_A_NAME.sub("_", plain)
    return f"_{found}" if not found or found[0].isdigit() else found


def namespace_name(address: str) -> str:
    """The name of a domain that an address or a dotted name stands for: its last part.

    >>> namespace_name("urn:comity:domain:house"), namespace_name("http://example.org/city/buses#")
    ('house', 'buses')
    >>> namespace_name("org.example.lights")
    'lights'
    """
    segments = [one for one in _BETWEEN_SEGMENTS.split(address.strip()) if one]
    return identifier(segments[-1]) if segments else ""


def namespace_address(name: str) -> str:
    """The address of a domain.

    >>> namespace_address("house")
    'urn:comity:domain:house'
    """
    return DOMAIN_URI + name


def known_type(space: str, name: str, lookup: Callable[[str], EventType | None] | None) -> tuple[str, EventType | None]:
    """The type that a record of another format names, and how it is called here; the name as it is if none is known.

    >>> known_type("urn:comity:domain:house", "Fire", None)
    ('house.Fire', None)
    >>> known_type("", "Bus Position", {"Bus_Position": EventType("Bus_Position", "city")}.get)[0]
    'city.Bus_Position'
    """
    domain = namespace_name(space)
    qualified = f"{domain}.{name}" if domain else name
    for one in dict.fromkeys((qualified, name, identifier(name), f"{domain}.{identifier(name)}")):
        found = lookup(one) if lookup is not None else None
        if found is not None:
            return found.qualified_name, found
    return qualified, None
