"""Choices inside an operation become choices between operations, so that each way can be undone by itself."""

from __future__ import annotations

from comity.expression.simplify.known import size
from comity.expression.tree import (
    MISSING,
    Arithmetic,
    Call,
    Conditional,
    Expression,
    Lookup,
    Negative,
    children,
    is_truth,
    rebuild,
)

_MOST_NODES = 20_000


def lifted(node: Expression) -> Expression:
    """The expression with its choices on top, where that does not make it too large.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> render(lifted(parse("n * (if n > 1 then 2 else 3)")))
    'if n > 1 then n * 2 else n * 3'
    """
    found = _lifted(node, [_MOST_NODES])
    return node if found is None else found


def _lifted(node: Expression, left: list[int]) -> Expression | None:
    """None when there is no room left."""
    left[0] -= 1
    if left[0] < 0:
        return None
    if isinstance(node, Conditional):
        ways = [_lifted(way, left) for way in (node.then, node.otherwise)]
        return None if None in ways else Conditional(node.condition, *ways)  # type: ignore[arg-type]
    if not _needs_its_parts(node):
        return node
    inner = [(part, _lifted(part, left)) for part in children(node)]
    if any(new is None for _, new in inner):
        return None
    new_parts = {part: new for part, new in inner if new is not None}
    return _over_choices(rebuild(node, lambda part: new_parts.get(part, part)), left)


def _needs_its_parts(node: Expression) -> bool:
    """Whether the operation has no value when a part has none."""
    if isinstance(node, Call):
        return node.function != "coalesce"
    return isinstance(node, Arithmetic | Negative | Lookup)


def _over_choices(node: Expression, left: list[int]) -> Expression | None:
    choice = next((part for part in children(node) if isinstance(part, Conditional)), None)
    if choice is None:
        return MISSING if MISSING in children(node) else node
    ways: list[Expression] = []
    for way in (choice.then, choice.otherwise):
        left[0] -= size(node) - size(choice)
        chosen = _over_choices(_with(node, choice, way), left) if left[0] >= 0 else None
        if chosen is None:
            return None
        ways.append(chosen)
    return Conditional(choice.condition, ways[0], ways[1])


def _with(node: Expression, old: Expression, new: Expression) -> Expression:
    return rebuild(node, lambda part: new if part is old and not is_truth(part) else part)
