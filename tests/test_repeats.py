"""No logic is written twice: no two functions share six lines of the same shape.

Functions are compared statement by statement, without docstrings and annotations, whatever variables, strings and
numbers stand in them. Declarations, tables and imports are not compared: what they repeat is their form, not logic.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
LINES = 6

REFERENCE = ("comity/pattern/reference/",)
"""What judges other code shares none with it, on purpose."""


@dataclass(frozen=True)
class Statement:
    """A statement, or the head of one that has others inside: its shape, and the lines that it stands on."""

    shape: str
    first: int
    lines: int


def shape_of(node: ast.AST) -> str:
    """The tree as a text, without what makes two places differ in their words only."""
    match node:
        case ast.Name() | ast.arg():
            return "name"
        case ast.Attribute(value):
            return f"{shape_of(value)}.name"
        case ast.Constant(value):
            return type(value).__name__
        case ast.keyword(_, value):
            return f"={shape_of(value)}"
    parts = ",".join(_shape_of_part(getattr(node, name, None)) for name in node._fields)
    return f"{type(node).__name__}({parts})"


def _shape_of_part(part: object) -> str:
    if isinstance(part, list):
        return f"[{','.join(map(_shape_of_part, part))}]"
    return shape_of(part) if isinstance(part, ast.AST) else repr(part)


def statements(body: list[ast.stmt]) -> Iterator[Statement]:
    """All statements of a function in their order, heads of compound ones before what is inside of them."""
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        inner, otherwise = getattr(node, "body", []), getattr(node, "orelse", [])
        cases, handlers = getattr(node, "cases", []), getattr(node, "handlers", [])
        if not inner and not cases and not handlers:
            lines = 1 if _is_message(node) else (node.end_lineno or node.lineno) - node.lineno + 1
            yield Statement(shape_of(node), node.lineno, lines)
            continue
        yield Statement(_head(node), node.lineno, 1)
        for case in cases:
            yield Statement(shape_of_case(case), case.pattern.lineno, 0)  # a walk has the cases that the tree has
            yield from statements(case.body)
        yield from statements(inner)
        if otherwise and not isinstance(otherwise[0], ast.If):
            yield Statement("else", otherwise[0].lineno, 1)
        yield from statements(otherwise)
        for handler in handlers:
            yield Statement("except", handler.lineno, 1)
            yield from statements(handler.body)
        yield from statements(getattr(node, "finalbody", []))


def _is_message(node: ast.stmt) -> bool:
    """Whether it makes an error of nothing but texts: however many lines they take, they are one."""
    made = node.exc if isinstance(node, ast.Raise) else getattr(node, "value", None)
    given = [*made.args, *(one.value for one in made.keywords)] if isinstance(made, ast.Call) else []
    return bool(given) and all(isinstance(one, ast.Constant | ast.JoinedStr) for one in given)


def _head(node: ast.stmt) -> str:
    asked = [getattr(node, name) for name in ("test", "iter", "target", "subject") if hasattr(node, name)]
    withs = [item.context_expr for item in getattr(node, "items", [])]
    return type(node).__name__ + "".join(shape_of(one) for one in (*asked, *withs))


def shape_of_case(case: ast.match_case) -> str:
    return "case " + ast.dump(case.pattern) + (shape_of(case.guard) if case.guard else "")


def functions(path: Path) -> Iterator[tuple[str, list[Statement]]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            head = Statement(f"def {len(node.args.args)}", node.lineno, 1)
            yield f"{path.relative_to(SOURCE)}:{node.name}", [head, *statements(node.body)]


def repeats(every: list[tuple[str, list[Statement]]]) -> list[str]:
    """Pairs of functions that share a run of statements on six lines or more."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for number, (_, run) in enumerate(every):
        for start in range(len(run)):
            for end in range(start + 1, len(run) + 1):
                if sum(one.lines for one in run[start:end]) >= LINES:
                    places[tuple(one.shape for one in run[start:end])].append((number, start))
                    break
    found: dict[tuple[int, int], str] = {}
    for shared in places.values():
        for (number, start), (other, begin) in combinations(shared, 2):
            if number != other:
                (one, own), (two, its) = every[number], every[other]
                found.setdefault((number, other), f"{one}:{own[start].first} ~ {two}:{its[begin].first}")
    return list(found.values())


def test_no_logic_is_written_twice() -> None:
    files = [path for path in sorted(SOURCE.rglob("*.py")) if not str(path.relative_to(SOURCE)).startswith(REFERENCE)]
    assert repeats([function for path in files for function in functions(path)]) == []


def test_the_scan_finds_what_differs_in_words_only() -> None:
    text = """
def first(path):
    total = 0
    for line in path:
        if line.startswith("a"):
            total += len(line)
        else:
            total -= 1
    return total

def second(file):
    count = 5
    for row in file:
        if row.startswith("b"):
            count += size(row)
        else:
            count -= 2
    return count

def third(file):
    for row in file:
        print(row)
    return file
"""
    parsed = [(node.name, list(statements(node.body))) for node in ast.parse(text).body if hasattr(node, "name")]
    assert repeats(parsed) == ["first:3 ~ second:12"]
