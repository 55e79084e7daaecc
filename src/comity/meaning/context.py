"""Values and the contexts that they stand in: `250(Scale = 1000, Currency = 'USD')`.

A context assigns a semantic value to each property, and a semantic value is a simple value with a context: contexts
nest. What is not said is not known, but for the scale, which is 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from comity.errors import Misuse
from comity.meaning.number import exact, print_number

Simple = bool | Fraction | str | datetime | date
"""A number is a Fraction, so that what was written is what is computed with."""

UNIT, SCALE, CURRENCY, CODES, ACCURACY = "unit", "scale", "currency", "codes", "accuracy"
"""The properties that conversions are built in for, and the one that cannot be resolved."""

_SAME = {"scalingfactor": SCALE, "scalefactor": SCALE, "unitofmeasure": UNIT, "codetable": CODES}


def property_key(name: str) -> str:
    """What a property is known by: its case, spaces and underscores do not matter.

    >>> property_key("ScalingFactor"), property_key("unit_of_measure"), property_key("Start Date")
    ('scale', 'unit', 'startdate')
    """
    plain = re.sub(r"[\s_-]", "", name).lower()
    return _SAME.get(plain, plain)


def simple(value: Any) -> Simple:
    """A value of Python as one that a semantic value can have.

    >>> simple(3.85), simple("mile")
    (Fraction(77, 20), 'mile')
    """
    if isinstance(value, bool | str | datetime | date | Fraction):
        return value
    if isinstance(value, int | float | Decimal):
        return exact(value)
    raise Misuse(
        f"{value!r} is no simple value",
        code="bad-value",
        hint="a simple value is a number, a text, true, false, a date or a time",
    )


@dataclass(frozen=True, slots=True)
class SemanticContext:
    """Properties and their semantic values; the order in which they are given does not matter.

    >>> context = SemanticContext.of(Unit="mile", Scale=1000)
    >>> print(context), context["unit"].value
    {⟨Unit, "mile"⟩, ⟨Scale, 1000⟩}
    (None, 'mile')
    """

    properties: tuple[tuple[str, SemanticValue], ...] = field(default=(), compare=False)
    _by_key: frozenset[tuple[str, SemanticValue]] = field(init=False, repr=False, compare=True)

    def __post_init__(self) -> None:
        keys = [property_key(name) for name, _ in self.properties]
        twice = next((name for (name, _), key in zip(self.properties, keys) if keys.count(key) > 1), None)
        if twice is not None:
            raise Misuse(f"a context has the property {twice} twice", code="duplicate-property")
        pairs = frozenset((key, value) for key, (_, value) in zip(keys, self.properties))
        object.__setattr__(self, "_by_key", pairs)

    @classmethod
    def of(cls, given: Mapping[str, Any] | None = None, /, **more: Any) -> SemanticContext:
        """A context from plain values; a mapping `{value: …, context: {…}}` is a value in a context of its own."""
        return cls(tuple((name, SemanticValue.of(value)) for name, value in {**(given or {}), **more}.items()))

    def get(self, name: str) -> SemanticValue | None:
        """The value of a property, None if nothing is said about it."""
        key = property_key(name)
        return next((value for own, value in self.properties if property_key(own) == key), None)

    def __getitem__(self, name: str) -> SemanticValue:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.properties)

    def __len__(self) -> int:
        return len(self.properties)

    def with_values(self, values: SemanticContext) -> SemanticContext:
        """This context with the properties of another in place of its own; names stay as they are written here."""
        kept = [(name, values.get(name) or value) for name, value in self.properties]
        return SemanticContext((*kept, *((name, value) for name, value in values.properties if name not in self)))

    def without(self, names: Iterable[str]) -> SemanticContext:
        """This context without some properties."""
        keys = {property_key(name) for name in names}
        return SemanticContext(tuple(pair for pair in self.properties if property_key(pair[0]) not in keys))

    def as_dict(self) -> dict[str, Any]:
        """The context as it is written in YAML and JSON."""
        return {name: value.as_plain() for name, value in self.properties}

    def printed(self, *, ascii: bool = False) -> str:
        """The context as text, in plain ASCII brackets if wanted."""
        left, right = brackets(ascii)
        pairs = (
            f"{left}{name}, {print_simple(one.value)}{one.context.printed_behind(ascii=ascii)}{right}"
            for name, one in self.properties
        )
        return f"{{{', '.join(pairs)}}}"

    def printed_behind(self, *, ascii: bool = False) -> str:
        """The same with a comma in front, and nothing if nothing is said."""
        return f", {self.printed(ascii=ascii)}" if self else ""

    def __str__(self) -> str:
        return self.printed()


@dataclass(frozen=True, slots=True)
class SemanticValue:
    """A simple value and its context.

    >>> print(SemanticValue.of(250, Scale=1000))
    250(Scale = 1000)
    """

    value: Simple
    context: SemanticContext = field(default_factory=SemanticContext)

    @classmethod
    def of(cls, value: Any, /, **context: Any) -> SemanticValue:
        """A semantic value from a plain one."""
        if isinstance(value, SemanticValue):
            return value
        if isinstance(value, Mapping):
            if not {"value"} <= set(value) <= {"value", "context"}:
                raise Misuse("a value in a context is {value: …, context: {…}}", code="bad-value")
            return cls(simple(value["value"]), SemanticContext.of(value.get("context")))
        return cls(simple(value), SemanticContext.of(context))

    def as_plain(self) -> Any:
        """The value as it is written in YAML and JSON."""
        if not self.context:
            return plain(self.value)
        return {"value": plain(self.value), "context": self.context.as_dict()}

    def __str__(self) -> str:
        shown = print_simple(self.value, "'")
        pairs = ", ".join(f"{name} = {value}" for name, value in self.context.properties)
        return f"{shown}({pairs})" if pairs else shown


def plain(value: Simple) -> Any:
    """A simple value as JSON has it: a number is an int or a float, a time a text."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value.isoformat() if isinstance(value, date) else value


def print_simple(value: Simple, quote: str = '"') -> str:
    """A simple value as it is written in an object, or with other quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return print_number(value)
    if isinstance(value, date):
        return value.isoformat()
    escaped = value.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def brackets(ascii: bool) -> tuple[str, str]:
    """What stands around an object."""
    return ("<", ">") if ascii else ("⟨", "⟩")
