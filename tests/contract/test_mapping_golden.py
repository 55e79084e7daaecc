"""Filters translated by mappings, and mappings led back, as text: `tests/golden/translate.txt` and `invert.txt`."""

from __future__ import annotations

import pytest
from tests.golden_pairs import blocks

from comity.contract.invert import invert
from comity.contract.mapping import Mapping, read_mapping
from comity.document import parse_document
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify

TYPES = Taxonomy.from_document(
    parse_document(
        """
namespace: house
types:
  Reading:
    attributes:
      heat: float degF
      count: int
      room: string
      note: string?
      level: string
      on: bool
      seen: timestamp?
      east: float
      north: float
      device: {kind: struct, optional: true, attributes: {serial: string, load: float?}}
  Common:
    attributes:
      value: float degC?
      number: int?
      ratio: float?
      place: string?
      remark: string?
      severity: int?
      running: bool?
      moment: timestamp?
      at: point?
      machine: {kind: struct, optional: true, attributes: {id: string?, load: float?}}
"""
    )
)
TABLES = {"severities": {"low": 1, "middle": 2, "high": 3}, "groups": {"low": 1, "middle": 1, "high": 2}}


def mapping(text: str) -> Mapping:
    """The mapping of a text like `value <- heat; place <- upper(room)`."""
    texts = dict(part.strip().split(" <- ") for part in text.split(";"))
    found, faults = read_mapping(texts, Scope(TYPES.type("Reading"), TYPES, TABLES), TYPES.type("Common"))
    assert faults == []
    return found


@pytest.mark.parametrize("case", blocks("translate.txt"), ids=lambda case: f"{case['map']}: {case['filter']}"[:80])
def test_translate(case: dict[str, str]) -> None:
    by = mapping(case["map"])
    tree = by.translate(bind_text(case["filter"], Scope(TYPES.type("Common"), TYPES, TABLES)))
    assert render(tree) == case["translated"]
    assert render(simplify(tree, by.source)) == case["simplified"]


@pytest.mark.parametrize("case", blocks("invert.txt"), ids=lambda case: case["map"])
def test_invert(case: dict[str, str]) -> None:
    found = invert(mapping(case["map"]))
    back = "; ".join(f"{'.'.join(path)} <- {render(one.expression)}" for path, one in sorted(found.recovered.items()))
    used = {path for path, _ in _used(case["map"])}
    lost = "; ".join(
        f"{'.'.join(path)}: {some[0].text}" for path, some in found.obstacles.items() if ".".join(path) in used
    )
    rounded = "; ".join(".".join(path) for path, one in sorted(found.recovered.items()) if not one.is_exact)
    assert (back or "nothing", rounded, lost) == (case["back"], case.get("rounded", ""), case.get("lost", ""))
    assert render(found.within) == case.get("within", "true")


def _used(text: str) -> list[tuple[str, str]]:
    """The attributes of the source that a mapping mentions; of the others it is plain that they are lost."""
    names = (*TYPES.type("Reading").attributes, "device.serial", "device.load")
    return [(name, text) for name in names if any(name in part.split(" <- ")[1] for part in text.split(";"))]
