"""Composite profiles taken apart, as text: `tests/golden/operands.txt` is meant to be read."""

from __future__ import annotations

import pytest
from tests.golden_pairs import blocks

from comity.document import parse_document
from comity.event.taxonomy import Taxonomy
from comity.expression.render import render
from comity.pattern.bound import BoundPattern
from comity.profile.blocks import parse_composite

TYPES = Taxonomy.from_document(
    parse_document(
        """
namespace: house
types:
  Alarm: {abstract: true, attributes: {room: string}}
  Fire: {extends: Alarm, attributes: {heat: float degC, level: int}}
  Leak: {extends: Alarm, attributes: {litres: float}}
  Visit: {attributes: {room: string, guest: string?, number: int}}
"""
    )
)


def taken_apart(bound: BoundPattern) -> dict[str, str]:
    """What each operand asks for, what ties them, and what is compared between them."""
    found = {f"asks {name}": render(condition) for name, condition in bound.filters.items()}
    if bound.key:
        paths = {name: ", ".join(".".join(path) for path in bound.key.paths(name)) for name in bound.filters}
        found["key"] = "; ".join(f"{name} by {own}" for name, own in paths.items())
    for where, joins in (("between", bound.joins), ("against", bound.against)):
        texts = [render(join.condition) for own in joins.values() for join in own]
        if texts:
            found[where] = "; ".join(texts)
    if bound.never:
        found["never"] = "yes"
    return found


@pytest.mark.parametrize("case", blocks("operands.txt"), ids=lambda case: f"{case['on']} {case.get('where', '')}"[:90])
def test_operands(case: dict[str, str]) -> None:
    text = f"profile p\non {case['on']}" + (f"\nwhere {case['where']}" if "where" in case else "")
    bound = parse_composite(text)[1].bind("p", TYPES)
    assert taken_apart(bound) == {name: one for name, one in case.items() if name not in ("on", "where")}
