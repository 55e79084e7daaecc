"""A market that is made up: daily quotes by a random walk from a seed, and traders with their taste."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

SYMBOLS = ("ABX", "BRC", "CRN", "DLT", "ELM", "FJD", "GRV", "HVN", "IVY", "JTY", "KNT", "LKE")
FIRST_DAY = date(2026, 1, 5)

ABOVE = {
    "exchange": None,
    "east": "exchange",
    "west": "exchange",
    "boston": "east",
    "york": "east",
    "austin": "west",
    "reno": "west",
}
"""The broker that each of seven is linked to: one in the middle, two below it, and two below each of these."""


@dataclass(frozen=True)
class Trader:
    """Somebody at a broker who wants some quotes."""

    name: str
    broker: str
    filter: str


def quotes(days: int, seed: int) -> Iterator[list[dict[str, Any]]]:
    """For each day a quote of every symbol, as CloudEvents; prices walk, and volumes jump."""
    chance = random.Random(seed)
    prices = {symbol: chance.uniform(10, 120) for symbol in SYMBOLS}
    for number in range(days):
        day = FIRST_DAY + timedelta(days=number)
        yield [_quote(symbol, day, prices, chance) for symbol in SYMBOLS]


def _quote(symbol: str, day: date, prices: dict[str, float], chance: random.Random) -> dict[str, Any]:
    before = prices[symbol]
    prices[symbol] = max(1.0, before * chance.gauss(1.0, 0.03))
    low, high = sorted((before, prices[symbol]))
    return {
        "id": f"{symbol}-{day}",
        "source": "/exchange",
        "type": "stocks.Quote",
        "time": f"{day}T17:30:00Z",
        "data": {
            "symbol": symbol,
            "open": round(before, 2),
            "low": round(low * chance.uniform(0.98, 1.0), 2),
            "high": round(high * chance.uniform(1.0, 1.02), 2),
            "close": round(prices[symbol], 2),
            "volume": round(chance.lognormvariate(11, 1)),
        },
    }


def traders(brokers: list[str], each: int, seed: int) -> list[Trader]:
    """So many traders at each broker. The n-th symbol is wanted 1/n as often as the first; some want only a part."""
    chance = random.Random(seed)
    weights = [1 / rank for rank in range(1, len(SYMBOLS) + 1)]
    found = []
    for broker in brokers:
        for number in range(1, each + 1):
            (symbol,) = chance.choices(SYMBOLS, weights)
            found.append(Trader(f"{broker}/{number}", broker, _wish(symbol, chance)))
    return found


def _wish(symbol: str, chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.4:
        return f"symbol = '{symbol}'"
    if kind < 0.7:
        return f"symbol = '{symbol}' and close > {chance.choice((40, 60, 80))}"
    if kind < 0.9:
        return f"symbol = '{symbol}' and volume > {chance.choice((50_000, 100_000))}"
    return f"close > {chance.choice((100, 120))}"
