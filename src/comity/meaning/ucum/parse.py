"""The grammar of UCUM codes: `mm[Hg]`, `kg.m/s2`, `10*3/uL`, `/min`, `g{wet}/(8.h)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from comity.errors import Misuse, Place
from comity.meaning.ucum.table import Symbol, symbols

MAX_CHARS = 256
"""Characters of one code; the longest in use have about 40."""
MAX_DIGITS = 3
"""Digits of an exponent, so that no code is a number that takes minutes to compute."""

_EXPONENT = re.compile(r"[+-]?[1-9][0-9]*")
_FACTOR = re.compile(r"[1-9][0-9]*")
_ANNOTATION = re.compile(r"\{[!-z|~]*\}")
_AFTER_SYMBOL = frozenset("+-0123456789{./)")


@dataclass(frozen=True, slots=True)
class UnitPart:
    """A symbol or a number, and its exponent."""

    of: Symbol | int
    exponent: int


def is_ucum(code: str) -> bool:
    """Whether a text is a valid UCUM code (case sensitive).

    >>> is_ucum("mm[Hg]"), is_ucum("mmHg"), is_ucum("g/12h")
    (True, False, False)
    """
    try:
        parse(code)
    except Misuse:
        return False
    return True


def check(code: str) -> None:
    """Refuse a text that is no UCUM code, and say where it ceases to be one.

    >>> check("kg.m/")
    Traceback (most recent call last):
        ...
    comity.errors.Misuse: 1:6: 'kg.m/' is no UCUM code: a unit must stand here [invalid-ucum]
    """
    parse(code)


@cache
def parse(code: str) -> tuple[UnitPart, ...]:
    """The code as a product of parts, without its annotations and brackets.

    >>> [(part.of.name, part.exponent) for part in parse("kg/(m.s2)")]
    [('kilogram', 1), ('meter', -1), ('second', -2)]
    """
    return _Parser(code).whole()


class _Parser:
    def __init__(self, code: str) -> None:
        self.code, self.at = code, 0

    def whole(self) -> tuple[UnitPart, ...]:
        if len(self.code) > MAX_CHARS:
            raise self._fault(f"it has more than {MAX_CHARS} characters")
        parts = self._term(-1 if self._takes("/") else 1)
        if self.at < len(self.code):
            raise self._fault(self._unexpected())
        return tuple(parts)

    def _term(self, sign: int) -> list[UnitPart]:
        parts = self._component(sign)
        outer = abs(sign)
        while self._next() in ("/", "."):
            divides = self._takes("/") or not self._takes(".")
            parts += self._component(-outer if divides else outer)
        return parts

    def _component(self, sign: int) -> list[UnitPart]:
        if self._takes("("):
            parts = [UnitPart(part.of, part.exponent * sign) for part in self._term(1)]
            if not self._takes(")"):
                raise self._fault("a bracket is not closed" if self._next() == "" else self._unexpected())
        elif self._next() == "{":
            self._annotation()
            return []
        else:
            parts = [self._unit(sign)]
        if self._next() == "{":
            self._annotation()
        return parts

    def _unit(self, sign: int) -> UnitPart:
        symbol = self._symbol()
        if symbol is not None:
            return UnitPart(symbol, sign * self._exponent())
        number = _FACTOR.match(self.code, self.at)
        if number is None:
            raise self._fault("a unit must stand here" if self._next() in ("", ".", "/", ")") else self._unexpected())
        self.at = number.end()
        return UnitPart(int(number[0]), sign)

    def _symbol(self) -> Symbol | None:
        """The longest symbol here that ends where a symbol can end."""
        known = symbols()
        for end in range(min(len(self.code), self.at + _longest()), self.at, -1):
            symbol = known.get(self.code[self.at : end])
            if symbol is not None and (end == len(self.code) or self.code[end] in _AFTER_SYMBOL):
                self.at = end
                return symbol
        return None

    def _exponent(self) -> int:
        found = _EXPONENT.match(self.code, self.at)
        if found is None:
            return 1
        if len(found[0].lstrip("+-")) > MAX_DIGITS:
            raise self._fault(f"an exponent has more than {MAX_DIGITS} digits")
        self.at = found.end()
        return int(found[0])

    def _annotation(self) -> None:
        found = _ANNOTATION.match(self.code, self.at)
        if found is None:
            raise self._fault("an annotation is not closed, or holds more than plain ASCII characters")
        self.at = found.end()

    def _next(self) -> str:
        return self.code[self.at : self.at + 1]

    def _takes(self, character: str) -> bool:
        if self._next() != character:
            return False
        self.at += 1
        return True

    def _unexpected(self) -> str:
        rest = re.split(r"[./(){}]", self.code[self.at :], maxsplit=1)[0] or self.code[self.at]
        return f"{rest!r} is no unit, or cannot stand here"

    def _fault(self, why: str) -> Misuse:
        place = Place(line=1, column=self.at + 1)
        return Misuse(f"{self.code[:MAX_CHARS]!r} is no UCUM code: {why}", code="invalid-ucum", place=place)


@cache
def _longest() -> int:
    return max(map(len, symbols()))
