"""What the records of functions claim holds for generated arguments, and a new record is all that a function needs."""

from __future__ import annotations

import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.contract.invert import invert
from comity.contract.mapping import Mapping
from comity.contract.xslt import to_xslt
from comity.event.event import Event
from comity.event.kinds import ORDERED, Kind, Value, kind_of
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind, bind_text
from comity.expression.compile import compile_filter
from comity.expression.evaluate import evaluate, holds
from comity.expression.extensions import extension
from comity.expression.functions import FUNCTIONS, Arguments, Function
from comity.expression.functions.record import TEXT, always, gives
from comity.expression.kinds import kind_given
from comity.expression.parse import parse
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import Attribute, Call, Compare, Expression, Literal
from comity.testing.samples import values

ROOT = Path(__file__).parents[2]

FORMATS = ("yyyy-MM-dd", "yyyy", "h:mm a", "d.M.yyyy", "yyyyMMddHHmmssSSSSSS", "nonsense")
TEXTS = ("", "5", "-0", "2.5", "true", "2026-05-01", "1:05 pm", "a, b", "İß", "PT5M")


def constants(kind: Kind) -> SearchStrategy[Value]:
    special = st.sampled_from(FORMATS + TEXTS) if kind is Kind.STRING else st.nothing()
    small = st.integers(-1, 3) if kind is Kind.INT else st.nothing()
    return values(kind) | special | small


@st.composite
def calls(draw: Any) -> tuple[Function, Arguments, list[Value], tuple[Value, ...]]:
    """A function with what is known of its arguments, some first arguments in order, and the other arguments."""
    function = draw(st.sampled_from(list(FUNCTIONS.values())))
    first = draw(st.sampled_from(sorted(function.takes[0])))
    count = len(function.takes) - draw(st.integers(0, function.optional))
    kinds = [draw(st.sampled_from(sorted(taken))) for taken in function.takes[1:count]]
    others = tuple(draw(constants(kind)) for kind in kinds)
    given_kinds = tuple(frozenset({kind}) for kind in (first, *kinds))
    some = draw(st.lists(constants(first), min_size=1, max_size=6))
    return function, Arguments(given_kinds, (None, *others)), some, others


@given(calls())
def test_the_record_of_a_function_claims_what_holds(call: tuple[Function, Arguments, list[Value], Any]) -> None:
    function, arguments, some, others = call
    results = [function.call((one, *others)) for one in some]
    assert {kind_of(one) for one in results} <= {None, function.gives(*(next(iter(k)) for k in arguments.kinds))}
    if function.total(arguments):
        assert None not in results
    both = [(one, result) for one, result in zip(some, results, strict=True) if result is not None]
    if function.rising(arguments):
        ordered: Any = sorted(both)
        assert all(low[1] <= high[1] for low, high in pairwise(ordered))
    if function.distinct(arguments):
        assert all(one[1] != other[1] for one, other in product(both, both) if one[0] != other[0])
    if function.no_larger(arguments):
        assert all(abs(result) <= abs(one) for one, result in both)


@given(calls())
def test_the_sources_of_a_result_are_all_that_give_it(call: tuple[Function, Arguments, list[Value], Any]) -> None:
    function, arguments, some, others = call
    if function.sources is None:
        return
    for one in some:
        result = function.call((one, *others))
        sources = None if result is None else function.sources(arguments, result)
        if sources is None:
            continue
        if function.name == "format_time":  # it gives the first of a period
            assert [function.call((source, *others)) for source in sources] == [result]
        else:
            assert one in sources
            assert all(function.call((source, *others)) == result for source in sources)


@given(calls())
def test_the_function_that_leads_back_gives_the_argument(call: tuple[Function, Arguments, list[Value], Any]) -> None:
    function, arguments, some, _ = call
    (kind,) = arguments.kinds[0]
    if not function.back or kind not in function.back:
        return
    name = function.back[kind]
    for one in some:
        result = function.call((one,))
        if result is not None:
            assert (result if name is None else FUNCTIONS[name].call((result,))) == one


