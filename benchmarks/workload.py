"""Filters and events to measure with: seeded, so that every run and every machine gets the same ones.

A workload is plain data first (`Constraint`), from which texts, bound trees and events are made. Attributes are chosen
with a skew, as are strings: a few are in most filters, most are in few.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from comity.event.kinds import Kind
from comity.event.types import EVENT, AttributeType, EventType
from comity.expression.tree import (
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    Literal,
    TextTest,
    conjunction,
)

ATTRIBUTES: dict[str, Kind] = {
    "kind": Kind.STRING,
    "value": Kind.FLOAT,
    "site": Kind.STRING,
    "level": Kind.INT,
    "device": Kind.STRING,
    "temperature": Kind.FLOAT,
    "room": Kind.STRING,
    "count": Kind.INT,
    "vendor": Kind.STRING,
    "speed": Kind.FLOAT,
    "owner": Kind.STRING,
    "port": Kind.INT,
    "topic": Kind.STRING,
    "pressure": Kind.FLOAT,
    "region": Kind.STRING,
    "year": Kind.INT,
    "label": Kind.STRING,
    "latency": Kind.FLOAT,
    "user": Kind.STRING,
    "weight": Kind.FLOAT,
}
"""The attributes of the events from the most popular to the least."""

_NUMBER_TESTS = {"=": 14, "<": 14, "<=": 4, ">": 14, ">=": 4, "between": 30, "in": 8, "!=": 5, "exists": 7}
_STRING_TESTS = {"=": 48, "starts with": 22, "in": 15, "!=": 8, "exists": 7}
_SYLLABLES = ["ba", "ce", "do", "fi", "gu", "ha", "ke", "lo", "mi", "nu", "pa", "re", "so", "ti", "vu", "za"]
_WORDS = 2000


@dataclass(frozen=True, slots=True)
class Constraint:
    """One test of one attribute; `operand` is a value, for `between` and `in` a tuple of them, for `exists` None."""

    attribute: str
    test: str
    operand: Any = None

    def text(self) -> str:
        """The constraint as the expression language has it."""
        if self.test == "exists":
            return f"exists {self.attribute}"
        if self.test == "between":
            return f"{self.attribute} between {self.operand[0]!r} and {self.operand[1]!r}"
        if self.test == "in":
            return f"{self.attribute} in ({', '.join(map(repr, self.operand))})"
        return f"{self.attribute} {self.test} {self.operand!r}"

    def tree(self) -> Expression:
        """The constraint as a bound tree."""
        attribute = Attribute((self.attribute,))
        match self.test:
            case "exists":
                return Exists(attribute)
            case "between":
                return Between(attribute, Literal(self.operand[0]), Literal(self.operand[1]))
            case "in":
                return In(attribute, tuple(map(Literal, self.operand)))
            case "starts with":
                return TextTest("starts with", attribute, self.operand)
        return Compare(self.test, attribute, Literal(self.operand))


Filter = tuple[Constraint, ...]
"""Constraints on different attributes, all of which must hold."""


def text_of(constraints: Filter) -> str:
    """The filter as text."""
    return " and ".join(constraint.text() for constraint in constraints)


def tree_of(constraints: Filter) -> Expression:
    """The filter as a bound tree, the same that its text gives."""
    return conjunction([constraint.tree() for constraint in constraints])


def event_type() -> EventType:
    """The type of the events; all of its attributes are optional."""
    own = {name: AttributeType(kind, optional=True) for name, kind in ATTRIBUTES.items()}
    return EventType("Reading", "bench", EVENT, own)


class Workload:
    """A stream of filters and events from one seed."""

    def __init__(self, seed: int = 7, skew: float = 1.0) -> None:
        self._chance = random.Random(seed)
        words = random.Random(0)  # the words are the same for every seed
        self._words = ["".join(words.choices(_SYLLABLES, k=words.randint(2, 5))) for _ in range(_WORDS)]
        self._names = list(ATTRIBUTES)
        self._attribute_weights = list(accumulate(1 / (rank + 1) ** skew for rank in range(len(ATTRIBUTES))))
        self._word_weights = list(accumulate(1 / (rank + 1) for rank in range(_WORDS)))

    def filters(self, count: int, fewest: int = 2, most: int = 6) -> Iterator[Filter]:
        """Conjunctive filters of `fewest` to `most` constraints."""
        for _ in range(count):
            chosen = self._attributes(self._chance.randint(fewest, most))
            yield tuple(self._constraint(name) for name in chosen)

    def events(self, count: int, share: float = 0.7) -> Iterator[dict[str, Any]]:
        """The data of events; each attribute is there with the given chance."""
        for _ in range(count):
            present = [name for name in self._names if self._chance.random() < share]
            yield {name: self._value(ATTRIBUTES[name]) for name in present}

    def _attributes(self, count: int) -> list[str]:
        chosen: dict[str, None] = {}
        while len(chosen) < count:
            chosen[self._chance.choices(self._names, cum_weights=self._attribute_weights)[0]] = None
        return list(chosen)

    def _constraint(self, name: str) -> Constraint:
        kind = ATTRIBUTES[name]
        tests = _STRING_TESTS if kind is Kind.STRING else _NUMBER_TESTS
        test = self._chance.choices(list(tests), weights=list(tests.values()))[0]
        return Constraint(name, test, self._operand(test, kind))

    def _operand(self, test: str, kind: Kind) -> Any:
        match test:
            case "exists":
                return None
            case "between":
                return self._range(kind)
            case "in":
                return tuple(self._value(kind) for _ in range(self._chance.randint(2, 5)))
            case "starts with":
                return self._value(kind)[: self._chance.randint(2, 5)]
        return self._value(kind)

    def _range(self, kind: Kind) -> tuple[Any, Any]:
        low = self._value(kind)
        width = self._chance.choice([1, 10, 50, 200])
        return low, low + width if kind is Kind.INT else round(low + width * self._chance.random(), 2)

    def _value(self, kind: Kind) -> Any:
        if kind is Kind.STRING:
            return self._chance.choices(self._words, cum_weights=self._word_weights)[0]
        if kind is Kind.INT:
            return self._chance.randint(0, 999)
        return round(self._chance.uniform(0, 1000), 2)
