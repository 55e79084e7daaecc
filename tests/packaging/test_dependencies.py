"""What the package imports comes with it: the tests run where everything is, and would not miss it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "comity"
CARRIED = {"llvmlite": "numba", "pydantic-core": "pydantic", "py4j": "pyspark"}
"""What others bring of which it is a part, with the version that they need."""
FOR_TESTS = {"hypothesis", "pytest"}
"""What `comity.testing` asks for, which is for those who test: they have it."""


def normal(name: str) -> str:
    """The name of a distribution as an index compares it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", name, maxsplit=1)[0]).lower()


@cache
def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """The packages that a file imports, wherever in it."""
    for node in ast.walk(read(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_what_the_package_imports_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {normal(one) for one in project["dependencies"]}
    asked |= {normal(one) for extra in project["optional-dependencies"].values() for one in extra}
    asked |= {name for name, whole in CARRIED.items() if whole in asked}
    known = packages_distributions()
    missing: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        there = asked | FOR_TESTS if parts[0] == "testing" else asked
        for name in set(imported(path)) - sys.stdlib_module_names - {"comity"}:
            if parts[0] != "examples" and not there & {normal(one) for one in known.get(name, [name])}:
                missing[name] = "/".join(parts)
    assert not missing


def test_what_only_some_need_is_imported_where_they_need_it() -> None:
    """An extra is not there for all, so nothing that all load may want it."""
    extras = {"deltalake"}
    tops = [
        node
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / "testing")
        for node in read(path).body
    ]
    names = {alias.name for node in tops if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in tops if isinstance(node, ast.ImportFrom)}
    assert not extras & {name.partition(".")[0] for name in names}
