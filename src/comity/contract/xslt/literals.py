"""Constants as XPath writes them."""

from __future__ import annotations

import base64
from datetime import datetime, timedelta

from comity.contract.xslt.form import is_xml_text
from comity.errors import Misuse
from comity.event.kinds import Point, Value
from comity.event.times import format_duration, format_timestamp
from comity.expression.render import render
from comity.expression.tree import Expression


def xpath_literal(value: Value, node: Expression) -> str:
    """The constant of an expression; the expression is for the error of a text that XML cannot hold.

    >>> from comity.expression.tree import Literal
    >>> xpath_literal(-0.5, Literal(-0.5))
    '(-0.5e0)'
    """
    match value:
        case bool():
            return "true()" if value else "false()"
        case int() | float():
            return _number(value)
        case str():
            return xpath_text(value, node)
        case datetime():
            return f"xs:dateTime('{format_timestamp(value)}')"
        case timedelta():
            return f"xs:dayTimeDuration('{format_duration(value)}')"
        case bytes():
            return f"xs:base64Binary('{base64.b64encode(value).decode()}')"
        case Point(x, y):
            return f"[{_number(x)}, {_number(y)}]"
    raise TypeError(f"no constant of the language: {value!r}")


def xpath_text(text: str, node: Expression | None = None) -> str:
    """A text in quotes."""
    if not is_xml_text(text):
        shown = render(node) if node is not None else repr(text)
        message = f"{shown} cannot be printed as XSLT: it has characters that XML does not have"
        raise Misuse(message, code="not-in-xslt", hint="XML has no control characters but tab and line breaks")
    return "'" + text.replace("'", "''") + "'"


def _number(value: int | float) -> str:
    text = repr(value)
    if isinstance(value, float) and "e" not in text:
        text += "e0"
    return f"({text})" if text.startswith("-") else text
