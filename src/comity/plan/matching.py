"""How profiles are matched on Spark, and why so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from comity.expression.tree import walk
from comity.limits import limits
from comity.plan.stages import Plan


class How(StrEnum):
    """Where the profiles are matched."""

    WORKERS = "workers"
    """By the index, in the crossing into Python that decodes the lines."""
    COLUMNS = "columns"
    """As Spark columns, without a crossing."""
    KERNEL = "kernel"
    """By the index, in a crossing of its own with the attributes that profiles look at."""


@dataclass(frozen=True, slots=True)
class Matching:
    """The choice, and its reason."""

    how: How
    profiles: int
    """Operands of composite profiles are counted, too."""
    reason: str


def choose_matching(plan: Plan, *, of_lines: bool) -> Matching:
    """The choice for events that come as lines of text, or as columns."""
    count = len(plan.subscriptions)
    what = "profiles and operands" if plan.patterns else "profiles"
    if of_lines:
        return Matching(How.WORKERS, count, "lines are decoded in the workers, so they are matched there too")
    most, most_nodes = limits().max_column_profiles, limits().max_column_nodes
    if count > most:
        return Matching(How.KERNEL, count, f"{count} {what}, columns pay up to {most}")
    nodes = _nodes(plan)  # of many profiles it would take a while to count them
    if nodes > most_nodes:
        return Matching(How.KERNEL, count, f"{nodes} nodes of expressions, columns pay up to {most_nodes}")
    return Matching(How.COLUMNS, count, f"{count} {what}, columns pay up to {most}")


def _nodes(plan: Plan) -> int:
    return sum(1 for route in plan.routes for delivery in route.deliveries for _ in walk(delivery.wanted))