def test_what_rises_rises_over_something_that_has_an_order() -> None:
    for function in FUNCTIONS.values():
        for kind in function.takes[0]:
            arguments = Arguments((frozenset({kind}), *function.takes[1:]), (None,) * len(function.takes))
            if function.rising(arguments):
                assert kind in ORDERED
                assert function.gives(kind) in ORDERED


# A new function

REVERSE = Function(
    name="reverse",
    summary="the text backwards",
    takes=(TEXT,),
    gives=gives(Kind.STRING),
    apply=lambda text: text[::-1],
    total=always,
    distinct=always,
    sources=lambda arguments, value: [value[::-1]] if isinstance(value, str) else None,
    back={Kind.STRING: "reverse"},
    xpath="({} ! codepoints-to-string(reverse(string-to-codepoints(.))))",
    spark=lambda F, arguments, text: F.reverse(text),
)
HOUSE = EventType("House", "city", own={"room": AttributeType(Kind.STRING)})
HALL = Event("1", "/house", "city.House", data={"room": "hall"})


@pytest.fixture
def reverse(monkeypatch: pytest.MonkeyPatch) -> Function:
    monkeypatch.setitem(FUNCTIONS, "reverse", REVERSE)
    return REVERSE


def bound(text: str) -> Expression:
    return bind_text(text, Scope(HOUSE))


def test_a_new_function_is_evaluated(reverse: Function) -> None:
    assert evaluate(bind(parse("reverse(room) + '!'"), Scope()).node, HALL) == "llah!"
    backwards = bound("reverse(room) starts with 'll'")
    assert holds(backwards, HALL)
    assert compile_filter(backwards)(HALL)


def test_a_new_function_is_simplified_away(reverse: Function) -> None:
    assert render(simplify(bound("reverse(room) = 'llah'"), HOUSE)) == "room = 'hall'"
    assert render(simplify(bound("not (reverse(room) in ('a', 'cb'))"), HOUSE)) == "room not in ('a', 'bc')"
    shown = Call("reverse", (Attribute(("room",)),))
    assert simplify(Compare("=", shown, shown), HOUSE) == Literal(True)
    assert kind_given(shown, HOUSE) is Kind.STRING


def test_a_new_function_is_led_back_in_a_mapping(reverse: Function) -> None:
    mapping = Mapping(HOUSE, HOUSE, ((("room",), Call("reverse", (Attribute(("room",)),))),))
    back = invert(mapping).mapping
    assert back is not None
    assert [(path, render(made)) for path, made in back.expressions] == [(("room",), "reverse(room)")]


def test_a_new_function_is_printed_in_a_stylesheet(reverse: Function) -> None:
    mapping = Mapping(HOUSE, HOUSE, ((("room",), Call("reverse", (Attribute(("room",)),))),))
    assert "codepoints-to-string" in to_xslt(mapping)


def test_a_new_function_is_in_the_reference_and_its_name_is_taken(
    reverse: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import generate

    assert "| `reverse(string)` | the text backwards |" in generate.functions_part()
    sys.modules.pop("generate", None)
    with pytest.raises(Exception, match="reverse"):
        extension(takes="string", gives="string")(_named("reverse"))


def _named(name: str) -> Any:
    def body(text: str) -> str:
        return text

    body.__name__ = name
    return body


def test_a_function_without_more_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Function(name="half", summary="", takes=(TEXT,), gives=gives(Kind.STRING), apply=lambda x: x[::2])
    monkeypatch.setitem(FUNCTIONS, "half", plain)
    asked = bound("half(room) = 'hl'")
    assert holds(asked, HALL)
    assert simplify(asked, HOUSE) == asked


@pytest.mark.spark
def test_a_new_function_is_a_spark_column(reverse: Function, spark: Any) -> None:
    from comity.pipeline.columns.columns import TypedColumns, compile_filter

    rows = [{"room": "hall"}, {"room": "attic"}, {"room": None}]
    frame = spark.createDataFrame(rows, "room string")
    found = frame.filter(compile_filter(bound("reverse(room) = 'llah'"), TypedColumns(HOUSE))).collect()
    assert [row.room for row in found] == ["hall"]
