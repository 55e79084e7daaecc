"""The language of the source in memory: what it understands, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from comity.connect.connectors.memory.filters import ROWS, TAGS, TERMS, Dialect, memory_filter
from comity.errors import Permanent


def record(**data: object) -> dict[str, object]:
    return {"type": "T", "source": "/a", "data": data}


@pytest.mark.parametrize(
    ("text", "data", "passes"),
    [
        ("x = 1", {"x": 1}, True),
        ("x = 1", {"x": 1.0}, False),
        ("x = 1", {"x": True}, False),
        ("x = 1.0", {"x": 1}, True),
        ("x = 9007199254740992.0", {"x": 2**53 + 1}, True),
        ("x > 1.5", {"x": 10**400}, False),
        ('s = "a\\"b & c"', {"s": 'a"b & c'}, True),
        ('s : ["a", "b"]', {"s": "b"}, True),
        ('s : ["a", "b"]', {}, False),
        ('!(s = "a")', {}, False),
        ('!(s = "a") | s !?', {}, True),
        ("d.n <= -2", {"d": {"n": -2}}, True),
        ("d.n <= -2", {"d": 5}, False),
        ('"a b"."ü" ?', {"a b": {"ü": 0}}, True),
        ("x ?", {"x": None}, False),
        ('event.source = "/a"', {}, True),
        ("(x = 1 | x = 2) & b = true", {"x": 2, "b": True}, True),
        ("x = 1 | x = 2 & b = true", {"x": 1}, True),
    ],
)
def test_memory_filter(text: str, data: dict[str, object], passes: bool) -> None:
    assert memory_filter(text, ROWS)(record(**data)) is passes


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("", ROWS),
        ("x", ROWS),
        ("x =", ROWS),
        ("x = 1 &", ROWS),
        ("x = 1 x", ROWS),
        ("(x = 1", ROWS),
        ("x = nonsense", ROWS),
        ("x ~ 1", ROWS),
        ("x + 1 = 2", ROWS),
        ('s ^ "a"', ROWS),
        ("!(!(!(!(x = 1))))", ROWS),
        (" & ".join(["x = 1"] * 13), ROWS),
        ("x = 1 | x = 2", TERMS),
        ("!(x = 1)", TERMS),
        ('s > "a"', TERMS),
        ("x ?", TERMS),
        (" & ".join(["x = 1"] * 5), TERMS),
        ("x > 1", TAGS),
        ('s = "a" & t = "b"', TAGS),
        (f's = "{"a" * 80}"', TAGS),
    ],
)
def test_memory_filter_refuses_what_its_dialect_does_not_have(text: str, dialect: Dialect) -> None:
    with pytest.raises(Permanent) as caught:
        memory_filter(text, dialect)
    assert caught.value.code == "bad-ask"


def test_memory_filter_shares_no_code_with_the_evaluators() -> None:
    """It stands for a foreign system, so that agreeing with it means something."""
    script = (
        "import sys, comity.connect.connectors.memory.filters as m; "
        "print([n for n in vars(m).values() if getattr(n, '__module__', '').startswith('comity.') "
        "and n.__module__ not in ('comity.errors', m.__name__)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
