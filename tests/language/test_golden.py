"""Filters before and after the split, as text: `tests/golden/split.txt` is meant to be read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from comity.document import parse_document
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.language import EVERYTHING, NOTHING, Language, LanguageCapability, MissingPolicy
from comity.language.capability import EQUALITY, ORDER, RANGES, for_kinds
from comity.language.languages import LANGUAGES
from comity.language.parquet import CAPABILITY as PARQUET
from tests.golden_pairs import blocks

READING = Taxonomy.from_document(
    parse_document(
        """
namespace: house
types:
  Reading:
    attributes:
      room: string
      note: string?
      heat: float degF
      level: int
      limit: int
      smoke: int?
      on: bool
      seen: timestamp?
      tags: {kind: list, of: string, optional: true}
      at: point
      device: {kind: struct, optional: true, attributes: {serial: string, load: float?}}
"""
    )
)
TABLES = {"severities": {"low": 1, "middle": 2, "high": 3}}

_OF_NUMBERS = for_kinds([Kind.INT, Kind.FLOAT], ORDER)


def _variant(name: str, base: LanguageCapability, **changes: object) -> Language:
    return Language(replace(base, name=name, **changes), render)  # type: ignore[arg-type]


VARIANTS = [
    _variant("no-or", PARQUET, disjunction=False),
    _variant("no-and", PARQUET, conjunction=False),
    _variant("two-terms", PARQUET, max_terms=2),
    _variant("short", PARQUET, max_text_chars=25),
    _variant("flat", PARQUET, max_depth=1),
    _variant("top-level", PARQUET, nested_paths=False, envelope=frozenset({"time"})),
    _variant("order-only", NOTHING, operators=_OF_NUMBERS, conjunction=True, disjunction=True),
    _variant("equality-only", NOTHING, operators=for_kinds(Kind, ["="]), conjunction=True),
    _variant(
        "ranges-only", NOTHING, operators=for_kinds([Kind.INT, Kind.FLOAT, Kind.STRING], RANGES), conjunction=True
    ),
    _variant("like", NOTHING, operators=for_kinds([Kind.STRING], EQUALITY, ["like"]), conjunction=True),
    _variant("complement", NOTHING, operators=for_kinds(Kind, EQUALITY, ORDER), negation=True, conjunction=True),
    _variant("sql", EVERYTHING, is_ours=False, missing=MissingPolicy.UNKNOWN, functions=frozenset({"lower", "abs"})),
]
KNOWN = {**LANGUAGES, **{one.name: one for one in VARIANTS}}


CASES = blocks("split.txt")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['language']}: {case['filter']}"[:80])
def test_split(case: dict[str, str]) -> None:
    type = READING.type("Reading")
    tree = bind_text(case["filter"], Scope(type, READING, TABLES))
    found = KNOWN[case["language"]].split(tree, type=type)
    assert KNOWN[case["language"]].render(found.native) == case["native"]
    assert render(found.residual) == case["residual"]
    assert ", ".join(dict.fromkeys(one.code for one in found.reasons)) == case.get("reasons", "")


def test_every_language_has_an_example() -> None:
    of_profiles_only = {name for name, one in LANGUAGES.items() if one.read and one.capability.is_nothing}
    assert {case["language"] for case in CASES} == set(KNOWN) - of_profiles_only
