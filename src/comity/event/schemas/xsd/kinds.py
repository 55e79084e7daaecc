"""The simple types that XML Schema brings along, those of its drafts too, and what a kind does not keep of them."""

from __future__ import annotations

from collections.abc import Mapping

from comity.event.kinds import Kind

SCALARS: Mapping[Kind, str] = {
    Kind.BOOL: "boolean",
    Kind.INT: "long",
    Kind.FLOAT: "double",
    Kind.STRING: "string",
    Kind.TIMESTAMP: "dateTime",
    Kind.DURATION: "duration",
    Kind.BYTES: "base64Binary",
}
"""The type that a kind is written as."""
_TEXTS = "normalizedString token language Name NCName NMTOKEN ID IDREF ENTITY QName anyURI uriReference NOTATION"
_INTS = "integer int"
_BOUNDED_INTS = (
    "short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte"
)
_CALENDAR = "date time gYear gYearMonth gMonth gMonthDay gDay timePeriod recurringDate recurringDay month year century"
_LISTS = "NMTOKENS IDREFS ENTITIES"
_NO_TIME = "there is no kind for a `{}`, so it is a text"

BUILT_IN: Mapping[str, tuple[Kind, str | None]] = {
    **{name: (kind, None) for kind, name in SCALARS.items()},
    **dict.fromkeys(_TEXTS.split(), (Kind.STRING, None)),
    **dict.fromkeys(_INTS.split(), (Kind.INT, None)),
    **{name: (Kind.INT, f"the range of `{name}` is not kept") for name in _BOUNDED_INTS.split()},
    **{name: (Kind.STRING, _NO_TIME.format(name)) for name in _CALENDAR.split()},
    **{name: (Kind.STRING, f"the words of `{name}` are one text") for name in _LISTS.split()},
    "float": (Kind.FLOAT, None),
    "decimal": (Kind.FLOAT, "a `decimal` is a float, with some 15 digits"),
    "dateTimeStamp": (Kind.TIMESTAMP, None),
    "timeInstant": (Kind.TIMESTAMP, None),
    "dayTimeDuration": (Kind.DURATION, None),
    "timeDuration": (Kind.DURATION, None),
    "yearMonthDuration": (Kind.STRING, _NO_TIME.format("yearMonthDuration")),
    "binary": (Kind.BYTES, None),
    "hexBinary": (Kind.STRING, "the digits of a `hexBinary` are a text"),
    "anyType": (Kind.STRING, "what may be anything is a text"),
    "anySimpleType": (Kind.STRING, "what may be anything is a text"),
    "anyAtomicType": (Kind.STRING, "what may be anything is a text"),
}
"""By name: the kind, and what must be noted."""
