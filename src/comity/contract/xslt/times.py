"""Formats of times in XPath."""

from __future__ import annotations

from collections.abc import Mapping

from comity.contract.xslt.literals import xpath_text
from comity.expression.time_formats import PARTS, Field, TimeFormat

_PARTS: Mapping[str, str] = {
    "year": "year-from-dateTime(.)",
    "month": "month-from-dateTime(.)",
    "day": "day-from-dateTime(.)",
    "hour": "hours-from-dateTime(.)",
    "minute": "minutes-from-dateTime(.)",
    "second": "xs:integer(floor(seconds-from-dateTime(.)))",
    "fraction": "c:fraction(.)",
}
_DEFAULTS = {"year": "1970", "month": "1", "day": "1"}
_SPECIAL = frozenset("\\|.-^?*+{}()[]$")


def written_time(value: str, format: TimeFormat) -> str:
    """XPath for a timestamp as the format writes it."""
    parts = [_written(token) if isinstance(token, Field) else xpath_text(token) for token in format.tokens]
    return f"({value} ! string-join(({', '.join(parts)})))"


def _written(field: Field) -> str:
    if field.part == "half":
        return "(if (hours-from-dateTime(.) ge 12) then 'pm' else 'am')"
    number = _PARTS[field.part]
    if field.of_twelve:
        number = f"(({number} + 11) mod 12 + 1)"
    if field.part == "fraction" and field.digits == 3:
        number = f"({number} idiv 1000)"
    return f"format-integer({number}, '{'0' * max(field.digits, 1)}')"


def read_time(value: str, format: TimeFormat) -> str:
    """XPath for the timestamp that a text says in the format."""
    fields = {field.part: (number, field) for number, field in enumerate(format.fields, start=1)}
    pattern = "".join(token.pattern if isinstance(token, Field) else _quoted(token) for token in format.tokens)
    whole = xpath_text(f"^{pattern}$")

    def group(part: str) -> str:
        return f"replace(., {whole}, '${fields[part][0]}')"

    def number(part: str) -> str:
        if part not in fields:
            return _DEFAULTS.get(part, "0")
        found = f"xs:integer({group(part)})"
        if part == "hour" and "half" in fields:
            return f"({found} mod 12 + (if (matches({group('half')}, '^[pP]')) then 12 else 0))"
        return f"({found} * 1000)" if fields[part][1].digits == 3 and part == "fraction" else found

    parts = ", ".join(map(number, PARTS))
    return f"({value}[matches(., {whole})] ! c:time-of(({parts})))"


def _quoted(text: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)
