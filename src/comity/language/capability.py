"""What a language of filters can say, as data: `split` asks this record and never the language itself.

A language is written as a difference from a base: `replace(NOTHING, name="…", operators=…)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from comity.event.kinds import ORDERED, Kind
from comity.event.types import ENVELOPE
from comity.expression.functions import FUNCTIONS

EQUALITY = frozenset({"=", "!="})
ORDER = frozenset({"<", "<=", ">", ">="})
RANGES = frozenset({"between", "not between"})
LISTS = frozenset({"in", "not in"})
TEXT_TESTS = frozenset({"like", "starts with", "ends with", "contains", "matches"})
PRESENCE = frozenset({"exists", "not exists"})
OPERATORS = frozenset(
    {*EQUALITY, *ORDER, *RANGES, *LISTS, *PRESENCE, *TEXT_TESTS, *(f"not {one}" for one in TEXT_TESTS)}
)
"""Every operator under the name by which a capability has it; a negated form is an operator of its own."""

FORMS = frozenset({*FUNCTIONS, "coalesce", "lookup", "if", "truth"})
"""What `functions` can name: the functions, `if … then … else`, and `truth`, a filter used as a value."""

PATTERNS = frozenset(
    {";", "&", "|", ":", "not", "silence", "[]", "key", "where", "duplicates", "consume", "limit", "ties"}
)
"""What `patterns` can name: the operators of patterns (`silence` is a `not` by itself, `[]` a selection), traces by a
key, conditions between operands, and the parameters of a composite profile."""


class MissingPolicy(StrEnum):
    """What becomes of a comparison with a missing value."""

    FALSE = "false"
    """It is false, and `not` is the complement: as here."""
    UNKNOWN = "unknown"
    """It is SQL's third value, and so is its `not`; what is unknown in the end does not pass."""


@dataclass(frozen=True, slots=True)
class LanguageCapability:
    """What a language has. Bounds are None where there is none.

    >>> NOTHING.has("=", Kind.INT), EVERYTHING.has("not like", Kind.STRING)
    (False, True)
    """

    name: str
    operators: Mapping[Kind, frozenset[str]] = field(default_factory=dict, hash=False)
    """By the kind of the attribute."""
    conjunction: bool = False
    disjunction: bool = False
    negation: bool = False
    """`not` before any filter."""
    max_terms: int | None = None
    """Tests in one filter."""
    max_depth: int | None = None
    """Levels of and, or, not above a test."""
    max_text_chars: int | None = None
    """Characters of the native text."""
    between_attributes: bool = False
    """An attribute may be compared with another one."""
    arithmetic: bool = False
    functions: frozenset[str] = frozenset()
    """Out of `FORMS`."""
    nested_paths: bool = False
    """Attributes inside structs, and the coordinates of points."""
    mixed_numbers: bool = False
    """An int and a float are compared as exactly as here; otherwise only like with like."""
    missing: MissingPolicy = MissingPolicy.FALSE
    envelope: frozenset[str] = frozenset()
    """The names of the envelope that it can see, without `event.`."""
    is_type: bool = False
    """It knows the hierarchy of types."""
    patterns: frozenset[str] = frozenset()
    """Out of `PATTERNS`: what a source detects itself, so that it sends occurrences in place of events."""
    is_ours: bool = False
    """It is the language of Comity with its semantics: whatever can be written can be asked."""

    def has(self, operator: str, kind: Kind | None) -> bool:
        """Whether it has the operator for attributes of the kind; of an unknown kind, for all that it knows."""
        if kind is not None:
            return operator in self.operators.get(kind, frozenset())
        return bool(self.operators) and all(operator in some for some in self.operators.values())

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to ask with."""
        return not any(self.operators.values()) and not self.is_type


def for_kinds(kinds: Iterable[Kind], *groups: Iterable[str]) -> dict[Kind, frozenset[str]]:
    """The same operators for several kinds, to be joined with others by `|`."""
    return dict.fromkeys(kinds, frozenset(one for group in groups for one in group))


def _all_operators() -> dict[Kind, frozenset[str]]:
    texts = OPERATORS - EQUALITY - ORDER - RANGES - LISTS - PRESENCE
    return {
        kind: frozenset({*EQUALITY, *PRESENCE, *LISTS, *(ORDER | RANGES if kind in ORDERED else ())})
        | (texts if kind is Kind.STRING else frozenset())
        | (frozenset({"contains", "not contains"}) if kind is Kind.LIST else frozenset())
        for kind in Kind
    }


NOTHING = LanguageCapability("none")
"""Files of JSON Lines or CSV, a webhook, standard input: they give everything."""

EVERYTHING = LanguageCapability(
    "comity",
    operators=_all_operators(),
    conjunction=True,
    disjunction=True,
    negation=True,
    between_attributes=True,
    arithmetic=True,
    functions=FORMS,
    nested_paths=True,
    mixed_numbers=True,
    envelope=frozenset(ENVELOPE),
    is_type=True,
    is_ours=True,
)
"""The language of Comity itself."""
