"""The examples and tables of the two papers that the filter algebra follows, with the answers of the definitions.

[0] is the paper on filters over semistructured data (satisfiability by DNF, Tables 1 to 3), [1] the one on covering
and merging of conjunctive filters (Figure 2, Propositions 1 to 4). Where the definitions give another answer than the
print, the test says so:

- [0], example of satisfiability, step 1: `not (Odometer < 800)` is printed as `not Odometer > 800`, and step 2 makes
  `<= 800` of it; it is `>= 800`. So the first term is satisfiable, and the filter is identical to `Odometer > 2000`;
  the printed DNF also asks for a failed engine.
- [0], steps of overlapping, step 2: "if it is not, then F1 and F2 overlap" is the wrong way round.
- [0], Table 2 holds for present values only: an event without the attribute matches `not (v < c)` but not `v >= c`.
- [0], Table 3 is right in all 36 cells for dense, unbounded numbers, not for integers (`v < c1` with `v > c2` needs
  two steps between the constants), values with a least or greatest one (`v < c` is no T for the least string), strings
  (nothing lies between 'a' and 'a\\0'), bools (`v != true` with `v != false`).
- [0], step 4: testing pairs is not enough for three constraints: `v >= 1`, `v <= 1`, `v != 1`.
- [0], identity: an attribute that only one filter names does not make the filters different.
- [1], Propositions 2 and 3 need that no constraint is idle: `exists x` on a mandatory attribute covers every filter.
- [1], `P1 and x = 5` with `P1 and x != 5` merge into `P1 and exists x`, not into `P1` (see test_seed_merging.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from comity.event import EVENT, AttributeType, Event, EventType, Kind, Taxonomy
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import And, Expression
from comity.filter.relations import Answer, covers, identical, overlaps, satisfiable
from comity.testing.filters import number_tests, text_tests

STRING, INT, FLOAT = (AttributeType(kind, optional=True) for kind in (Kind.STRING, Kind.INT, Kind.FLOAT))
BOOL = AttributeType(Kind.BOOL, optional=True)
CAR = EventType(
    "Car",
    "road",
    EVENT,
    own={
        "Odometer": INT,
        "PartFailure": STRING,
        "InTemperature": FLOAT,
        "OutTemperature": FLOAT,
        "Speedometer": FLOAT,
        "v": FLOAT,
        "i": INT,
        "s": STRING,
        "b": BOOL,
        "must": AttributeType(Kind.INT),
        "at": AttributeType(Kind.POINT, optional=True),
    },
)
SCOPE = Scope(type=CAR)


def filter_of(text: str, scope: Scope = SCOPE) -> Expression:
    return bind_text(text, scope)


def answer(relation: str, left: str, right: str) -> bool | None:
    relations = {"covers": covers, "overlaps": overlaps, "identical": identical}
    found: Answer = relations[relation](filter_of(left), filter_of(right), SCOPE)
    return found.value


def is_satisfiable(text: str) -> bool | None:
    return satisfiable(filter_of(text), SCOPE).value


# [0] Satisfiability

ODOMETER = "not ((Odometer < 800 and (not PartFailure = 'Engine')) or (not Odometer > 2000))"


def test_odometer_example_is_satisfiable() -> None:
    assert is_satisfiable(ODOMETER)


def test_odometer_example_step_by_step() -> None:
    steps = [
        "(not (Odometer < 800) or PartFailure = 'Engine') and Odometer > 2000",
        "(not (Odometer < 800) and Odometer > 2000) or (PartFailure = 'Engine' and Odometer > 2000)",
        "Odometer > 2000",
    ]
    assert [answer("identical", ODOMETER, step) for step in steps] == [True, True, True]


def test_odometer_example_as_printed_is_another_filter() -> None:
    printed = "(Odometer <= 800 or PartFailure = 'Engine') and Odometer > 2000"
    assert answer("identical", ODOMETER, printed) is False
    assert answer("covers", ODOMETER, printed)
    intact = Event("1", "", "road.Car", data={"Odometer": 2001, "must": 0})
    assert holds(filter_of(ODOMETER), intact)
    assert not holds(filter_of(printed), intact)


# [0] Tables 1 to 3


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("not (v < 1 and s = 'a')", "not v < 1 or not s = 'a'"),
        ("not (v < 1 or s = 'a')", "not v < 1 and not s = 'a'"),
        ("not (not v < 1)", "v < 1"),
    ],
)
def test_table_1_holds_for_missing_attributes_too(text: str, changed: str) -> None:
    assert answer("identical", text, changed)


OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}


@pytest.mark.parametrize("symbol", list(OPPOSITE))
def test_table_2_holds_for_present_values_only(symbol: str) -> None:
    negated, changed = f"not (v {symbol} 1)", f"v {OPPOSITE[symbol]} 1"
    assert answer("covers", negated, changed)
    assert answer("identical", negated, changed) is False
    assert answer("identical", f"exists v and {negated}", changed)
    assert answer("identical", f"not (must {symbol} 1)", f"must {OPPOSITE[symbol]} 1")


T, EQUAL, OTHER = "T", "c1 = c2", "c1 != c2"
LESS, MORE, AT_MOST, AT_LEAST = "c2 < c1", "c2 > c1", "c2 <= c1", "c2 >= c1"
SYMBOLS = ["<", "<=", "=", ">", ">=", "!="]
TABLE_3 = {
    "<": [T, T, LESS, LESS, LESS, T],
    "<=": [T, T, AT_MOST, LESS, AT_MOST, T],
    "=": [MORE, AT_LEAST, EQUAL, LESS, AT_MOST, OTHER],
    ">": [MORE, MORE, MORE, T, T, T],
    ">=": [MORE, AT_LEAST, AT_LEAST, T, T, T],
    "!=": [T, T, OTHER, T, T, T],
}
CELLS = {
    T: (True, True, True),
    LESS: (True, False, False),
    MORE: (False, False, True),
    AT_MOST: (True, True, False),
    AT_LEAST: (False, True, True),
    EQUAL: (False, True, False),
    OTHER: (True, False, True),
}
"""Whether the condition holds when c2 is below, at, and above c1."""


def table_3(name: str, below: str, middle: str, above: str) -> Iterator[tuple[str, str, bool, bool | None]]:
    """For each cell and order of the constants: both symbols, what the table says, what the algebra says."""
    for (row, conditions), order in itertools.product(TABLE_3.items(), range(3)):
        for column, condition in zip(SYMBOLS, conditions, strict=True):
            found = is_satisfiable(f"{name} {row} {middle} and {name} {column} {(below, middle, above)[order]}")
            yield row, column, CELLS[condition][order], found


def wrong_cells(name: str, below: str, middle: str, above: str) -> set[tuple[str, str]]:
    cells = table_3(name, below, middle, above)
    return {(row, column) for row, column, printed, found in cells if printed is not found}


def test_table_3_is_right_for_dense_numbers() -> None:
    assert not wrong_cells("v", "-2.5", "1", "1.5")
    assert not wrong_cells("v", "0", "0.1", "100")


def test_table_3_is_wrong_for_neighbouring_integers() -> None:
    assert wrong_cells("i", "1", "2", "3") == {("<", ">"), (">", "<")}
    assert not wrong_cells("i", "1", "3", "5")


def test_table_3_is_wrong_at_the_ends_of_the_values() -> None:
    assert is_satisfiable("s < ''") is False
    assert is_satisfiable("i < -9223372036854775808 and i < 5") is False
    assert is_satisfiable("i > 9223372036854775807 and i != 5") is False


def test_table_3_is_wrong_for_neighbouring_strings_and_for_bools() -> None:
    assert is_satisfiable("s > 'a' and s < 'b'")
    assert is_satisfiable("s > 'a' and s < 'a\0'") is False
    assert is_satisfiable("b != true and b != false") is False


@pytest.mark.parametrize("constraints", [["v >= 1", "v <= 1", "v != 1"], ["i > 1", "i < 4", "i != 2", "i != 3"]])
def test_pairs_are_not_enough_for_three_constraints(constraints: list[str]) -> None:
    assert all(is_satisfiable(f"{one} and {other}") for one, other in itertools.combinations(constraints, 2))
    assert is_satisfiable(" and ".join(constraints)) is False


# [0] Identity and overlapping


def test_identical_filters_may_name_different_attributes() -> None:
    assert answer("identical", "v > 5", "v > 5 and (s = 'a' or not s = 'a')")
    assert answer("identical", "v > 5", "v > 5 and (v > 5 or i = 1)")


def test_identity_is_unsatisfiability_of_the_difference() -> None:
    assert is_satisfiable("(not (v > 5) and v >= 5) or (not (v >= 5) and v > 5)")
    assert answer("identical", "v > 5", "v >= 5") is False
    assert answer("identical", "i > 5", "i >= 6")


def test_overlapping_example_1() -> None:
    first = "InTemperature < 10 and OutTemperature = 30"
    second = "InTemperature > 20 or OutTemperature = 30"
    assert answer("overlaps", first, second)
    assert is_satisfiable(f"({first}) and InTemperature > 20") is False
    assert is_satisfiable(f"({first}) and OutTemperature = 30")


def test_overlapping_example_2() -> None:
    third = "(InTemperature < 10 and OutTemperature = 30) or Speedometer != 20"
    fourth = "Speedometer = 20 and InTemperature > 20"
    assert answer("overlaps", third, fourth) is False


def test_covering_is_unsatisfiability_of_the_rest() -> None:
    assert answer("covers", "v > 5", "v > 7 and s = 'a'")
    assert answer("covers", "v > 7", "v > 5") is False


# [1] 3.3 Attribute filters


def test_price_example() -> None:
    assert answer("covers", "v > 10", "v between 20 and 30")
    assert answer("covers", "v between 20 and 30", "v > 10") is False


def test_an_empty_filter_matches_anything() -> None:
    assert answer("covers", "true", "not exists v")
    assert answer("identical", "true", "must = 1 or must != 1")


def test_stock_quote_example_matches_subtypes() -> None:
    quote = EventType("StockQuote", "stock", EVENT, own={"name": STRING, "price": FLOAT})
    late = EventType("LateQuote", "stock", quote, own={"delay": AttributeType(Kind.DURATION)})
    scope = Scope(type=quote, taxonomy=Taxonomy("stock", [quote, late]))
    tree = filter_of("is StockQuote and name = 'Foo Inc.' and price not between 30 and 40", scope)
    example = {"name": "Foo Inc.", "price": 45.0}
    assert holds(tree, Event("1", "", "stock.StockQuote", data=example))
    assert holds(tree, Event("1", "", "stock.LateQuote", data=example))
    assert not holds(tree, Event("1", "", "stock.StockQuote", data={"name": "Foo Inc."}))
    assert covers(tree, filter_of("is LateQuote and name = 'Foo Inc.' and price > 40", scope), scope)


# [1] 3.4 Covering, Figure 2: one constraint covers two on the same attribute together, but neither of them alone


@pytest.mark.parametrize(
    ("one", "first", "second"),
    [
        ("v between 3 and 7", "v >= 4", "v <= 6"),  # the two meet inside
        ("v between 3 and 7", "v between 1 and 5", "v between 4 and 9"),
        ("v between 3 and 7", "v < 2", "v > 8"),  # the two never meet, so anything covers them
        ("i in (1, 2)", "i in (1, 3)", "i in (1, 4)"),
        ("s starts with 'ab'", "s starts with 'a'", "s like '_b%'"),
        ("at in rectangle(1, 1, 3, 3)", "at in rectangle(0, 1, 3, 3)", "at in rectangle(1, 0, 4, 3)"),
    ],
)
def test_figure_2(one: str, first: str, second: str) -> None:
    assert answer("covers", one, f"{first} and {second}")
    assert answer("covers", one, first) is False
    assert answer("covers", one, second) is False


def test_proposition_2_needs_constraints_that_are_not_idle() -> None:
    assert answer("covers", "exists must and v > 1", "v > 1")
    assert answer("identical", "exists must and v > 1", "v > 1")
    assert answer("covers", "exists s and v > 1", "v > 1") is False


TESTS = {"n": number_tests("n"), "k": number_tests("k"), "s": text_tests("s")}
conjunctions = st.lists(st.sampled_from(sorted(TESTS)), min_size=1, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: TESTS[name] for name in names})
)
"""By attribute: the one constraint on it."""


@settings(max_examples=150, deadline=None)
@given(conjunctions, conjunctions)
def test_conjunctive_filters_relate_as_their_constraints_do(left: dict[str, str], right: dict[str, str]) -> None:
    """Corollary 1, Propositions 3 and 4: at most one constraint on each attribute, none of them empty or idle."""
    scope = Scope()
    first = {name: bind_text(text, scope) for name, text in left.items()}
    second = {name: bind_text(text, scope) for name, text in right.items()}
    assume(all(satisfiable(tree, scope) for tree in (*first.values(), *second.values())))
    one, other = And(tuple(first.values())), And(tuple(second.values()))
    covered = {name: name in second and bool(covers(first[name], second[name], scope)) for name in first}
    meeting = {name: name not in second or bool(overlaps(first[name], second[name], scope)) for name in first}
    same = first.keys() == second.keys() and all(identical(first[name], second[name], scope) for name in first)
    assert covers(one, other, scope).value is all(covered.values())
    assert overlaps(one, other, scope).value is all(meeting.values())
    assert identical(one, other, scope).value is same
