"""Extension functions: what a file must be, what a call gives, and what may be done with it ahead of time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import comity
from comity.errors import Misuse, Permanent
from comity.event.event import Event
from comity.event.kinds import Kind, Point
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind, bind_text
from comity.expression.compile import compile_filter, compile_value
from comity.expression.evaluate import evaluate, holds
from comity.expression.extensions import (
    ExtensionFunction,
    extension,
    function_of,
    installed_functions,
    load_functions,
)
from comity.expression.parse import parse
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import Attribute, Compare, Expression, Extension, Literal, attributes, substitute, walk
from comity.filter.relations import covers
from comity.language import EVERYTHING, split
from comity.language.parquet import PARQUET
from comity.match.index import ProfileIndex

FILE = """
import comity
FACTOR = 2

@comity.extension(takes=("timestamp",), gives="string", total=True, lossless=True, inverse="from_clock")
def to_clock(time):
    return time.isoformat()

@comity.extension(takes=("string",), gives="timestamp")
def from_clock(text):
    from datetime import datetime
    return datetime.fromisoformat(text)

@comity.extension(takes=("int or float",), gives="float", order="rising", total=True)
def twice(number):
    return number * FACTOR

@comity.extension(takes=("number", "string"), gives="string", takes_missing=True)
def label(number, text):
    return f"{number}/{text}"

@comity.extension(takes=(), gives="int", pure=False)
def ticket():
    return 7
