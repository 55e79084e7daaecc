"""Functions of texts."""

from __future__ import annotations

from typing import Any

from comity.event.kinds import Kind
from comity.expression.functions.record import INT, TEXT, Arguments, Function, XPathCall, always, gives

_LONGEST = 2**31 - 1
"""Of a text in Spark."""


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    if start < 1 or (length is not None and length < 0):
        return None
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


def _is_inside(arguments: Arguments) -> bool:
    """Whether a substring begins in the text and does not end before that."""
    start, length = arguments.constant(1), arguments.constant(2)
    has_length = len(arguments.kinds) == 2 or (isinstance(length, int) and length >= 0)
    return isinstance(start, int) and start >= 1 and has_length


def _is_prefix(arguments: Arguments) -> bool:
    return arguments.constant(1) == 1 and isinstance(arguments.constant(2), int)


def _substring_in_xpath(printed: XPathCall) -> str:
    return f"c:substring({', '.join(printed.texts)})"


def _substring_in_spark(F: Any, _: Arguments, text: Any, start: Any, length: Any = None) -> Any:
    def small(number: Any) -> Any:
        return F.least(number, F.lit(_LONGEST)).cast("int")

    fits = start >= 1 if length is None else (start >= 1) & (length >= 0)
    count = F.lit(_LONGEST) if length is None else small(length)
    return F.when(fits, F.substring(text, small(start), count))


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


# Parts before and after a separator


def _before(text: str, separator: str) -> str | None:
    return text[: text.find(separator)] if separator and separator in text else None


def _after(text: str, separator: str) -> str | None:
    return text[text.find(separator) + len(separator) :] if separator and separator in text else None


def _before_last(text: str, separator: str) -> str | None:
    return text[: text.rfind(separator)] if separator and separator in text else None


def _after_last(text: str, separator: str) -> str | None:
    return text[text.rfind(separator) + len(separator) :] if separator and separator in text else None


def _position(F: Any, text: Any, separator: Any) -> Any:
    """Where the separator first stands; 0 when it does not, or is empty."""
    return F.when(separator == "", F.lit(0)).otherwise(F.position(separator, text))


def _before_in_spark(F: Any, _: Arguments, text: Any, separator: Any) -> Any:
    at = _position(F, text, separator)
    return F.when(at > 0, F.substring(text, F.lit(1), at - 1))


def _after_in_spark(F: Any, _: Arguments, text: Any, separator: Any) -> Any:
    at = _position(F, text, separator)
    return F.when(at > 0, F.substring(text, at + F.length(separator), F.lit(_LONGEST)))


def _after_last_in_spark(F: Any, _: Arguments, text: Any, separator: Any) -> Any:
    rest = F.call_function("substring_index", text, separator, F.lit(-1))
    return F.when(_position(F, text, separator) > 0, rest)


def _before_last_in_spark(F: Any, arguments: Arguments, text: Any, separator: Any) -> Any:
    rest = _after_last_in_spark(F, arguments, text, separator)
    length = F.length(text) - F.length(rest) - F.length(separator)
    return F.when(_position(F, text, separator) > 0, F.substring(text, F.lit(1), length))


TEXT_FUNCTIONS = (
    Function(
        name="lower",
        summary="the text in lower case",
        takes=(TEXT,),
        gives=gives(Kind.STRING),
        apply=str.lower,
        total=always,
        loses="it does not tell capital letters from small ones",
        xpath="c:lower({})",
        # Spark and Python map cases alike; only characters newer than the Unicode version of the Python at hand differ.
        spark=lambda F, _, text: F.lower(text),
    ),
    Function(
        name="upper",
        summary="the text in upper case",
        takes=(TEXT,),
        gives=gives(Kind.STRING),
        apply=str.upper,
        total=always,
        loses="it does not tell capital letters from small ones",
        xpath="({} ! upper-case(.))",
        spark=lambda F, _, text: F.upper(text),
    ),
    Function(
        name="trim",
        summary="without spaces at both ends",
        takes=(TEXT,),
        gives=gives(Kind.STRING),
        apply=lambda text: text.strip(" "),
        total=always,
        loses="it leaves out spaces",
        xpath="({} ! replace(., '^ +| +$', ''))",
        spark=lambda F, _, text: F.trim(text),
    ),
    Function(
        name="length",
        summary="number of characters",
        takes=(TEXT,),
        gives=gives(Kind.INT),
        apply=len,
        total=always,
        loses="it keeps the number of characters only",
        xpath="({} ! string-length(.))",
        spark=lambda F, _, text: F.length(text).cast("long"),
    ),
    Function(
        name="substring",
        summary="from a position (the first is 1), so many characters",
        takes=(TEXT, INT, INT),
        optional=1,
        gives=gives(Kind.STRING),
        apply=_substring,
        total=_is_inside,
        rising=_is_prefix,
        loses="it leaves out a part",
        xpath=_substring_in_xpath,
        spark=_substring_in_spark,
    ),
    Function(
        name="replace",
        summary="every occurrence replaced",
        takes=(TEXT, TEXT, TEXT),
        gives=gives(Kind.STRING),
        apply=_replace,
        total=always,
        loses="it does not tell what was replaced from what stood there before",
        xpath="c:replace({}, {}, {})",
        spark=lambda F, _, text, old, new: F.replace(text, old, new),
    ),
    Function(
        name="before",
        summary="what stands before the first separator",
        takes=(TEXT, TEXT),
        gives=gives(Kind.STRING),
        apply=_before,
        loses="it leaves out a part",
        xpath="c:before({}, {}, false())",
        spark=_before_in_spark,
    ),
    Function(
        name="after",
        summary="what stands after the first separator",
        takes=(TEXT, TEXT),
        gives=gives(Kind.STRING),
        apply=_after,
        loses="it leaves out a part",
        xpath="c:after({}, {}, false())",
        spark=_after_in_spark,
    ),
    Function(
        name="before_last",
        summary="what stands before the last separator",
        takes=(TEXT, TEXT),
        gives=gives(Kind.STRING),
        apply=_before_last,
        loses="it leaves out a part",
        xpath="c:before({}, {}, true())",
        spark=_before_last_in_spark,
        spark_growth=4,
    ),
    Function(
        name="after_last",
        summary="what stands after the last separator",
        takes=(TEXT, TEXT),
        gives=gives(Kind.STRING),
        apply=_after_last,
        loses="it leaves out a part",
        xpath="c:after({}, {}, true())",
        spark=_after_last_in_spark,
    ),
)
