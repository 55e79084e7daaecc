"""Federations and their plans, as text: `tests/golden/plan.txt` is meant to be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from comity.expression.render import render
from comity.federation import load
from comity.plan import Plan, compile_plan

GOLDEN = Path(__file__).parents[1] / "golden" / "plan.txt"


def cases() -> Iterator[tuple[str, dict[str, str], str]]:
    """Of each case its comment, its files and its routes."""
    for part in re.split(r"\n\n(?=#)", GOLDEN.read_text(encoding="utf-8"))[1:]:
        comment, _, rest = part.partition("\n")
        given, _, routes = rest.partition("=>\n")
        files = dict(re.findall(r"^--- (\w+)\n(.*?)(?=^---|\Z)", given, re.M | re.S))
        yield comment.removeprefix("# "), files, routes.strip("\n")


def lines(plan: Plan) -> Iterator[str]:
    for route in plan.routes:
        yield route.source.qualified_name + (f" [{route.contract}]" if route.contract else "")
        yield from (f"  rejected: {render(failure.condition)}" for failure in route.failures)
        yield from (f"  {one.profile} to {one.subscriber}: {render(one.wanted)}" for one in route.deliveries)


@pytest.mark.parametrize(("comment", "files", "routes"), list(cases()), ids=[comment for comment, _, _ in cases()])
def test_plan(tmp_path: Path, comment: str, files: dict[str, str], routes: str) -> None:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert "\n".join(lines(compile_plan(load(tmp_path)))) == routes
