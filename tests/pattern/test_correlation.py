"""Correlation keys: equal for what the condition `=` holds for, as values and as texts, and for nothing else."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.pattern.letters import START, every_way, profile

from comity.event.event import Event
from comity.event.kinds import Kind, Point
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.pattern.correlation import Key, canonical, correlation_key, key_text, ties
from comity.testing.samples import values

_NUMBERS = st.sampled_from([0, 0.0, -0.0, 1, 1.0, True, False, 2**53, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, 0.5])
_POINTS = st.builds(Point, st.sampled_from([0.0, -0.0, 1.0]), st.sampled_from([0.0, -0.0]))
_PLAIN = (
    _NUMBERS
    | _POINTS
    | st.sampled_from(["", "1", "bool", "list", b"", b"1"])
    | st.sampled_from([Kind.TIMESTAMP, Kind.DURATION]).flatmap(values)
)
_ANY = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)


@given(_ANY, _ANY)
def test_keys_are_equal_where_values_are(one: Any, other: Any) -> None:
    equal = holds(bind_text("x = y", Scope()), {("x",): one, ("y",): other})
    keys = (canonical(one),), (canonical(other),)
    assert (keys[0] == keys[1]) == equal
    assert (key_text(keys[0]) == key_text(keys[1])) == equal
    assert not equal or hash(keys[0]) == hash(keys[1])


def test_keys_of_numbers_and_points_are_equal_where_they_are() -> None:
    some = [0, 0.0, -0.0, 0.5, 1, 1.0, -1.5, True, False, 2**53, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, 1e300, "0"]
    some += [Point(x, y) for x in (0.0, -0.0, 1.0) for y in (0.0, -0.0)]
    same = bind_text("x = y", Scope())
    for one, other in product(some, some):
        equal = holds(same, {("x",): one, ("y",): other})
        assert (canonical(one) == canonical(other)) == equal, (one, other)
        assert (key_text((canonical(one),)) == key_text((canonical(other),))) == equal, (one, other)


def test_points_that_differ_in_the_sign_of_zero_are_of_one_trace() -> None:
    at = [Point(-0.0, 1.0), Point(0.0, 1.0)]
    events = [Event(f"{type}1", "/letters", type, START, {"at": point}) for type, point in zip("AB", at)]
    bound = profile("A a & B b within 1 min\nwhere a.at = b.at")
    assert bound.key is not None
    assert all(found == ["A1 B1 @0"] for found in every_way(bound, events))


def conditions(*texts: str) -> list[Expression]:
    return [bind_text(text, Scope()) for text in texts]


def key_of(operands: str, *texts: str) -> Key | None:
    return correlation_key(operands.split(), conditions(*texts))


def test_a_key_ties_every_operand_to_every_other() -> None:
    key = key_of("a b c", "a.x = b.y", "b.y = c.z", "a.w = b.w")
    assert key is not None
    assert [key.paths(name) for name in "abc"] == [(("x",),), (("y",),), (("z",),)]
    assert key.items == frozenset(conditions("a.x = b.y", "b.y = c.z"))
    assert key_of("a b c", "a.x = b.y", "a.w = b.w") is None
    assert key_of("a b", "a.x < b.y") is None
    assert key_of("a b", "a.x = a.y") is None
    assert key_of("a", "a.x = b.x") is None


def test_an_operand_with_two_attributes_in_a_part_needs_them_equal() -> None:
    key = key_of("a b", "a.x = b.x", "a.y = b.x", "a.s = b.s")
    assert key is not None
    assert key.parts_of("a") == ((("s",),), (("x",), ("y",)))
    assert key.of("a", {("x",): 1, ("y",): 1.0, ("s",): "k"}) == ("k", 1)  # type: ignore[arg-type]
    assert key.of("a", {("x",): 1, ("y",): 2, ("s",): "k"}) is None  # type: ignore[arg-type]
    assert key.of("a", {("x",): 1, ("y",): 1}) is None  # type: ignore[arg-type]
    assert key.of("b", {("x",): 1, ("s",): "k"}) == ("k", 1)  # type: ignore[arg-type]


def test_ties_name_those_of_the_most_operands_first() -> None:
    found = ties(conditions("a.x = b.x", "a.y = b.y", "b.y = c.y", "a.z < b.z"))
    assert [sorted({name for name, _ in own}) for own in found] == [["a", "b", "c"], ["a", "b"]]
