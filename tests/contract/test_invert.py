"""Inverses of mappings: what is derived, and why nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from comity.contract.invert import Inversion, invert
from comity.contract.mapping import read_mapping
from comity.event import Event, EventType
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType
from comity.expression.extensions import load_functions
from comity.expression.render import render
from comity.expression.scope import Scope

KINDS = {"n": Kind.INT, "x": Kind.FLOAT, "s": Kind.STRING, "t": Kind.STRING, "flag": Kind.BOOL}
TABLES = {"good": {"a": 1, "b": 2}, "bad": {"a": 1, "b": 1}}


def inverted(
    names: str, texts: dict[str, str], *, optional: str = "", units: tuple[str, str] | None = None, **more: Any
) -> Inversion:
    """The inversion of a mapping from these attributes to targets that are named after their kinds."""
    unit_from, unit_to = units or (None, None)
    own = {
        name: AttributeType(KINDS[name], name in optional.split(), unit_from if name == "x" else None)
        for name in names.split()
    }
    source = EventType("Reading", "plant", own={**own, **more.pop("source", {})})
    kinds = {"i": Kind.INT, "f": Kind.FLOAT, "w": Kind.STRING, "b": Kind.BOOL, "p": Kind.POINT}
    target = EventType(
        "Common",
        "shared",
        own={
            name: AttributeType(kinds[name[0]], name.endswith("_"), unit_to if name[0] == "f" else None)
            for name in texts
        },
    )
    scope = Scope(source, Taxonomy("plant", [source]), TABLES, functions=more.pop("functions", {}))
    mapping, faults = read_mapping(texts, scope, target)
    assert faults == []
    return invert(mapping)


def back(found: Inversion) -> dict[str, str]:
    assert found.mapping is not None, found.reason
    return {".".join(path): render(made) for path, made in found.mapping.expressions}


@pytest.mark.parametrize(
    ("names", "texts", "expected"),
    [
        ("n", {"i": "n"}, {"n": "i"}),
        ("n", {"i": "10 - n"}, {"n": "10 - i"}),
        ("n", {"i": "n * 3 + 1"}, {"n": "floor((i - 1) / 3 + 0.5)"}),
        ("n", {"f": "n"}, {"n": "floor(f + 0.5)"}),
        ("x", {"f": "x * 2.5 - 1"}, {"x": "(f + 1) / 2.5"}),
        ("s", {"i": "lookup('good', s)"}, {"s": "lookup('good_inverse', i)"}),
        ("flag", {"w": "if flag then 'yes' else 'no'"}, {"flag": "lookup('truth', w)"}),
        ("s", {"w": "'no. ' + s"}, {"s": "substring(w, 5)"}),
        ("s", {"w": "s + ' end'"}, {"s": "substring(w, 1, length(w) - 4)"}),
        ("n s", {"w": "text(n) + ', ' + s"}, {"n": "int(before(w, ', '))", "s": "after(w, ', ')"}),
        ("n s", {"w": "s + ', ' + text(n)"}, {"n": "int(after_last(w, ', '))", "s": "before_last(w, ', ')"}),
        ("s t", {"w": "s + ', ' + t", "w2": "s"}, {"s": "w2", "t": "substring(w, length(w2) + 3)"}),
        ("s", {"w": "before(s, ', ')", "w2": "after(s, ', ')"}, {"s": "w + ', ' + w2"}),
        ("s", {"w": "substring(s, 1, 2)", "w2": "substring(s, 3)"}, {"s": "w + w2"}),
        ("x n", {"p": "point(x, n)"}, {"x": "p.x", "n": "floor(p.y + 0.5)"}),
        (
            "s x",
            {"w": "s", "f": "if s = 'F' then x * 2 else x + 1"},
            {"s": "w", "x": "if w = 'F' then f / 2 else f - 1"},
        ),
        ("n", {"i": "if n < 100 then n else n + 1000"}, None),
    ],
)
def test_invert_derives(names: str, texts: dict[str, str], expected: dict[str, str] | None) -> None:
    found = inverted(names, texts)
    if expected is None:
        assert found.mapping is not None
    else:
        assert back(found) == expected


@pytest.mark.parametrize(
    ("names", "texts", "path", "code"),
    [
        ("n s", {"i": "n"}, "s", "unused"),
        ("s", {"w": "lower(s)"}, "s", "function"),
        ("s", {"i": "lookup('bad', s)"}, "s", "not-injective"),
        ("s", {"i_": "lookup('good', s)"}, "s", "no-value"),
        ("s t", {"w": "s + ', ' + t"}, "s", "ambiguous"),
        ("n", {"i": "if n < 100 then n else 7"}, "n", "conditional"),
        ("flag", {"w": "if flag then 'a' else 'a'"}, "flag", "unused"),
        ("x", {"i": "floor(x)"}, "x", "function"),
    ],
)
def test_invert_names_what_stands_against_it(names: str, texts: dict[str, str], path: str, code: str) -> None:
    found = inverted(names, texts)
    assert found.mapping is None
    assert found.obstacles[(path,)][0].code == code
    assert path in (found.reason or "")


def test_invert_of_a_sum_needs_one_part() -> None:
    assert inverted("n", {"i": "n + n2"}, source={"n2": AttributeType(Kind.INT)}).mapping is None
    found = inverted("n", {"i": "n + n2", "i2": "n2"}, source={"n2": AttributeType(Kind.INT)})
    assert back(found) == {"n": "i - i2", "n2": "i2"}


def test_invert_keeps_a_text_only_with_what_it_is_joined_to() -> None:
    found = inverted("n s", {"w_": "text(n) + ' ' + s"}, optional="n")
    assert found.obstacles[("s",)][0].code == "not-together"
    assert inverted("n s", {"w": "text(n) + ' ' + s"}, optional="n").mapping is not None


def test_invert_of_a_unit_conversion() -> None:
    found = inverted("x", {"f": "x"}, units=("degF", "kelvin"))
    assert found.mapping is not None
    there = 86.0
    mapped = found.mapping.apply(Event("1", "/a", "shared.Common", data={"f": 303.15}))
    assert isinstance(mapped, Event)
    assert mapped.data["x"] == pytest.approx(there)
    assert not found.is_exact


FUNCTIONS = """
import comity

@comity.extension(takes=("string",), gives="string", total=True, lossless=True, inverse="backward")
def forward(text):
    return text[::-1]

@comity.extension(takes=("string",), gives="string", total=True, lossless=True, inverse="forward")
def backward(text):
    return text[::-1]

@comity.extension(takes=("string",), gives="string", lossless=True)
def stuck(text):
    return "<" + text

@comity.extension(takes=("string",), gives="string")
def plain(text):
    return text.strip()
"""


def test_invert_takes_the_inverse_that_an_extension_function_declares(tmp_path: Path) -> None:
    file = tmp_path / "texts.py"
    file.write_text(FUNCTIONS)
    functions = load_functions(file)
    found = inverted("s", {"w": "'x' + forward(s)"}, functions=functions)
    assert back(found) == {"s": "backward(substring(w, 2))"}
    assert found.declared == ("forward",)
    for name, told in (("stuck", "names no inverse"), ("plain", "not declared lossless")):
        obstacle = inverted("s", {"w": f"{name}(s)"}, functions=functions).obstacles[("s",)][0]
        assert told in obstacle.text
