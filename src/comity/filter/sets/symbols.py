"""Symbols: the Unicode characters numbered without the gap of the surrogates."""

from __future__ import annotations

SYMBOLS = 0x110000 - 0x800
_SURROGATES, _GAP = 0xD800, 0x800

# Characters that a person reads with ease come first.
_NICE = [
    (ord("a"), ord("z")),
    (ord("0"), ord("9")),
    (ord("A"), ord("Z")),
    (ord("!"), ord("~")),
    (ord(" "), ord(" ")),
    (0xC0, 0x24F),
    (0xA1, _SURROGATES - 1),
    (0x1F300, 0x1FAFF),
    (0xE000, 0x10FFFF),
    (0, 0xA0),
]


def to_symbol(code: int) -> int:
    """The symbol of a character's code point."""
    return code if code < _SURROGATES else code - _GAP


def to_char(symbol: int) -> str:
    """The character of a symbol.

    >>> to_char(to_symbol(ord("é")))
    'é'
    """
    return chr(symbol if symbol < _SURROGATES else symbol + _GAP)


_NICE_SYMBOLS = [(to_symbol(low), to_symbol(high)) for low, high in _NICE]


def nicest_char(low: int, high: int) -> tuple[int, str]:
    """The most readable character between two symbols, behind its rank (less is nicer).

    >>> nicest_char(0, SYMBOLS - 1)
    (0, 'a')
    """
    for rank, (first, last) in enumerate(_NICE_SYMBOLS):
        if first <= high and low <= last:
            return rank, to_char(max(first, low))
    raise ValueError("an empty range of symbols")


def after_prefix(prefix: str) -> str | None:
    """The least string above all that begin with the prefix; None when nothing is.

    >>> after_prefix("ab")
    'ac'
    """
    stem = prefix.rstrip("\U0010ffff")
    return stem[:-1] + to_char(to_symbol(ord(stem[-1])) + 1) if stem else None
