"""Stock trading: quotes, and people who want some of them.

Symbols are not equally popular (Zipf), people of one place like other symbols than those of another (locality), and
prices are named in round steps, so that wishes are often equal, cover each other, or can be put together.
"""

from __future__ import annotations

import csv
import gzip
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random

from comity.errors import Misuse, Place
from comity.expression.render import render
from comity.expression.tree import Literal
from comity.simulate.space import Record


@dataclass(frozen=True, slots=True)
class Taste:
    """What people want."""

    zipf: float = 1.0
    """How unequal symbols are: the n-th is wanted n**-zipf times as often as the first."""
    locality: float = 0.5
    """The share of wishes that follow the order of symbols that a place likes, and not the one of all."""
    steps: int = 20
    """Prices that filters name, for each symbol; the fewer, the more alike are filters."""


@dataclass(slots=True)
class Market:
    """Symbols with their prices, and quotes in order of time."""

    quotes: Sequence[Record]
    symbols: tuple[str, ...] = field(init=False)
    _numbers: dict[str, int] = field(init=False)
    _prices: dict[str, list[float]] = field(init=False)
    """Of each symbol, from low to high."""

    def __post_init__(self) -> None:
        self._prices = {}
        for quote in self.quotes:
            self._prices.setdefault(str(quote["symbol",]), []).append(float(str(quote["price",])))
        for prices in self._prices.values():
            prices.sort()
        self.symbols = tuple(self._prices)
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols)}

    @classmethod
    def generated(cls, symbols: int, count: int, chance: Random) -> Market:
        """Random walks; a symbol's trades are the more the lower its number."""
        prices = [round(chance.uniform(5, 200), 2) for _ in range(symbols)]
        weights = list(accumulate(1 / (number + 1) for number in range(symbols)))
        quotes: list[Record] = []
        for _ in range(count):
            number = chance.choices(range(symbols), cum_weights=weights)[0]
            prices[number] = round(max(1.0, prices[number] * chance.gauss(1.0, 0.01)), 2)
            volume = int(chance.lognormvariate(8, 1.5)) * 100
            quotes.append(_quote(f"S{number}", prices[number], volume))
        return cls(quotes)

    @classmethod
    def read(cls, path: Path, count: int) -> Market:
        """Quotes of a CSV file (also .gz) with `symbol`, `close` or `price`, and `volume`, again from the start when
        they are over.
        """
        try:
            rows = list(_rows(path))
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            raise Misuse(f"cannot be read: {error}", code="unreadable-file", place=Place(str(path))) from error
        if not rows:
            raise Misuse("there are no quotes in it", code="no-quotes", place=Place(str(path)))
        return cls([rows[number % len(rows)] for number in range(count)])

    def wish(self, place: int, taste: Taste, chance: Random) -> str:
        """A filter that somebody at a place subscribes."""
        symbol = self._symbol(place, taste, chance)
        same = f"symbol = {_literal(symbol)}"
        kind = chance.random()
        if kind < 0.1:
            return same
        low, high = sorted(chance.sample(self._levels(symbol, taste.steps), k=2))
        if kind < 0.55:
            return f"{same} and price between {low} and {high}"
        if kind < 0.75:
            return f"{same} and price {chance.choice(('>=', '<='))} {low}"
        volume = chance.choice((100_000, 500_000, 1_000_000, 5_000_000))
        if kind < 0.97:
            return f"{same} and price >= {low} and volume >= {volume}"
        return f"volume >= {volume * 10}"

    def offer(self, publisher: int, publishers: int) -> str:
        """What one of several publishers advertises: the symbols that it quotes."""
        own = [_literal(symbol) for symbol in self.symbols[publisher::publishers]]
        return f"symbol = {own[0]}" if len(own) == 1 else f"symbol in ({', '.join(own)})"

    def publisher(self, quote: Record, publishers: int) -> int:
        """Who quotes it."""
        return self._numbers[str(quote["symbol",])] % publishers

    def _symbol(self, place: int, taste: Taste, chance: Random) -> str:
        rank = _zipf(len(self.symbols), taste.zipf, chance)
        shift = place * 7 if chance.random() < taste.locality else 0
        return self.symbols[(rank + shift) % len(self.symbols)]

    def _levels(self, symbol: str, steps: int) -> list[float]:
        """Prices that people name: quantiles, rounded, and one above all."""
        prices = self._prices[symbol]
        levels = {float(f"{prices[len(prices) * step // steps]:.3g}") for step in range(steps)}
        return sorted(levels | {math.ceil(prices[-1]) + 1.0})


def _literal(text: str) -> str:
    return render(Literal(text))


def _zipf(size: int, exponent: float, chance: Random) -> int:
    weights = _weights(size, exponent)
    return min(bisect_right(weights, chance.random() * weights[-1]), size - 1)


@lru_cache(maxsize=8)
def _weights(size: int, exponent: float) -> list[float]:
    return list(accumulate((number + 1) ** -exponent for number in range(size)))


def _quote(symbol: str, price: float, volume: int) -> Record:
    return {("symbol",): symbol, ("price",): price, ("volume",): volume}


def _rows(path: Path) -> Iterator[Record]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
        for number, row in enumerate(csv.DictReader(stream), 2):
            try:
                price = row["close"] if "close" in row else row["price"]
                yield _quote(row["symbol"], float(price), int(float(row["volume"])))
            except (KeyError, TypeError, ValueError):
                hint = "its columns are symbol, price or close, and volume"
                raise Misuse("no quote", code="bad-quote", place=Place(str(path), number), hint=hint) from None