"""
HOUSE = EventType(
    "House",
    "city",
    own={"heat": AttributeType(Kind.FLOAT, optional=True), "room": AttributeType(Kind.STRING, optional=True)},
)


@pytest.fixture
def known(tmp_path: Path) -> dict[str, ExtensionFunction]:
    path = tmp_path / "times.py"
    path.write_text(FILE)
    return load_functions(path)


@pytest.fixture
def scope(known: dict[str, ExtensionFunction]) -> Scope:
    return Scope(HOUSE, functions=known)


def house(**data: Any) -> Event:
    return Event("1", "/a", "city.House", data=data)


def test_load_functions_reads_what_is_marked(known: dict[str, ExtensionFunction]) -> None:
    assert sorted(known) == ["from_clock", "label", "ticket", "to_clock", "twice"]
    assert known["to_clock"].inverse == "from_clock"
    assert known["to_clock"].lossless
    assert known["twice"].order == "rising"
    assert known["twice"].takes == (frozenset({Kind.INT, Kind.FLOAT}),)
    assert "comity_functions" not in sys.modules
    assert comity.extension is extension


def made(body: Any, gives: str, takes: tuple[str, ...] = ("any",)) -> ExtensionFunction:
    found = function_of(extension(takes=takes, gives=gives, name="made")(body))
    assert found is not None
    return found


NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
AHEAD = datetime(2026, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("gives", "result", "expected"),
    [
        ("float", 3, 3.0),
        ("float", float("nan"), None),
        ("float", 10**400, None),
        ("int", 2**63, None),
        ("int", True, None),
        ("int", 2.0, None),
        ("string", "a\ud800", None),
        ("string", None, None),
        ("timestamp", AHEAD, NOON),
        ("timestamp", datetime(2026, 5, 1), None),
        ("duration", timedelta.max, None),
        ("point", Point(1.0, float("inf")), None),
        ("bool", True, True),
    ],
)
def test_call_gives_a_value_of_its_kind_or_none(gives: str, result: Any, expected: Any) -> None:
    found = made(lambda value: result, gives).call((1,))
    assert found == expected
    assert type(found) is type(expected)
    if isinstance(found, datetime):
        assert found.tzinfo is UTC


def test_call_is_missing_on_missing_and_wrong_arguments_and_on_failure() -> None:
    failing = made(lambda value: 1 // 0, "int")
    assert failing.call((5,)) is None
    leaving = made(lambda value: sys.exit(3), "int")
    assert leaving.call((5,)) is None
    number = made(lambda value: 1, "int", ("number",))
    assert [number.call((value,)) for value in (5, 2.5, "5", None)] == [1, 1, None, None]
    assert number.call(()) is None
    assert made(lambda value: str(value), "string").call((-0.0,)) == "0.0"


def test_functions_are_told_apart_by_name_and_text(tmp_path: Path, known: dict[str, ExtensionFunction]) -> None:
    other = tmp_path / "other.py"
    other.write_text(FILE.replace("FACTOR = 2", "FACTOR = 3"))
    again, changed = load_functions(tmp_path / "times.py"), load_functions(other)
    assert known["twice"] == again["twice"]
    assert hash(known["twice"]) == hash(again["twice"])
    assert known["twice"] != changed["twice"]
    assert [one["twice"].call((5,)) for one in (known, changed)] == [10.0, 15.0]


def test_functions_can_be_sent_to_a_process_that_cannot_see_the_file(tmp_path: Path, scope: Scope) -> None:
    tree = bind_text("twice(heat) > 10", scope)
    sent = pickle.dumps(tree)
    (tmp_path / "times.py").unlink()
    code = "import pickle, sys; node = pickle.loads(sys.stdin.buffer.read()).left; print(node.function.call((3,)))"
    run = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert run.stdout.split() == [b"6.0"]
    assert pickle.loads(sent) == tree


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x = (", 1, "not Python"),
        ("\nraise ValueError('no')", 2, "ValueError: no"),
        ("import nothing_like_this", 1, "ModuleNotFoundError"),
        ("import sys\nsys.exit(3)", 2, "SystemExit"),
        ("x = 1", None, "marks no function"),
        ("import comity\n\n@comity.extension(takes=('tim',), gives='int')\ndef f(a): ...", 3, "no kind 'tim'"),
        ("import comity\n@comity.extension(takes=('int',), gives='struct')\ndef f(a): ...", 2, "'struct'"),
        ("import comity\n@comity.extension(takes=('int',), gives='int')\ndef lower(a): ...", 2, "name of a function"),
        ("import comity\n@comity.extension(takes=('int', 'int'), gives='int')\ndef f(a): ...", 2, "2 arguments"),
        ("import comity\n@comity.extension(takes=('int',), gives='int', order='up')\ndef f(a): ...", 2, "rising"),
        ("import comity\n@comity.extension(takes=('int',), gives='int', inverse='g')\ndef f(a): ...", 2, "inverse"),
    ],
)
def test_load_functions_says_where_a_file_is_wrong(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(Misuse) as caught:
        load_functions(path)
    assert message in caught.value.message
    assert caught.value.code == "bad-functions"
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == (str(path), line)


def test_load_functions_of_no_file_and_of_no_text(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no-such-file"):
        load_functions(tmp_path / "none.py")
    (tmp_path / "bytes.py").write_bytes(b"a = 1\n\xff")
    with pytest.raises(Misuse) as caught:
        load_functions(tmp_path / "bytes.py")
    assert caught.value.place is not None
    assert caught.value.place.line == 2


def test_binding_makes_extensions_and_checks_arguments(scope: Scope) -> None:
    tree = bind_text("twice(heat) > 10", scope)
    assert isinstance(tree, Compare)
    assert isinstance(tree.left, Extension)
    assert render(tree) == "twice(heat) > 10"
    assert attributes(tree) == {("heat",)}
    for text, code in (
        ("twice(room) > 1", "wrong-kind"),
        ("twice(heat, heat) > 1", "arity"),
        ("thrice(heat) > 1", "unknown-function"),
        ("twice(heat) = 'a'", "wrong-kind"),
    ):
        with pytest.raises(Misuse) as caught:
            bind_text(text, scope)
        assert caught.value.code == code


def test_evaluate_and_compile_agree(scope: Scope) -> None:
    tree = bind_text("twice(heat) > 10", scope)
    value = bind(parse("label(heat, room)"), scope).node
    for event in (house(), house(heat=6.0), house(heat=2.0, room="a"), house(heat="x")):
        assert holds(tree, event) == compile_filter(tree)(event)
        assert evaluate(value, event) == compile_value(value)(event)
    assert evaluate(value, house(heat=1.5)) == "1.5/None"
    assert holds(tree, house(heat=6.0))


def test_substitute_reaches_arguments(scope: Scope) -> None:
    tree = substitute(bind_text("twice(heat) > 10", scope), {("heat",): Literal(6.0)})
    assert not attributes(tree)
    assert simplify(tree, HOUSE) == Literal(True)


def test_simplify_computes_what_is_constant_and_pure_only(scope: Scope) -> None:
    assert simplify(bind_text("twice(2) = heat", scope), HOUSE) == bind_text("heat = 4.0", scope)
    assert simplify(bind_text("from_clock('no') > 2026-01-01", scope), HOUSE) == Literal(False)
    kept = bind_text("ticket() = 7", scope)
    assert simplify(kept, HOUSE) == kept


def _cases(scope: Scope) -> list[Expression]:
    texts = (
        "label(coalesce(heat, 1), room) = '1/None'",
        "label(heat, coalesce(room, 'b')) = 'None/b'",
        "label(if heat > 1 then 1 else 2, room) = '2/None'",
        "not twice(heat) = twice(heat)",
        "twice(coalesce(heat, 3)) = 6",
        "twice(if room = 'a' then heat else 1) >= 2 and twice(heat) != 2",
    )
    return [bind_text(text, scope) for text in texts]


def test_simplify_keeps_the_meaning_beside_missing_values(scope: Scope) -> None:
    for tree in _cases(scope):
        after = simplify(tree, HOUSE)
        for event in (house(), house(heat=1.0), house(heat=3.0, room="a"), house(room="b")):
            assert holds(tree, event) == holds(after, event), render(tree)


@pytest.mark.parametrize("capability", [EVERYTHING, PARQUET.capability])
def test_split_never_asks_for_an_extension(scope: Scope, capability: Any) -> None:
    found = split(bind_text("twice(heat) > 10 and room = 'a'", scope), capability, type=HOUSE)
    assert not any(isinstance(node, Extension) for node in walk(found.native))
    assert "room = 'a'" in render(found.native)
    assert "twice(heat) > 10" in render(found.residual)
    assert found.reasons[0].code == "function-not-supported"


def test_split_asks_for_presence_only_if_the_function_needs_it(scope: Scope) -> None:
    native = split(bind_text("twice(heat) > 10", scope), PARQUET.capability, type=HOUSE).native
    assert render(native) == "exists heat"
    native = split(bind_text("label(heat, room) = 'a'", scope), PARQUET.capability, type=HOUSE).native
    assert native == Literal(True)


def test_matching_and_relations_take_extensions(scope: Scope) -> None:
    hot, warm = bind_text("twice(heat) > 10 and room = 'a'", scope), bind_text("room = 'a'", scope)
    assert covers(warm, hot, scope)
    assert not covers(hot, warm, scope)
    index = ProfileIndex.build([hot, bind_text("ticket() = 7", scope), bind_text("not twice(heat) > 10", scope)])
    batch = pa.RecordBatch.from_pydict({"heat": [6.0, 1.0, None], "room": ["a", "a", None]})
    matches = pickle.loads(pickle.dumps(index)).match(batch)
    assert [matches.of(event) for event in range(3)] == [[0, 1], [1, 2], [1, 2]]


def test_parts_of_the_tree_are_found(scope: Scope) -> None:
    tree = bind_text("label(heat, room) = 'a'", scope)
    assert [node for node in walk(tree) if isinstance(node, Attribute)] == [Attribute(("heat",)), Attribute(("room",))]


class _Point:
    def __init__(self, name: str, thing: Any) -> None:
        self.name, self.value, self._thing = name, f"package:{name}", thing

    def load(self) -> Any:
        if isinstance(self._thing, Exception):
            raise self._thing
        return self._thing


def _installed(monkeypatch: pytest.MonkeyPatch, thing: Any) -> dict[str, ExtensionFunction]:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [_Point("halved", thing)])
    return installed_functions()


def test_installed_functions_come_by_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    @extension(takes=("number",), gives="float")
    def half(number: float) -> float:
        return number / 2

    found = _installed(monkeypatch, half)
    assert found["halved"].call((5,)) == 2.5
    assert (found["halved"].name, found["halved"].key) == ("halved", "package:halved")


@pytest.mark.parametrize("thing", [print, ImportError("gone")])
def test_an_installed_function_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, thing: Any) -> None:
    with pytest.raises(Permanent, match="halved") as caught:
        _installed(monkeypatch, thing)
    assert caught.value.code == "broken-function"
