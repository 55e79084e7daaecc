"""Formats of times: texts such as `yyyy-MM-dd` or `h:mm a`, for `parse_time` and `format_time`.

`yyyy`, `MM`, `dd`, `HH` (0 to 23), `hh` (1 to 12, with `a`), `mm`, `ss`, `SSS` (thousandths) and `SSSSSS` (millionths)
have a fixed number of digits; `M`, `d`, `H`, `h`, `m`, `s` have one or two. `a` is am or pm. What is no letter stands
for itself, and so does text in single quotes; two of these are one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from comity.errors import Misuse

_TOKENS = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>(?P<one>[A-Za-z])(?P=one)*)|(?P<other>[^A-Za-z']+)")


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a time as a format writes it."""

    part: str
    """What it is a part of; each may stand in a format once."""
    digits: int
    """How many digits it has, 0 for one or two, and -1 for am and pm."""
    pattern: str
    """What it looks like, for both `re` and Java."""
    read: Callable[[datetime], int]
    of_twelve: bool = False
    """Whether it is an hour from 1 to 12."""


def _fields() -> Mapping[str, Field]:
    found = {"yyyy": Field("year", 4, "([0-9]{4})", lambda time: time.year)}
    found["a"] = Field("half", -1, "([aApP][mM])", lambda time: time.hour // 12)
    found["SSS"] = Field("fraction", 3, "([0-9]{3})", lambda time: time.microsecond // 1000)
    found["SSSSSS"] = Field("fraction", 6, "([0-9]{6})", lambda time: time.microsecond)
    for letter, part, shapes, read in (
        ("M", "month", ("1[0-2]|0?[1-9]", "1[0-2]|0[1-9]"), lambda time: time.month),
        ("d", "day", ("[12][0-9]|3[01]|0?[1-9]", "[12][0-9]|3[01]|0[1-9]"), lambda time: time.day),
        ("H", "hour", ("1[0-9]|2[0-3]|0?[0-9]", "[01][0-9]|2[0-3]"), lambda time: time.hour),
        ("h", "hour", ("1[0-2]|0?[1-9]", "1[0-2]|0[1-9]"), lambda time: (time.hour + 11) % 12 + 1),
        ("m", "minute", ("[1-5][0-9]|0?[0-9]", "[0-5][0-9]"), lambda time: time.minute),
        ("s", "second", ("[1-5][0-9]|0?[0-9]", "[0-5][0-9]"), lambda time: time.second),
    ):
        found[letter] = Field(part, 0, f"({shapes[0]})", read, letter == "h")
        found[2 * letter] = Field(part, 2, f"({shapes[1]})", read, letter == "h")
    return found


_FIELDS = _fields()
PARTS = ("year", "month", "day", "hour", "minute", "second", "fraction")
"""From the largest to the smallest."""


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A format, read: fields and the texts between them."""

    tokens: tuple[str | Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(token for token in self.tokens if isinstance(token, Field))

    @property
    def pattern(self) -> str:
        """The regular expression with a group for each field, read alike by `re` and by Java."""
        return "".join(token.pattern if isinstance(token, Field) else _quoted(token) for token in self.tokens)

    @property
    def is_ordered(self) -> bool:
        """Whether texts of this format stand in the order of their times: the year first, and no part left out."""
        fields = self.fields
        return tuple(field.part for field in fields) == PARTS[: len(fields)] and all(one.digits > 0 for one in fields)

    @property
    def is_nested(self) -> bool:
        """Whether it has the year and every part down to its smallest, in any order."""
        parts = {field.part for field in self.fields} - {"half"}
        return parts == set(PARTS[: len(parts)])

    @property
    def is_unambiguous(self) -> bool:
        """Whether a text can be divided in one way only: nothing that may be a digit follows one digit or two."""
        following = [*self.tokens[1:], ""]
        return not any(
            isinstance(token, Field) and token.digits == 0 and _may_begin_with_digit(after)
            for token, after in zip(self.tokens, following, strict=True)
        )

    def write(self, time: datetime) -> str:
        return "".join(spell(token, token.read(time)) if isinstance(token, Field) else token for token in self.tokens)

    def read(self, text: str) -> datetime | None:
        """The time; parts that the format lacks are those of 1970-01-01, midnight. None when the text does not fit."""
        found = re.fullmatch(self.pattern, text)
        if found is None:
            return None
        given = {field.part: _number(field, group) for field, group in zip(self.fields, found.groups(), strict=True)}
        hour = given.get("hour", 0)
        if "half" in given:
            hour = hour % 12 + 12 * given["half"]
        try:
            return datetime(
                given.get("year", 1970),
                given.get("month", 1),
                given.get("day", 1),
                hour,
                given.get("minute", 0),
                given.get("second", 0),
                given.get("fraction", 0),
                tzinfo=UTC,
            )
        except ValueError:  # a day that the month does not have, or the year 0
            return None


def _may_begin_with_digit(token: str | Field) -> bool:
    return token[:1].isdigit() if isinstance(token, str) else token.digits >= 0


def spell(field: Field, number: int) -> str:
    """A field's number as the format writes it."""
    if field.digits < 0:
        return "pm" if number else "am"
    return f"{number:0{field.digits}}" if field.digits else str(number)


def _number(field: Field, text: str) -> int:
    if field.digits < 0:
        return int(text[0] in "pP")
    return int(text) * (1000 if field.digits == 3 else 1)


def _quoted(text: str) -> str:
    return "".join(char if char.isalnum() or ord(char) > 127 else f"\\x{ord(char):02x}" for char in text)


@lru_cache(maxsize=1024)
def time_format(text: str) -> TimeFormat:
    """The format that a text describes; `Misuse` with code bad-format when it describes none.

    >>> time_format("h:mm a").read("1:27 pm").time()
    datetime.time(13, 27)
    >>> time_format("dd.MM.yyyy").write(datetime(2026, 5, 1))
    '01.05.2026'
    """
    tokens: list[str | Field] = []
    at = 0
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None:
            raise _bad(text, "a quote is not closed")
        tokens.append(_token(found, text))
        at = found.end()
    _check(tokens, text)
    return TimeFormat(tuple(tokens))


def _token(found: re.Match[str], text: str) -> str | Field:
    if found["letters"] is None:
        return found["other"] or found["quoted"].replace("''", "'") or "'"
    field = _FIELDS.get(found["letters"])
    if field is None:
        raise _bad(text, f"{found['letters']!r} stands for no part of a time")
    return field


def _check(tokens: list[str | Field], text: str) -> None:
    parts = [token.part for token in tokens if isinstance(token, Field)]
    if not parts:
        raise _bad(text, "it has no part of a time")
    if len(set(parts)) < len(parts):
        raise _bad(text, "a part stands in it twice")
    of_twelve = any(isinstance(token, Field) and token.of_twelve for token in tokens)
    if of_twelve is not ("half" in parts):
        raise _bad(text, "h and a go together; hours from 0 to 23 are H")


def _bad(text: str, reason: str) -> Misuse:
    hint = "yyyy MM dd HH hh mm ss SSS a, and 'texts' in quotes: dd.MM.yyyy, h:mm a"
    return Misuse(f"{text!r} is no format of times: {reason}", code="bad-format", hint=hint)


def parse_time(text: str, format: str) -> datetime | None:
    """The time that a text says in a format, None when it does not fit, or the format is none."""
    try:
        return time_format(format).read(text)
    except Misuse:
        return None


def format_time(time: datetime, format: str) -> str | None:
    """The time as the format writes it, None when the format is none."""
    try:
        return time_format(format).write(time)
    except Misuse:
        return None
