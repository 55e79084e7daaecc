"""The relations between filters against brute force over small domains, and their laws."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from comity.document import parse_document
from comity.event import Event, Taxonomy, conform
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import FALSE, TRUE, And, Arithmetic, Expression, Not, attributes, walk
from comity.filter.filter import Filter
from comity.filter.relations import Answer, covers, identical, overlaps, satisfiable
from comity.testing.brute_force import BruteForce, find_match
from comity.testing.filters import (
    SMALL,
    filters,
    flag_tests,
    number_tests,
    open_filters,
    open_scope,
    text_tests,
    typed_filters,
    typed_scope,
)

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
PAIRS = 10_000 if NIGHTLY else 500


def examples(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many examples, and none of the checks on their speed: brute force takes its time."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count, deadline=None, suppress_health_check=slow)


def bound(texts: list[str], scope: Scope) -> list[Expression]:
    return [bind_text(text, scope) for text in texts]


def check_witness(tree: Expression, event: Event, scope: Scope) -> None:
    """The event matches the filter and is an event of the scope."""
    assert holds(tree, event), event
    if scope.type is None:
        return
    type_ = SMALL.type(event.type)
    assert SMALL.is_a(event.type, scope.type.qualified_name)
    assert not type_.abstract
    values, faults = conform(event.data, type_)
    assert not faults
    assert values == event.data


def check_pair(left: Expression, right: Expression, scope: Scope, *, may_be_unknown: bool = False) -> None:
    """Every relation of the two filters."""
    one, other, same = covers(left, right, scope), covers(right, left, scope), identical(left, right, scope)
    # An open attribute takes its kinds from the filters in question: one filter alone may know fewer.
    check_satisfiable(satisfiable(left, scope), left, find_match(left, scope), scope)
    reference = BruteForce([left, right], scope)
    for tree, answer in (
        (And((left, right)), overlaps(left, right, scope)),
        (And((right, Not(left))), one.negated()),
        (And((left, Not(right))), other.negated()),
    ):
        assert answer.value is not None or may_be_unknown
        check_satisfiable(answer, tree, reference.find(tree), scope)
    if same.witness is not None:
        assert holds(left, same.witness) is not holds(right, same.witness)
    if not may_be_unknown:  # what rests on an unknown may be known in one run of the solver and not in another
        assert same.value is (one.value and other.value)


def check_satisfiable(answer: Answer, tree: Expression, found: Event | None, scope: Scope) -> None:
    """The answer is that of brute force, or shows an event that brute force did not think of."""
    if answer.value is False:
        assert found is None, f"says no, but {found} matches"
        assert answer.witness is None
    elif answer.value:
        assert answer.witness or found or rests_on_rationals(tree, scope), "nobody has an event"
        if answer.witness is not None:
            check_witness(tree, answer.witness, scope)


def rests_on_rationals(tree: Expression, scope: Scope) -> bool:
    """Whether it adds dense numbers: `n + k = -3 and 2*n - k = -1` holds for thirds, which no float is."""
    sums = (node for node in walk(tree) if isinstance(node, Arithmetic) and len(attributes(node)) > 1)
    return any(scope.type is None or attributes(node) & {("f",), ("g",)} for node in sums)


# Against brute force


@examples(PAIRS // 2)
@given(typed_filters(related=False))
def test_typed_filters(texts: list[str]) -> None:
    scope = typed_scope()
    check_pair(*bound(texts, scope), scope)


@examples(PAIRS)
@given(typed_filters())
def test_typed_filters_that_relate_attributes(texts: list[str]) -> None:
    scope = typed_scope()
    check_pair(*bound(texts, scope), scope)


@examples(PAIRS)
@given(open_filters())
def test_open_filters_that_relate_attributes(texts: list[str]) -> None:
    scope = open_scope()
    check_pair(*bound(texts, scope), scope)


@examples(PAIRS // 2)
@given(open_filters(related=False))
def test_open_filters(texts: list[str]) -> None:
    scope = open_scope()
    check_pair(*bound(texts, scope), scope)


@examples(PAIRS // 2)
@given(
    st.one_of(
        filters({("x",): number_tests("x")}, 2, max_leaves=8),
        filters({("f",): number_tests("f")}, 2, max_leaves=8),
        filters({("t",): text_tests("t")}, 2, max_leaves=8),
        filters({("c",): flag_tests("c")}, 2, max_leaves=8),
    )
)
def test_many_constraints_on_one_attribute(texts: list[str]) -> None:
    scope = typed_scope()
    check_pair(*bound(texts, scope), scope)


BEYOND = ["x * y > 1", "x % 2 = 1", "x / y < 1", "length(s) > 1", "lower(s) = 'a'", "x * x = 2"]
STRING_ORDER = ["s < t", "s >= t", "t > s"]
KNOWN = ["x > 1", "s = 'a'", "t != 'b'", "s = t", "x <= y"]


@examples(PAIRS // 5)
@given(filters({("s", "t", "x", "y"): st.sampled_from([*BEYOND, *STRING_ORDER, *KNOWN])}, 2, max_leaves=4))
def test_beyond_linear_the_answer_may_be_unknown_but_never_wrong(texts: list[str]) -> None:
    scope = typed_scope()
    check_pair(*bound(texts, scope), scope, may_be_unknown=True)


# Laws


@examples(PAIRS // 5)
@given(typed_filters())
def test_overlaps_and_identical_are_symmetric(texts: list[str]) -> None:
    scope = typed_scope()
    left, right = bound(texts, scope)
    assert overlaps(left, right, scope).value is overlaps(right, left, scope).value
    assert identical(left, right, scope).value is identical(right, left, scope).value


@examples(PAIRS // 5)
@given(typed_filters(1))
def test_a_filter_covers_itself_and_lies_between_false_and_true(texts: list[str]) -> None:
    scope = typed_scope()
    (tree,) = bound(texts, scope)
    assert covers(tree, tree, scope)
    assert identical(tree, Not(Not(tree)), scope)
    assert covers(TRUE, tree, scope)
    assert covers(tree, FALSE, scope)
    assert overlaps(tree, Not(tree), scope).value is False
    assert satisfiable(tree, scope).value is overlaps(tree, tree, scope).value
    assert satisfiable(tree, scope).value is not covers(FALSE, tree, scope).value


@examples(PAIRS // 5)
@given(typed_filters(3, related=False))
def test_covers_is_transitive(texts: list[str]) -> None:
    scope = typed_scope()
    first, second, third = bound(texts, scope)
    if covers(first, second, scope) and covers(second, third, scope):
        assert covers(first, third, scope)
    wide, narrow = And((first, second)), And((first, second, third))
    assert covers(first, wide, scope)
    assert covers(wide, narrow, scope)
    assert covers(first, narrow, scope)


@examples(PAIRS // 5)
@given(typed_filters())
def test_covering_turns_round_under_complement(texts: list[str]) -> None:
    scope = typed_scope()
    left, right = bound(texts, scope)
    assert covers(left, right, scope).value is covers(Not(right), Not(left), scope).value
    if covers(left, right, scope) and satisfiable(right, scope):
        assert overlaps(left, right, scope)


# Cases worth a name


def is_satisfiable(text: str, scope: Scope) -> bool | None:
    return satisfiable(bind_text(text, scope), scope).value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 3 and x < 4", False),
        ("f > 3 and f < 4", True),
        ("y > 3 and y < 4", False),
        ("not (y > 3) and not (y < 4)", True),  # y is missing
        ("not (x > 3) and not (x < 4)", False),  # x is mandatory
        ("not exists x", False),
        ("not exists y", True),
        ("exists z and is Special", True),
        ("is Special and not exists z", False),
        ("exists z and not is Special", False),
        ("is Other", False),  # abstract, without concrete types below it
        ("exists d and not exists d.n", False),
        ("not exists d and exists d.w", False),
        ("not exists m.n", False),
        ("s = t and s != t", False),
        ("s = t and s like 'a%' and t like '%b' and s != 'ab'", True),
        ("s = t and s in ('a', 'b') and t in ('b', 'c') and s != 'b'", False),
        ("s != t and s in ('a', 'b') and t in ('a', 'b')", True),
        ("s != t and s = 'a' and t = 'a'", False),
        ("2*x = 2*y + 1", False),
        ("2*f = 2*g + 1", True),
        ("x + y > 3 and x < 2 and y < 2", False),
        ("x + y > 2 and x < 2 and y < 3", True),
        ("f + g = -3 and 2*f - g = -1", True),  # thirds
        ("x + y = -3 and 2*x - y = -1", False),
        ("x - x > 0", False),
        ("x - x = 0", True),
        ("y - y = 0 and not exists y", False),
        ("b = c and b and not c", False),
        ("x = 9223372036854775807 and x > 9223372036854775806", True),
        ("x > 9223372036854775807", False),
        ("x = 9007199254740993 and x = 9007199254740992.0", False),
        ("f = 9007199254740993 and f != 9007199254740992.0", True),  # floats count as dense
        ("event.time > 2026-01-01T00:00:00Z and event.time < 2026-01-01T00:00:00.000002Z", True),
        ("event.time > 2026-01-01T00:00:00Z and event.time < 2026-01-01T00:00:00.000001Z", False),
        ("event.subject like 'a%' and not event.subject starts with 'a'", False),
        ("not exists event.id", False),
    ],
)
def test_satisfiable(text: str, expected: bool | None) -> None:
    assert is_satisfiable(text, typed_scope()) is expected


def test_witnesses_share_nothing() -> None:
    scope = Scope()
    first = satisfiable(bind_text("d.n > 5", scope), scope).witness
    second = satisfiable(bind_text("exists d.w", scope), scope).witness
    assert first is not None
    assert second is not None
    assert set(first.data["d"]) == {"n"}
    assert set(second.data["d"]) == {"w"}


def test_the_witness_of_an_optional_struct_has_its_mandatory_parts() -> None:
    scope = typed_scope()
    found = satisfiable(bind_text("exists d", scope), scope).witness
    assert found is not None
    check_witness(bind_text("exists d", scope), found, scope)


def test_answer_is_true_only_when_certain() -> None:
    assert Answer(True)
    assert not Answer(None)
    assert not Answer(False)
    assert Answer(None).negated().value is None
    assert Answer(True).negated().value is False


def test_merge_of_far_apart_integers_is_written_as_intervals():
    taxonomy = Taxonomy.from_document(parse_document("namespace: d\ntypes: {T: {attributes: {x: int}}}"))
    left, right = (Filter.typed(text, taxonomy, "T") for text in ("x = 2", "x < -1"))
    assert left.merge(right).text == "x <= -2 or x = 2"


def test_thousands_of_alternatives_on_one_attribute_are_one_set():
    many = Filter(" or ".join(f"x = {number}" for number in range(0, 6000, 2)))
    few = Filter("x in (2, 4) or y = 1")
    assert many.overlaps(few).value is True
    assert many.covers(few).value is False
    assert many.covers(Filter("x = 5000 or x = 4000")).value is True


@pytest.mark.parametrize("text", ["event.mode = 'zzz'", "event.id = ''", "event.source = ''"])
def test_what_no_envelope_can_hold_is_unsatisfiable(text):
    assert Filter(text).satisfiable().value is False


def test_a_point_is_where_its_coordinates_are():
    assert Filter("p = point(1, 2)").covers(Filter("p.x = 1 and p.y = 2")).value is True
    assert Filter("p.x >= 1").covers(Filter("p = point(1, 2)")).value is True
    assert Filter("p != point(1, 2)").overlaps(Filter("p = point(1, 2)")).value is False


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("a < b", "b < a", False), ("a < b", "a <= b", True), ("s < t and t < 'a'", "s >= 'a'", False)],
)
def test_order_between_attributes_is_decided(left, right, expected):
    assert Filter(left).overlaps(Filter(right)).value is expected
