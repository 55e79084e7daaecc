"""Events: values and their kinds, types, taxonomies, and their form in files."""

from comity.event.declaration import CheckUnit
from comity.event.event import Event
from comity.event.files import read_events
from comity.event.formats.jsonlines import Rejected, TypeLookup, decode, encode, write_events
from comity.event.kinds import Kind, Point, Value, kind_of
from comity.event.taxonomy import Taxonomy
from comity.event.times import (
    format_duration,
    format_timestamp,
    parse_duration,
    parse_iso_duration,
    parse_timestamp,
)
from comity.event.types import ENVELOPE, ENVELOPE_NAME, EVENT, MODES, AttributeType, EventType
from comity.event.validate import Fault, conform

__all__ = [
    "ENVELOPE",
    "ENVELOPE_NAME",
    "EVENT",
    "MODES",
    "AttributeType",
    "CheckUnit",
    "Event",
    "EventType",
    "Fault",
    "Kind",
    "Point",
    "Rejected",
    "Taxonomy",
    "TypeLookup",
    "Value",
    "conform",
    "decode",
    "encode",
    "format_duration",
    "format_timestamp",
    "kind_of",
    "parse_duration",
    "parse_iso_duration",
    "parse_timestamp",
    "read_events",
    "write_events",
]
