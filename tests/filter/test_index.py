"""The index gives the answers of pairwise testing, whatever was added and removed before."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.expression.tree import Expression, Not, conjunction
from comity.filter.formula import formula
from comity.filter.index.filter_set import FilterSet
from comity.filter.index.line import Line
from comity.filter.index.shape import ShapeReader, shape_of
from comity.filter.search import NeedsSolver, search
from comity.filter.solver import solve
from comity.filter.space import Space, spaces
from comity.limits import limited


def _optional(kind: Kind, **inner: AttributeType) -> AttributeType:
    return AttributeType(kind, optional=True, attributes=inner)


_INNER = {"b": AttributeType(Kind.FLOAT), "c": _optional(Kind.INT)}
_A = _optional(Kind.STRUCT, b=AttributeType(Kind.STRUCT, attributes=_INNER), c=_optional(Kind.FLOAT))
_BASE = EventType(
    "Base", "t", EVENT, {"x": AttributeType(Kind.INT), "y": _optional(Kind.FLOAT), "s": _optional(Kind.STRING), "a": _A}
)
_LEFT = EventType("Left", "t", _BASE, {"l": _optional(Kind.INT)})
_RIGHT = EventType("Right", "t", _BASE, {"flag": AttributeType(Kind.BOOL)})
_TAXONOMY = Taxonomy("t", [_BASE, _LEFT, _RIGHT])


def _typed() -> Scope:
    return Scope(type=_BASE, taxonomy=_TAXONOMY)


# Filters

_number = st.integers(0, 6).map(str) | st.sampled_from(["0.5", "2.5", "5.5"])
_text = st.sampled_from(["", "a", "ab", "abc", "b", "sensor-1", "sensor-10"])


def _number_tests(paths: Iterable[str]) -> st.SearchStrategy[str]:
    path = st.sampled_from(list(paths))
    negated = st.sampled_from(["", "not "])
    return st.one_of(
        st.builds("{} {} {}".format, path, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _number),
        st.builds("{} {}between {} and {}".format, path, negated, _number, _number),
        st.builds("{} {}in ({}, {}, {})".format, path, negated, _number, _number, _number),
    )


_TEXT_OPERATORS = ["starts with", "ends with", "not starts with", "not ends with"]
_TEXT_TESTS = st.one_of(
    st.builds("s {} '{}'".format, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _text),
    st.builds("s {} '{}'".format, st.sampled_from(_TEXT_OPERATORS), _text),
    st.builds("s {}in ('{}', '{}')".format, st.sampled_from(["", "not "]), _text, _text),
    st.builds("s matches '{}'".format, st.sampled_from(["a.*", "(ab)*", "[ab]+c?", "a|abc"])),
)
_OPEN_ATOMS = st.one_of(
    _number_tests(["x", "y", "a.b.b", "a.b.c", "a.c"]),
    _number_tests(["x", "a", "a.b"]),
    _TEXT_TESTS,
    st.sampled_from(["x = true", "a != false", "event.id = 'a'", "t > 2026-01-01T00:00:00Z", "d > 5 s"]),
    st.builds("exists {}".format, st.sampled_from(["x", "s", "a", "a.b", "a.b.b", "a.b.c", "a.c"])),
)
_TYPED_ATOMS = st.one_of(
    _number_tests(["x", "y", "l", "a.b.b", "a.b.c", "a.c"]),
    _TEXT_TESTS,
    st.sampled_from(["flag = true", "flag != true", "is Left", "is Base", "s contains 'b'", "event.mode = 'live'"]),
    st.builds("exists {}".format, st.sampled_from(["y", "s", "l", "flag", "a", "a.b", "a.b.b", "a.b.c", "a.c"])),
)


def _filters(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Conjunctions for the most part, some of them contradictions, and some filters of any form."""
    literal = st.one_of(atoms, atoms, st.builds("not ({})".format, atoms))
    conjunctions = st.lists(literal, min_size=1, max_size=4).map(" and ".join)
    either = st.builds("({}) or ({})".format, conjunctions, conjunctions)
    nested = st.builds("({}) and ({})".format, either, literal) | st.builds("not ({})".format, either)
    return st.one_of(conjunctions, conjunctions, conjunctions, either, nested, st.sampled_from(["true", "false"]))


# Pairwise testing


