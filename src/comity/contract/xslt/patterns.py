"""Regular expressions as XPath writes them."""

from __future__ import annotations

from comity.contract.xslt.form import is_xml_text
from comity.expression.regex.tree import Alternation, Chars, Ranges, Regex, Repeat

_SPECIAL = frozenset("\\|.-^?*+{}()[]$")
_XML: Ranges = ((0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
"""The characters that can stand in XML; no text has others, so a pattern needs no others."""


def to_xpath_regex(regex: Regex) -> str:
    r"""A pattern for the same whole values, anchored at both ends.

    >>> from comity.expression.regex.parse import parse_regex
    >>> to_xpath_regex(parse_regex(r"v\d+|é?"))
    '^(?:v[0-9]+|é?)$'
    """
    return f"^(?:{_text(regex)})$"


def _text(regex: Regex) -> str:
    if isinstance(regex, Chars):
        return _class(regex.ranges)
    if isinstance(regex, Repeat):
        return _item(regex.item) + _count(regex.low, regex.high)
    if isinstance(regex, Alternation):
        return "|".join(map(_text, regex.items))
    return "".join(f"(?:{_text(item)})" if isinstance(item, Alternation) else _text(item) for item in regex.items)


def _item(regex: Regex) -> str:
    return _text(regex) if isinstance(regex, Chars) else f"(?:{_text(regex)})"


def _class(ranges: Ranges) -> str:
    parts = [(max(low, first), min(high, last)) for low, high in ranges for first, last in _XML]
    written = [(low, high) for low, high in parts if low <= high]
    if not written:
        return r"[^\s\S]"
    if len(written) == 1 and written[0][0] == written[0][1]:
        return _char(written[0][0])
    return f"[{''.join(_char(low) + (f'-{_char(high)}' if high > low else '') for low, high in written)}]"


def _char(code: int) -> str:
    char = chr(code)
    assert is_xml_text(char), "others are left out"
    return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(char, f"\\{char}" if char in _SPECIAL else char)


def _count(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    return "?" if (low, high) == (0, 1) else f"{{{low},{high}}}"
