"""How alike two names are: by their words, whatever the spelling, by abbreviations and by synonyms."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Protocol

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")

_ABBREVIATIONS = {
    "addr": "address", "amt": "amount", "cnt": "count", "desc": "description", "dept": "department",
    "dest": "destination", "dist": "distance", "dt": "time", "id": "identifier", "ident": "identifier",
    "lat": "latitude", "lng": "longitude", "loc": "location", "lon": "longitude", "max": "maximum",
    "min": "minimum", "msg": "message", "nbr": "number", "no": "number", "nr": "number", "num": "number",
    "org": "organisation", "pos": "position", "prio": "priority", "qty": "quantity", "ref": "reference",
    "src": "source", "temp": "temperature", "tel": "telephone", "ts": "timestamp", "txt": "text",
    "val": "value", "vol": "volume",
}  # fmt: skip

_SYNONYMS = (
    ("temperature", "heat", "celsius", "fahrenheit", "kelvin"),
    ("severity", "level", "urgency", "priority", "grade"),
    ("place", "location", "position", "site", "where"),
    ("time", "timestamp", "date", "moment", "when", "at"),
    ("person", "occupant", "user", "people", "who", "individual"),
    ("street", "road", "avenue"),
    ("city", "town", "municipality"),
    ("country", "nation", "state"),
    ("house", "building", "home"),
    ("zip", "postcode", "postal"),
    ("price", "cost", "amount", "fare"),
    ("count", "quantity", "pieces"),
    ("speed", "velocity"),
    ("description", "text", "message", "note", "remark"),
    ("identifier", "key", "number", "serial"),
    ("ship", "vessel", "boat"),
    ("cargo", "goods", "freight"),
    ("draught", "draft", "depth"),
    ("car", "vehicle", "automobile"),
    ("company", "firm", "organisation", "business"),
    ("customer", "client", "buyer"),
    ("telephone", "phone", "mobile"),
    ("begin", "start", "beginning"),
    ("end", "finish", "stop"),
    ("arrival", "eta", "due"),
    ("device", "sensor", "detector", "appliance"),
)  # fmt: skip

COMMON_WORDS = frozenset(
    {"name", "value", "code", "data", "field", "info", "attribute", "type", "event", "the", "of", "and", "in"}
)
"""Words that say little about what an attribute means."""

COMMON_WEIGHT = 0.25
SYNONYM, ALIKE = 0.85, 0.75
_ALIKE_FROM = 0.82


class Named(Protocol):
    """A concept."""

    @property
    def name(self) -> str: ...


class Vocabulary(Protocol):
    """Where more synonyms come from: an ontology."""

    def find(self, word: str) -> Named | None:
        """The concept that a word stands for, if it is known."""

    def lineage(self, word: str) -> tuple[str, ...]:
        """The name of the concept and of all broader ones."""

    def __hash__(self) -> int: ...


@cache
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, in the singular, abbreviations written out.

    >>> words("houseNum"), words("bus_stop_IDs"), words("HTTPPort2")
    (('house', 'number'), ('bus', 'stop', 'identifier'), ('http', 'port', '2'))
    """
    return tuple(_plain(found) for found in _WORD.findall(name.replace("IDs", "Id")))


def likeness(
    left: Collection[str], right: Collection[str], weak: Collection[str] = (), vocabulary: Vocabulary | None = None
) -> float:
    """How alike two collections of words are, from 0 to 1; `weak` words count as little as common ones.

    >>> round(likeness(words("roomName"), words("room")), 2), likeness(["room"], ["person"])
    (0.89, 0.0)
    """
    total = sum(_weight(word, weak) for word in (*left, *right))
    if not total:
        return 0.0
    shared, rest = 0.0, list(right)
    for word in sorted(left, key=lambda one: -_weight(one, weak)):
        best = max(rest, key=lambda other: _word_likeness(word, other, vocabulary), default=None)
        found = _word_likeness(word, best, vocabulary) if best is not None else 0.0
        if best is not None and found:
            shared += found * (_weight(word, weak) + _weight(best, weak))
            rest.remove(best)
    return shared / total


def _weight(word: str, weak: Collection[str]) -> float:
    return COMMON_WEIGHT if word in COMMON_WORDS or word in weak else 1.0


@lru_cache(maxsize=65_536)
def _word_likeness(left: str, right: str, vocabulary: Vocabulary | None) -> float:
    if left == right:
        return 1.0
    if right in _synonyms(left):
        return SYNONYM
    known = concept_likeness(left, right, vocabulary) if vocabulary is not None else 0.0
    if known:
        return known
    if min(len(left), len(right)) >= 4 and SequenceMatcher(None, left, right).ratio() >= _ALIKE_FROM:
        return ALIKE
    return 0.0


def concept_likeness(left: str, right: str, vocabulary: Vocabulary) -> float:
    """How alike two words are by what they stand for: one concept, or a concept and a kind of it."""
    one, other = vocabulary.find(left), vocabulary.find(right)
    if one is None or other is None:
        return 0.0
    if one.name == other.name:
        return SYNONYM
    related = one.name in vocabulary.lineage(other.name) or other.name in vocabulary.lineage(one.name)
    return ALIKE if related else 0.0


@cache
def _synonyms(word: str) -> frozenset[str]:
    return frozenset(other for group in _SYNONYMS if word in group for other in group)


def _plain(word: str) -> str:
    word = word.lower()
    word = _ABBREVIATIONS.get(word, word)
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return _ABBREVIATIONS.get(word, word)
