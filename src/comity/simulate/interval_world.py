"""A small world in which every question about filters can be answered by looking: numbers on a line, and few words.

Values lie between and beyond all bounds that filters name, so filters that differ differ on an event.
"""

from __future__ import annotations

from random import Random

from comity.simulate.space import EventSpace, Record

_BOUNDS = 6
_WORDS = ("a", "b", "c")
_TYPES = ("house.Fire", "house.Water", "city.Bus")


def interval_space() -> EventSpace:
    """Every value at, between and beyond the bounds, or none, with every word, another one, or none."""
    numbers: list[float | None] = [None, *(half / 2 for half in range(-1, 2 * _BOUNDS + 2))]
    words: list[str | None] = [None, *_WORDS, "d"]
    return EventSpace((_record(number, word) for number in numbers for word in words), is_complete=True)


def _record(number: float | None, word: str | None) -> Record:
    values = {("x",): number, ("w",): word}
    return {path: value for path, value in values.items() if value is not None}


def typed_space() -> EventSpace:
    """The same for each of three types."""
    plain = interval_space().records
    records = ({**record, ("event", "type"): type} for type in _TYPES for record in plain)
    return EventSpace(records, is_complete=True)


def typed_filter(chance: Random) -> str:
    """A filter that names one type, or two."""
    chosen = chance.sample(_TYPES, chance.choice((1, 1, 1, 2)))
    named = f"event.type = '{chosen[0]}'" if len(chosen) == 1 else f"event.type in ('{chosen[0]}', '{chosen[1]}')"
    return named if chance.random() < 0.1 else f"{named} and ({interval_filter(chance)})"


def interval_filter(chance: Random) -> str:
    """A filter: a range, a value, words, or several of these; the same one is written in several ways."""
    kind = chance.random()
    if kind < 0.6:
        return _range(chance)
    if kind < 0.75:
        return _words(chance)
    if kind < 0.95:
        return f"{_words(chance)} and {_range(chance)}"
    return f"{_words(chance)} or {_range(chance)}"


def _range(chance: Random) -> str:
    low = chance.randrange(_BOUNDS)
    high = chance.randrange(low, _BOUNDS)
    match chance.randrange(6):
        case 0:
            return f"x >= {low} and x <= {high}"
        case 1:
            return f"x >= {low}"
        case 2:
            return f"x < {high}"
        case 3:
            return f"x = {low}"
        case _:
            return f"x between {low} and {high}"


def _words(chance: Random) -> str:
    chosen = chance.sample(_WORDS, chance.choice((1, 1, 2)))
    return f"w = '{chosen[0]}'" if len(chosen) == 1 else f"w in ('{chosen[0]}', '{chosen[1]}')"
