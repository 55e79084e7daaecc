"""What a profile can cost in matching, estimated before it is accepted.

The unit is about a nanosecond of an event that has everything the profile asks for: the worst case, not the average.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from comity.errors import Misuse
from comity.event.types import AttributeType
from comity.expression.tree import Between, Compare, Exists, Expression, In, IsType, Not, TextTest, walk
from comity.limits import limits
from comity.match.channels import Path
from comity.match.conjunctions import Conjunction, ConjunctionReader

_CONJUNCTION, _INTERVAL = 5, 1
_NODE, _TEXT, _PATTERN = 200, 300, 1_000
"""Of tests, which run in Python: a node of an expression, a search in a text, a pattern."""


@dataclass(frozen=True, slots=True)
class ProfileCost:
    """The parts of an estimate."""

    conjunctions: int
    """Alternatives that stand in the index."""
    intervals: int
    """Ranges and single values in all of them."""
    tests: int
    """Conditions that are evaluated one event at a time."""
    always: int
    """Alternatives that nothing narrows down: every event has to be tested."""
    total: int
    """In nanoseconds, about."""


def profile_cost(profile: Expression, attributes: Mapping[Path, AttributeType] | None = None) -> ProfileCost:
    """The worst-case cost of a bound filter.

    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.scope import Scope
    >>> profile_cost(bind_text("x = 1 or s matches '.*a.*b'", Scope()))
    ProfileCost(conjunctions=2, intervals=2, tests=1, always=0, total=1112)
    """
    found = ConjunctionReader(attributes).read(profile)
    intervals = sum(len(intervals) for one in found for _, intervals in one.regions)
    tests = {test for one in found for test in one.tests}  # evaluated once, however many alternatives share it
    total = _CONJUNCTION * len(found) + _INTERVAL * intervals + sum(map(_test_cost, tests))
    return ProfileCost(len(found), intervals, len(tests), sum(map(_is_always, found)), total)


def summed(costs: Iterable[ProfileCost]) -> ProfileCost:
    """The cost of several filters together.

    >>> summed([ProfileCost(1, 2, 0, 0, 7), ProfileCost(1, 1, 1, 0, 206)]).total
    213
    """
    columns = zip(*(astuple(one) for one in costs), strict=True)
    return ProfileCost(*map(sum, columns))


def check_profile_cost(profile: Expression, attributes: Mapping[Path, AttributeType] | None = None) -> ProfileCost:
    """The cost of a profile; refuses one that is above `max_profile_cost`."""
    cost, most = profile_cost(profile, attributes), limits().max_profile_cost
    if cost.total > most:
        parts = f"{cost.conjunctions} alternatives, {cost.tests} conditions that no index helps"
        raise Misuse(
            f"the profile may cost {cost.total} ns an event, the limit is {most} ({parts})",
            code="profile-too-costly",
            hint="narrow it with comparisons to constants, split it, or raise COMITY_MAX_PROFILE_COST",
        )
    return cost


def _is_always(one: Conjunction) -> bool:
    return not one.regions


def _test_cost(test: Expression) -> int:
    return sum(_node_cost(node) for node in walk(test))


def _node_cost(node: Expression) -> int:
    match node:
        case TextTest("matches" | "like"):
            return _PATTERN
        case TextTest():
            return _TEXT
        case Compare() | Between() | In() | Exists() | IsType() | Not():
            return _NODE
    return _NODE // 2


__all__ = ["ProfileCost", "check_profile_cost", "profile_cost"]