def _possible(tree: Expression, space: Space) -> bool:
    wanted = formula(tree, space)
    try:
        return search(wanted, space) is not None
    except NeedsSolver:
        return solve(wanted, space, lambda _: True) is not None


def _spaces(scope: Scope) -> list[Space]:
    return list(spaces(scope, ())) if scope.type else [Space()]


def _covers(outer: Expression, inner: Expression, scope: Scope) -> bool:
    return not any(_possible(conjunction([inner, Not(outer)]), space) for space in _spaces(scope))


def _overlaps(left: Expression, right: Expression, scope: Scope) -> bool:
    return any(_possible(conjunction([left, right]), space) for space in _spaces(scope))


def _check(filters: FilterSet, known: dict[str, Expression], asked: Expression, scope: Scope) -> None:
    assert filters.covering(asked) == {key for key, tree in known.items() if _covers(tree, asked, scope)}
    assert filters.covered_by(asked) == {key for key, tree in known.items() if _covers(asked, tree, scope)}
    assert filters.overlapping(asked) == {key for key, tree in known.items() if _overlaps(tree, asked, scope)}


def _answers_like_pairs(scope: Scope, texts: list[str], asked: list[str]) -> None:
    filters = FilterSet(scope)
    known = {text: bind_text(text, scope) for text in texts}
    for text, tree in known.items():
        filters.add(text, tree)
    for text in asked:
        _check(filters, known, bind_text(text, scope), scope)


@settings(deadline=None, max_examples=150)
@given(st.lists(_filters(_OPEN_ATOMS), max_size=12), _filters(_OPEN_ATOMS))
def test_open_scope_answers_like_pairs(texts: list[str], asked: str) -> None:
    _answers_like_pairs(Scope(), texts, [asked, *texts[:2]])


@settings(deadline=None, max_examples=150)
@given(st.lists(_filters(_TYPED_ATOMS), max_size=10), _filters(_TYPED_ATOMS))
def test_subtypes_answer_like_pairs(texts: list[str], asked: str) -> None:
    _answers_like_pairs(_typed(), texts, [asked, *texts[:2]])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.booleans(), _filters(_OPEN_ATOMS)), max_size=40), st.integers(0, 5))
def test_add_and_remove_interleaved_answer_like_pairs(steps: list[tuple[bool, str]], few_dead: int) -> None:
    scope, known = Scope(), dict[str, Expression]()
    filters = FilterSet(scope)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("comity.filter.index.filter_set._FEW_DEAD", few_dead)
        for adds, text in steps:
            if adds and text not in known:
                known[text] = bind_text(text, scope)
                filters.add(text, known[text])
            elif known:
                key = sorted(known)[len(text) % len(known)]
                del known[key]
                filters.remove(key)
        for _, text in steps[:3]:
            _check(filters, known, bind_text(text, scope), scope)
    assert len(filters) == len(known)
    assert set(filters) == known.keys()


# Single cases


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("not exists a.b", "not exists a"),
        ("not (a.b > 5)", "a = 3"),
        ("not exists a.b.c", "a = 3 and x = 1"),
        ("exists a", "a.b.c > 5"),
        ("not exists a.b.c or a.b.c > 1", "not exists a or a.b.c > 2"),
    ],
)
def test_covering_sees_through_surroundings(outer: str, inner: str) -> None:
    scope = Scope()
    filters = FilterSet(scope)
    filters.add("outer", bind_text(outer, scope))
    filters.add("inner", bind_text(inner, scope))
    assert filters.covering(bind_text(inner, scope)) == {"outer", "inner"}
    assert filters.covered_by(bind_text(outer, scope)) == {"outer", "inner"}


def test_mandatory_inner_attribute_is_there_with_its_surroundings() -> None:
    scope = _typed()
    filters = FilterSet(scope)
    filters.add("inner", bind_text("exists a.b.b", scope))
    assert filters.covering(bind_text("a.c > 1", scope)) == {"inner"}
    assert filters.covered_by(bind_text("exists a", scope)) == {"inner"}
    assert filters.overlapping(bind_text("not exists a.b", scope)) == frozenset()


def test_relations_between_attributes_are_verified() -> None:
    _answers_like_pairs(
        Scope(),
        ["x < y and x > 3", "y > 3", "x > y", "x > 1", "x < y", "x = y and y = 4", "x < y and y < x", "s = 'a'"],
        ["x < y and x > 5", "x > 4", "x + y > 10 and x < 2 and y < 2"],
    )


