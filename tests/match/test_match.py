import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.document import parse_document
from comity.errors import Faults
from comity.event.event import Event
from comity.event.taxonomy import Taxonomy
from comity.expression.evaluate import holds
from comity.expression.scope import Scope
from comity.match import Matcher
from comity.match.match import INDEXED, bind_profiles, read_bound_profiles
from comity.profile import Profile
from comity.testing.filters import open_filters

TYPES = """
domain: house
types:
  Alarm: {abstract: true, attributes: {room: string}}
  Fire: {extends: Alarm, attributes: {heat: float degC, since: timestamp?}}
  BigFire: {extends: Fire, attributes: {engines: int}}
  Leak: {extends: Alarm, attributes: {litres: float litre, heat: float degF?}}
"""


@pytest.fixture(scope="module")
def house():
    return Taxonomy.from_document(parse_document(TYPES))


def _profiles(**filters):
    return [Profile.of(name, text) for name, text in filters.items()]


def _event(type="T", **data):
    return Event("1", "/a", type, data=data)


def _codes(profiles, taxonomy=None):
    with pytest.raises(Faults) as caught:
        Matcher(profiles, taxonomy)
    return [error.code for error in caught.value.errors]


def test_match_gives_names_in_the_order_of_the_profiles():
    matcher = Matcher(_profiles(z="x > 1", none="x > 9", a="y = 'b' and x < 5", deep="d.e > 0", all="true"))
    assert matcher.match(_event(x=3, y="b", d={"e": 1.5})) == ["z", "a", "deep", "all"]
    assert matcher.match(_event()) == ["all"]


def test_match_without_profiles():
    assert Matcher([]).match(_event(x=1)) == []


def test_match_on_a_type_without_types():
    matcher = Matcher(
        [Profile.of("t", "x > 1", on="T"), Profile.of("any", "x > 1"), Profile.of("is", "is T and x > 1")]
    )
    assert matcher.match(_event("T", x=2)) == ["t", "any", "is"]
    assert matcher.match(_event("U", x=2)) == ["any"]


def test_match_on_a_type_includes_its_subtypes(house):
    profiles = [
        Profile.of("alarm", "room = 'attic'", on="Alarm"),
        Profile.of("fire", "heat > 86 degF", on="house.Fire"),
        Profile.of("big", "engines > 2", on="BigFire"),
        Profile.of("some", "engines > 2", on="Alarm"),
        Profile.of("any", "room = 'attic'"),
        Profile.of("is", "is Leak"),
    ]
    matcher = Matcher(profiles, house)
    assert matcher.match(_event("house.Fire", room="attic", heat=31.0)) == ["alarm", "fire", "any"]
    big = _event("house.BigFire", room="hall", heat=29.0, engines=3)
    assert matcher.match(big) == ["big", "some"]
    assert matcher.match(_event("house.Leak", room="attic", litres=1.0)) == ["alarm", "any", "is"]


def test_matcher_with_types_refuses_what_they_do_not_have(house):
    profiles = [
        Profile.of("type", "room = 'a'", on="Fier"),
        Profile.of("name", "colour = 'a'", on="Fire"),
        Profile.of("kind", "room > 5", on="Fire"),
        Profile.of("unit", "heat > 5 km", on="Fire"),
        Profile.of("fine", "heat > 5", on="Fire"),
        Profile.of("envelope", "event.colour = 'a'"),
    ]
    assert _codes(profiles, house) == [
        "unknown-type",
        "unknown-attribute",
        "wrong-kind",
        "incompatible-units",
        "unknown-attribute",
    ]


def test_matcher_without_on_refuses_attributes_that_types_declare_differently(house):
    with pytest.raises(Faults) as caught:
        Matcher(_profiles(a="heat > 5"), house)
    (error,) = caught.value.errors
    assert "declare it differently" in error.message
    assert "on: TYPE" in error.hint


def test_matcher_without_types_refuses_two_units_for_one_attribute():
    assert _codes(_profiles(a="t > 30 degC", b="t > 86 degF", c="t > 5", d="t < 0 degC")) == ["ambiguous-unit"] * 2


def test_read_bound_profiles_has_the_faults_of_reading_and_binding_in_order(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("a: x > 5 nounit\nb: x >\nc: event.nope = 1\nd: y = 1\n")
    with pytest.raises(Faults) as caught:
        read_bound_profiles(path)
    found = [(error.place.line, error.code) for error in caught.value.errors]
    assert found == [(1, "unknown-unit"), (2, "syntax"), (3, "unknown-attribute")]


_DATA = st.dictionaries(
    st.sampled_from("abxyzst"), st.sampled_from([True, 0, 1, 2, 2.5, "", "a", "ab", {"x": 1}, ["a"]])
)


@given(open_filters(count=4), st.lists(_DATA, min_size=1, max_size=5))
def test_match_equals_the_evaluator(texts, many):
    profiles = [Profile.of(f"p{number}", text) for number, text in enumerate(texts)]
    try:
        bound = bind_profiles(profiles)
    except Faults:
        return  # generated filters may give one attribute two meanings
    matcher = Matcher(profiles)
    for data in many:
        event = _event(**data)
        assert matcher.match(event) == [one.name for one in bound if holds(one.tree, event)]


def test_match_of_many_profiles_goes_through_the_index_with_the_same_answer():
    chance = random.Random(7)
    texts = [f"t > {chance.randint(0, 100)} and not room = 'r{chance.randint(0, 20)}'" for _ in range(INDEXED)]
    on = [None, "Fire", "Flood"]
    profiles = [Profile.of(f"p{at}", text, on=on[at % 3]) for at, text in enumerate(texts)]
    many, few = Matcher(profiles), Matcher.of(bind_profiles(profiles)[: INDEXED - 1])
    for _ in range(50):
        event = _event(t=chance.random() * 100, room=f"r{chance.randint(0, 20)}")
        found = many.match(event)
        assert found
        assert [name for name in found if name != f"p{INDEXED - 1}"] == few.match(event)


def test_match_of_profiles_that_ask_the_same_gives_all_names_in_their_order():
    profiles = [Profile.of(f"p{number}", f"t > {number % 3}") for number in range(INDEXED)]
    many, tests = Matcher(profiles), [bound.tree for bound in bind_profiles(profiles)]
    for t in range(5):
        event = Event("1", "/a", "T", data={"t": t})
        assert many.match(event) == [f"p{at}" for at, tree in enumerate(tests) if holds(tree, event)]


def test_bind_profiles_shares_one_open_scope():
    with pytest.raises(Faults):
        bind_profiles(_profiles(a="x = 'text'", b="x > 2024-01-01"))
    assert Scope().open_units == {}
