"""Why a clause is filtered here and not, or not only, by the source: stable codes with their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from comity.expression.render import render
from comity.expression.tree import Expression

MEANINGS: Mapping[str, str] = {
    "source-has-no-filter": "The source has no language of filters: it gives everything.",
    "operator-not-supported": "The language does not have the operator for attributes of this kind.",
    "kind-not-supported": "The language does not compare these kinds of values with each other.",
    "attribute-not-visible": "The language cannot see the attribute: part of the envelope, or inside a struct.",
    "attribute-against-attribute": "The language compares attributes with constants only.",
    "no-arithmetic": "The language does not calculate.",
    "function-not-supported": "The language does not have the function.",
    "no-and": "The language has no `and`; the strongest single test is asked.",
    "no-or": "The language has no `or`.",
    "branch-without-bound": "A branch of an `or` has no part that can be asked, so nothing of the others helps.",
    "no-not": "The language has no `not`, and the clause has no other form.",
    "too-many-terms": "The filter has more tests or levels, or a longer text, than the language takes.",
    "weakened": "The source is asked for something weaker; the clause itself is checked here.",
    "missing-value-semantics": "In the language the complement of a test is not true for a missing value.",
    "over-mapping": "A mapping computes the value in a way that the language does not have.",
    "profile-without-bound": "Nothing of the profile can be asked, so everything is asked for.",
    "silence-needs-every-event": "A silence begins and ends with events of any type, so all of them are asked for.",
    "no-patterns": "The language has no patterns: the source sends events, and they are joined here.",
    "pattern-not-supported": "The language does not have something that the pattern needs.",
    "operands-elsewhere": "Other sources serve operands of the pattern, too.",
    "operand-left-to-filter": "The language cannot say all that an operand asks, so the source would join too much.",
    "part-of-a-consumer": "A report of the whole pattern removes events, of which the source would not know.",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one clause stays here.

    >>> print(Reason("no-arithmetic", "x + y > 5"))
    x + y > 5 [no-arithmetic]
    """

    code: str
    clause: str
    explanation: str = ""

    def __post_init__(self) -> None:
        if not self.explanation:
            object.__setattr__(self, "explanation", MEANINGS[self.code])

    def __str__(self) -> str:
        return f"{self.clause} [{self.code}]" if self.clause else f"[{self.code}]"

    def as_dict(self) -> dict[str, str]:
        """For programs."""
        return {"code": self.code, "clause": self.clause, "explanation": self.explanation}


_MOST_CHARS = 200


def reason(code: str, clause: Expression, explanation: str = "") -> Reason:
    """The reason with its clause as text, cut where it is long."""
    return Reason(code, shortened(render(clause)), shortened(explanation))


def shortened(text: str) -> str:
    """The text, cut to what a person reads."""
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 1] + "…"