def test_unknown_falls_to_the_safe_side() -> None:
    scope = Scope()
    filters = FilterSet(scope)
    odd, big = bind_text("x * y < 2", scope), bind_text("s matches '(a|b)*a(a|b){12}'", scope)
    with limited(max_automaton_states=100):
        filters.add("odd", odd)
        filters.add("big", big)
        asked = bind_text("x * x < 3 and s = 'b'", scope)
        assert filters.covering(asked) == frozenset()
        assert filters.covered_by(asked) == frozenset()
        assert filters.overlapping(asked) == {"odd", "big"}


def test_filters_with_very_many_constraints() -> None:
    numbers = range(70)
    wide = " and ".join(f"x{number} > {number}" for number in numbers)
    wider = " and ".join(f"x{number} > {number - 1}" for number in numbers)
    few = " and ".join(f"x{number} > 50" for number in range(11))
    known = [wide, wider, few, f"{wide} and x3 = 7", "x69 > 0", f"{wider} and x9 = 0"]
    _answers_like_pairs(Scope(), known, [wide, wider, few, "x3 > 3"])


def test_without_a_concrete_type_everything_is_empty() -> None:
    nothing = EventType("Nothing", "t", EVENT, {"x": AttributeType(Kind.INT)}, abstract=True)
    scope = Scope(type=nothing, taxonomy=Taxonomy("t", [nothing]))
    filters = FilterSet(scope)
    filters.add(1, bind_text("x > 1", scope))
    asked = bind_text("x < 1", scope)
    assert filters.covering(asked) == filters.covered_by(asked) == {1}
    assert filters.overlapping(asked) == frozenset()


def test_keys_can_be_anything_hashable() -> None:
    scope = Scope()
    filters = FilterSet(scope)
    keys = [("broker", 1), 7, "seven", frozenset({1})]
    for key in keys:
        filters.add(key, bind_text("x = 1", scope))
    assert filters.covering(bind_text("x = 1", scope)) == set(keys)
    assert ("broker", 1) in filters


def test_add_twice_and_remove_unknown_are_refused() -> None:
    filters = FilterSet(Scope())
    filters.add("a", bind_text("x = 1", Scope()))
    with pytest.raises(Misuse, match="duplicate-key"):
        filters.add("a", bind_text("x = 2", Scope()))
    with pytest.raises(Misuse, match="unknown-key"):
        filters.remove("b")


def test_line_without_room_is_spread() -> None:
    line = Line()
    ends = [(4, 1 - 2.0**-count) for count in range(50)]
    numbers = [line.number(end) for end in ends]
    spread = 0
    for end in [(4, 1 - 2.0**-50 + 0.0 * at) for at in range(3)] + [
        (4, 1.0),
        *((4, 1 + 2.0**-n) for n in range(1, 53)),
    ]:
        if line.number(end) is None:
            spread += 1
            old, new = line.spread()
            assert len(old) == len(new)
            assert line.number(end) is not None
    assert numbers[0] is not None
    assert spread > 0


def test_column_renumbers_when_ends_crowd() -> None:
    floats = [1 + 2.0**-n for n in range(52, 0, -1)] + [2 + 1 / n for n in range(1, 80)]
    texts = [f"x {'<' if at % 2 else '<='} {value!r}" for at, value in enumerate(floats)]
    texts += [f"x in (0, {value!r}, 7)" for value in floats[::4]]
    _answers_like_pairs(Scope(), texts, texts[::30])


def test_a_list_of_very_many_values() -> None:
    texts = [f"x in ({', '.join(map(str, range(start, 120, step)))})" for start in range(3) for step in (1, 2, 3)]
    _answers_like_pairs(Scope(), [*texts, "x > 3", "x = 7", "x != 7"], [*texts[:4], "x < 100 and x > 4"])


@settings(deadline=None)
@given(st.lists(st.sampled_from(["x > 1", "x < 5", "x in (2, 4)", "s = 'a'", "a.b.c > 1", "x < y", "x > 9", "true"])))
def test_shapes_put_together_from_what_single_constraints_say_are_those_of_the_whole(texts: list[str]) -> None:
    tree = bind_text(" and ".join(texts) or "true", Scope())
    assert ShapeReader(Space()).read(tree) == shape_of(tree, Space())
