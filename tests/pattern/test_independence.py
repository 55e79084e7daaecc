"""The reference and the detectors share the tree, the bound form and the records, and no code beyond that.

What both use, a comparison of the two cannot find wrong. So the imports are walked, and what the reference takes of the
modules that both may import is listed name by name: data, and no functions that say what a pattern means.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import comity
from comity.pattern.bound import BoundPattern, Join
from comity.pattern.correlation import Key
from comity.pattern.parameters import Duplicates, Parameters

SOURCES = Path(comity.__file__).parent
REFERENCE = {"comity.pattern.reference.reports", "comity.pattern.reference.occurrences"}
DETECTORS = {
    "comity.pattern.detector",
    "comity.pattern.bank",
    "comity.pattern.flat.bank",
    "comity.pattern.extract",
    "comity.engine.detect",
}
SHARED = {
    "comity.pattern.tree",
    "comity.pattern.bound",
    "comity.pattern.report",
    # What the bound form is made of.
    "comity.pattern.correlation",
    "comity.pattern.parameters",
    "comity.pattern.scope",
}
TAKEN = {
    "comity.pattern.tree": {
        *("Both", "Either", "Operand", "Pattern", "Selection", "Sequence", "Silence", "Together"),
        *("operands", "walk"),
    },
    "comity.pattern.bound": {"BoundPattern", "Join"},
    "comity.pattern.report": {"Report"},
    "comity.pattern.parameters": {"Consume", "Duplicates", "Parameters"},
}
"""What the reference takes of the shared modules."""
EVALUATES = {"comity.expression.evaluate", "comity.expression.tree"}
"""Conditions are evaluated by the reference of expressions, those of the detectors are compiled."""


def path_of(module: str) -> Path | None:
    path = SOURCES.parent / Path(*module.split("."))
    found = [one for one in (path.with_suffix(".py"), path / "__init__.py") if one.exists()]
    return found[0] if found else None


def imported(module: str) -> dict[str, set[str]]:
    """The modules of comity that one imports, wherever it does so, and the names that it takes of each."""
    path = path_of(module)
    assert path is not None, f"there is no {module}"
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for name, taken in _imports(node):
            if path_of(f"{name}.{taken}"):
                found.setdefault(f"{name}.{taken}", set())
            elif path_of(name):
                found.setdefault(name, set()).add(taken)
    return {name: own for name, own in found.items() if name.startswith("comity")}


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.module, "imports are absolute"
        yield from ((node.module, alias.name) for alias in node.names)


def reached(modules: set[str]) -> set[str]:
    """The modules with all that they import, directly or by others."""
    found: set[str] = set()
    left = set(modules)
    while left:
        module = left.pop()
        found.add(module)
        left |= imported(module).keys() - found
    return found


def of_patterns(modules: set[str]) -> set[str]:
    return {module for module in modules if module.startswith("comity.pattern.")}


def test_reference_and_detectors_share_the_tree_and_the_bound_form_alone() -> None:
    reference, detectors = of_patterns(reached(REFERENCE)), of_patterns(reached(DETECTORS))
    assert reference == REFERENCE | SHARED
    assert reference & detectors == SHARED
    assert {"comity.pattern.choice", "comity.pattern.occurrence", "comity.pattern.search"} <= detectors


def test_reference_takes_nodes_and_records_of_what_is_shared() -> None:
    taken: dict[str, set[str]] = {}
    for module in REFERENCE:
        for name, own in imported(module).items():
            taken.setdefault(name, set()).update(own)
    assert {name: own for name, own in taken.items() if name in SHARED} == TAKEN
    assert {name for name in taken if name.startswith("comity.expression")} == EVALUATES


def test_reference_reads_the_fields_of_the_bound_form_and_calls_nothing_of_it() -> None:
    used = {
        node.attr
        for module in REFERENCE
        for node in ast.walk(ast.parse((path_of(module) or Path()).read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    methods = {
        name
        for one in (BoundPattern, Join, Key, Duplicates, Parameters)
        for name in set(vars(one)) - {own.name for own in fields(one)}
        if not name.startswith("__")
    }
    assert {"tests", "test", "compared", "choice_order", "of", "choose"} <= methods
    assert not used & methods
