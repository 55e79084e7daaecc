"""What is said about filters that cannot be: `tests/golden/filter_errors.txt` is meant to be read."""

from __future__ import annotations

import pytest
from tests.golden_pairs import blocks

from comity.document import parse_document
from comity.errors import ComityError
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_text
from comity.expression.scope import Scope

TYPES = Taxonomy.from_document(
    parse_document(
        """
namespace: house
types:
  Reading:
    attributes:
      room: string
      heat: float degC
      level: int
      on: bool
      seen: timestamp?
      tags: {kind: list, of: string, optional: true}
      at: point
      device: {kind: struct, optional: true, attributes: {serial: string, load: float?}}
"""
    )
)
SCOPE = Scope(TYPES.type("Reading"), TYPES, {"severities": {"low": 1}})


@pytest.mark.parametrize("case", blocks("filter_errors.txt"), ids=lambda case: case["filter"])
def test_refused(case: dict[str, str]) -> None:
    with pytest.raises(ComityError) as caught:
        bind_text(case["filter"], SCOPE)
    error = caught.value
    told = {"error": f"{error.place} {error.message}" if error.place else error.message, "code": error.code}
    if error.hint:
        told["hint"] = error.hint
    assert told == {name: case[name] for name in ("error", "code", "hint") if name in case}
    if "write" in case:
        bind_text(case["write"], SCOPE)
