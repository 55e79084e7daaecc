"""A walk over a whole tree cannot forget a node: where one is added, mypy names every such walk.

It does so where a walk must return something and returns it in each case. One that yields or fills something would pass
over the new node without a word, and so ends in `assert_never`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import comity
from comity.expression.tree import Expression
from comity.filter.formula import Formula
from comity.pattern.tree import Pattern

SOURCE = Path(comity.__file__).parent
TREES = {"expression": get_args(Expression), "pattern": get_args(Pattern), "filter": get_args(Formula)}


def classes_of(node: ast.Match) -> set[str]:
    return {ast.unparse(one.cls) for one in ast.walk(node) if isinstance(one, ast.MatchClass)}


def walks(tree: ast.AST, nodes: set[str]) -> Iterator[tuple[ast.Match, list[ast.stmt]]]:
    """Each `match` that names all these nodes, with what stands behind it."""
    for parent in ast.walk(tree):
        body = getattr(parent, "body", None)
        for at, one in enumerate(body if isinstance(body, list) else []):
            if isinstance(one, ast.Match) and nodes <= classes_of(one):
                yield one, parent.body[at + 1 :]  # type: ignore[attr-defined]


def is_exhaustive(walk: ast.Match, behind: list[ast.stmt]) -> bool:
    last = behind[0] if behind else walk.cases[-1].body[-1]
    if ast.unparse(last).startswith("assert_never("):
        return True
    return not behind and all(isinstance(case.body[-1], ast.Return | ast.Raise) for case in walk.cases)


@pytest.mark.parametrize("name", TREES)
def test_walks_over_a_whole_tree_forget_no_node(name: str) -> None:
    nodes = {one.__name__ for one in TREES[name]}
    found = {
        f"{path.relative_to(SOURCE)}:{walk.lineno}": is_exhaustive(walk, behind)
        for path in sorted(SOURCE.rglob("*.py"))
        for walk, behind in walks(ast.parse(path.read_text(encoding="utf-8")), nodes)
    }
    assert found, "there are walks"
    assert [place for place, is_so in found.items() if not is_so] == []
