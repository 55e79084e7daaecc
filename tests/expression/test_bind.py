"""Binding: names, kinds and units are checked, and constants converted, before anything is evaluated."""

from __future__ import annotations

import pytest

from comity.errors import Misuse
from comity.event import EVENT, AttributeType, Event, EventType, Kind, Taxonomy
from comity.expression.bind import bind, bind_filter, bind_for, bind_text
from comity.expression.evaluate import evaluate, holds
from comity.expression.parse import parse
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import Attribute, IsType, Literal, Lookup, Quantity, walk


def of(kind: Kind, unit: str | None = None, optional: bool = False) -> AttributeType:
    return AttributeType(kind, optional, unit)


READING = EventType(
    "Reading",
    "house",
    EVENT,
    own={
        "i": of(Kind.INT),
        "f": of(Kind.FLOAT, optional=True),
        "s": of(Kind.STRING),
        "b": of(Kind.BOOL),
        "t": of(Kind.TIMESTAMP),
        "u": of(Kind.DURATION),
        "celsius": of(Kind.FLOAT, "degC"),
        "fahrenheit": of(Kind.FLOAT, "degF"),
        "km": of(Kind.FLOAT, "km"),
        "m": of(Kind.INT, "m"),
        "speed": of(Kind.FLOAT, "km/h"),
        "seconds": of(Kind.FLOAT, "s"),
        "d": AttributeType(Kind.STRUCT, True, attributes={"n": of(Kind.INT)}),
        "tags": AttributeType(Kind.LIST, element=of(Kind.STRING)),
        "p": of(Kind.POINT),
        "y": of(Kind.BYTES),
    },
)
ALARM = EventType("Alarm", "house", READING, own={"level": of(Kind.INT), "note": of(Kind.STRING)})
DRILL = EventType("Drill", "house", READING, own={"note": of(Kind.INT)})
TAXONOMY = Taxonomy("house", [READING, ALARM, DRILL])
TABLES = {"rooms": {"k": "kitchen", "a": "attic"}, "floors": {"k": 0, "a": 2}}
SCOPE = Scope(READING, TAXONOMY, TABLES)


def bound(text: str, scope: Scope = SCOPE) -> str:
    return render(bind_text(text, scope))


def refused(text: str, scope: Scope = SCOPE) -> Misuse:
    with pytest.raises(Misuse) as caught:
        bind_text(text, scope)
    return caught.value


def event(**data: object) -> Event:
    return Event("1", "", "house.Reading", data=data)


# Names


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("celcius > 1", "unknown-attribute", "did you mean 'celsius'?"),
        ("d.m > 1", "unknown-attribute", "did you mean 'd.n'?"),
        ("exists nothing_like_it", "unknown-attribute", "known: "),
        ("i.x > 1", "unknown-attribute", None),
        ("p.z > 1", "unknown-attribute", None),
        ("tags.x = 1", "unknown-attribute", None),
        ("event.tyme > 2026-01-01", "unknown-attribute", "known: event.id"),
        ("event = 'x'", "unknown-attribute", None),
        ("event.data.i = 1", "unknown-attribute", None),
        ("note = 'x'", "unknown-attribute", None),  # two subtypes declare it differently
        ("absolute(i) = 1", "unknown-function", "abs"),
        ("is Alarms", "unknown-type", "Alarm"),
        ("lookup('room', s) = 'x'", "unknown-table", "did you mean 'rooms'?"),
        ("i > 5 parsnips", "unknown-unit", None),
        ("abs() = 1", "arity", None),
        ("abs(i, i) = 1", "arity", None),
        ("coalesce() = 1", "wrong-kind", None),
        ("value(km) = 1", "arity", None),
        ("value(km, 'parsnip') = 1", "unknown-unit", None),
    ],
)
def test_unknown_names(text: str, code: str, hint: str | None) -> None:
    error = refused(text)
    assert error.code == code
    assert (hint or "") in (error.hint or "")


def test_errors_point_into_the_text() -> None:
    error = refused("i = 1 and\n  celcius > 1")
    assert error.place is not None
    assert (error.place.line, error.place.column, error.place.path) == (2, 3, "celcius")
    assert error.excerpt == "    celcius > 1\n    ^"


def test_attributes_of_a_subtype_are_known() -> None:
    assert bound("level > 3") == "level > 3"
    assert refused("level = 'x'").code == "wrong-kind"


def test_types_become_the_names_below_them() -> None:
    assert bind_text("is Reading", SCOPE) == IsType("Reading", ("house.Reading", "house.Alarm", "house.Drill"))
    assert bind_text("is house.Alarm", SCOPE) == IsType("house.Alarm", ("house.Alarm",))
    assert bind_text("is Any", Scope()) == IsType("Any", ("Any",))


def test_tables_become_rows() -> None:
    tree = bind_text("lookup('floors', s) > 1", SCOPE)
    (lookup,) = (node for node in walk(tree) if isinstance(node, Lookup))
    assert lookup.rows == (("k", 0), ("a", 2))
    assert refused("lookup('floors', s) = 'x'").code == "wrong-kind"


def test_bound_trees_hold_no_quantity() -> None:
    tree = bind_text("km > 5 mile and km between 1 m and 2 m and u > 5 min and km in (3 km, 4)", SCOPE)
    assert not any(isinstance(node, Quantity) for node in walk(tree))


# Kinds


@pytest.mark.parametrize(
    "text",
    [
        "s > 5",
        "s = 5",
        "i = 'a'",
        "b = 1",
        "b > true",
        "b < b",
        "i",
        "s",
        "t > '2026-01-01T00:00:00Z'",
        "t = 5",
        "u > 90",
        "u = t",
        "d > d",
        "d = 5",
        "y > bytes('aGk=')",
        "y = 'hi'",
        "p > p",
        "p = 5",
        "tags = 'a'",
        "tags < tags",
        "i like 'a'",
        "tags like 'a'",
        "i matches 'a'",
        "u contains 'a'",
        "i in (1, 'a')",
        "i between 1 and 'a'",
        "s between 1 and 2",
        "s + 1 = 'a1'",
        "t + t = t",
        "t + 5 > t",
        "t * 2 > t",
        "u % 2 > u",
        "2 / u > u",
        "2 - u > u",
        "u - t > u",
        "-s = 'a'",
        "-b = b",
        "-t = t",
        "b + b = 1",
        "abs(s) = 1",
        "length(i) = 1",
        "year(u) = 1",
        "(if b then s else t) > 1",
    ],
)
def test_wrong_kinds(text: str) -> None:
    error = refused(text)
    assert error.code == "wrong-kind"
    assert error.place is not None
    assert error.place.line == 1
    assert "^" in (error.excerpt or "")


@pytest.mark.parametrize(
    "text",
    [
        "i = 1.5",
        "f = 1",
        "i < f",
        "s < 'b'",
        "b = true",
        "b != (i > 3)",
        "t - t > u",
        "t + u > t",
        "u + t > t",
        "t - u > t",
        "u * 2 > u",
        "1.5 * u > u",
        "u / 2 > u",
        "u / u > 2",
        "-u < u",
        "d = d",
        "y != bytes('aGk=')",
        "p = point(1.0, 2.0)",
        "tags = tags",
        "tags contains 'a'",
        "s + s = 'aa'",
        "coalesce(f, 0) > 1",
        "(if b = true then i else f) > 1",
        "event.time > t",
        "length(s) + i > 3",
    ],
)
def test_fitting_kinds(text: str) -> None:
    assert bound(text) == text


def test_wrong_kinds_in_a_constraint_class_name_the_attribute() -> None:
    error = refused("p in rectangle('a', 0, 1, 1)")
    assert error.code == "wrong-kind"
    assert error.place is not None
    assert error.place.path == "p.x"


def test_a_hint_for_quoted_times() -> None:
    assert refused("t > '2026-01-01'").hint == "write a time without quotes"


# Units


@pytest.mark.parametrize(
    ("text", "converted"),
    [
        ("celsius > 86 degF", "celsius > 30"),
        ("celsius = 303.15 K", "celsius = 30.0"),
        ("fahrenheit > 30 degC", "fahrenheit > 86"),
        ("fahrenheit > 30°C", "fahrenheit > 86"),
        ("86 degF < celsius", "30 < celsius"),
        ("celsius between 32 degF and 212 degF", "celsius between 0 and 100"),
        ("celsius in (50 degF, 20)", "celsius in (10, 20)"),
        ("celsius > 20", "celsius > 20"),
        ("celsius + 9 degF > 30 degC", "celsius + 5 > 30"),
        ("celsius - 9 degF > 30 degC", "celsius - 5 > 30"),
        ("celsius - celsius > 9 degF", "celsius - celsius > 5"),
        ("celsius - celsius > 9 delta_degF", "celsius - celsius > 5"),
        ("fahrenheit - fahrenheit > 5 degC", "fahrenheit - fahrenheit > 9"),
        ("km > 5 mile", "km > 8.04672"),
        ("km > 5000 m", "km > 5"),
        ("km < 0.1 m", "km < 0.0001"),
        ("m < 1.5 km", "m < 1500.0"),
        ("speed > 10 m/s", "speed > 36"),
        ("speed > 36 km/h", "speed > 36"),
        ("km / seconds > 10 m/s", "km / seconds > 0.01"),
        ("km * km > 5 km^2", "km * km > 5"),
        ("km * 2 > 500 m", "km * 2 > 0.5"),
        ("abs(km) > 500 m", "abs(km) > 0.5"),
        ("km > m", "km > m / 1000.0"),
        ("m > km", "m > km * 1000.0"),
        ("celsius > fahrenheit", "celsius > (fahrenheit - 32.0) * 5.0 / 9.0"),
        ("fahrenheit > celsius", "fahrenheit > celsius * 9.0 / 5.0 + 32.0"),
        ("seconds > 5 min", "seconds > 300"),
        ("u > 5 min", "u > duration('PT5M')"),
        ("t + 1.5 h > t", "t + duration('PT1H30M') > t"),
        ("5 km > 3000 m", "5 > 3"),
        ("value(km, 'm') > 5", "km * 1000.0 > 5"),
        ("quantity(i, 'km') > 5000 m", "i > 5"),
        ("coalesce(km, 2) > 500 m", "coalesce(km, 2) > 0.5"),
        ("(if b then km else m) > 500 m", "(if b = true then km else m / 1000.0) > 0.5"),
    ],
)
def test_constants_take_the_unit_that_they_meet(text: str, converted: str) -> None:
    assert bound(text) == converted


def test_whole_degrees_convert_without_rounding() -> None:
    same = bind_text("celsius = fahrenheit and fahrenheit = celsius", SCOPE)
    for degrees in range(-400, 400, 5):
        assert holds(same, event(fahrenheit=float(degrees * 9 // 5 + 32), celsius=float(degrees)))


@pytest.mark.parametrize(
    "text",
    [
        "km > 5 kg",
        "km > 5 degC",
        "km > seconds",
        "km + seconds > 5",
        "speed > 5 km",
        "km > i",
        "i > 5 km",
        "i + km > 5",
        "u > 5 km",
        "km > 5 min",
        "seconds > u",
        "s > 5 km",
        "km between 1 m and 1 s",
        "km in (1 m, 1 kg)",
        "celsius - celsius > 5 km",
        "value(i, 'km') > 1",
        "value(km, 's') > 1",
        "quantity(km, 'km') > 1 km",
        "coalesce(km, seconds) > 1",
        "5 km > 3 s",
    ],
)
def test_incompatible_units(text: str) -> None:
    assert refused(text).code == "incompatible-units"


def test_a_duration_out_of_range() -> None:
    assert refused("u > 1000000 year").code == "duration-out-of-range"


# Open scopes


def test_open_attributes_keep_the_unit_that_they_met_first() -> None:
    scope = Scope()
    assert bound("x > 5 km", scope) == "x > 5"
    assert refused("x < 3 mile", scope).code == "ambiguous-unit"
    assert refused("x < 3", scope).code == "ambiguous-unit"
    assert bound("x < 3 km and y < 3", scope) == "x < 3 and y < 3"


def test_open_units_are_converted_for_relations() -> None:
    scope = Scope(convert_open_units=True)
    assert bound("x > 5 km and x < 500 m", scope) == "x > 5 and x < 0.5"
    assert refused("x < 3", scope).code == "ambiguous-unit"
    assert refused("x < 3 kg", scope).code == "incompatible-units"


def test_open_attributes_are_texts_or_times_but_not_both() -> None:
    assert refused("x = 'a' and x > 2026-01-01", Scope()).code == "ambiguous-kind"
    assert refused("x > 5 min or x like 'a%'", Scope()).code == "ambiguous-kind"
    assert bound("x = 'a' or x > 5", Scope()) == "x = 'a' or x > 5"


def test_open_attributes_take_any_kind() -> None:
    assert bound("x = 1 or x = 'a' or x = true or exists x.y", Scope()) == "x = 1 or x = 'a' or x = true or exists x.y"
    assert refused("event.tyme = 1", Scope()).code == "unknown-attribute"
    assert refused("'a' > 1", Scope()).code == "wrong-kind"


# Value expressions


def test_bind_tells_kind_and_unit() -> None:
    assert bind(parse("km + m"), SCOPE).unit == "km"
    assert bind(parse("i + 1"), SCOPE).kinds == {Kind.INT}
    assert bind(parse("i / 2"), SCOPE).kinds == {Kind.FLOAT}
    assert bind(parse("t - t"), SCOPE).kinds == {Kind.DURATION}
    assert bind(parse("celsius - celsius"), SCOPE).unit == "delta_degC"
    assert bind(parse("i > 1"), SCOPE).kinds == {Kind.BOOL}
    assert bind(parse("km / km"), SCOPE).unit is None


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("celsius", of(Kind.FLOAT, "degF"), 86.0),
        ("86 degF", of(Kind.FLOAT, "degC"), 30.0),
        ("i", of(Kind.FLOAT), 7.0),
        ("km", of(Kind.FLOAT, "m"), 2500.0),
        ("s + '!'", of(Kind.STRING), "a!"),
        ("value(km, 'm')", of(Kind.FLOAT), 2500.0),
        ("quantity(i, 'km')", of(Kind.FLOAT, "m"), 7000.0),
        ("i > 3", of(Kind.BOOL), True),
    ],
)
def test_bind_for_gives_the_kind_and_unit_of_the_target(text: str, target: AttributeType, expected: object) -> None:
    value = evaluate(bind_for(parse(text), SCOPE, target), event(celsius=30.0, i=7, km=2.5, s="a"))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "target", "code"),
    [
        ("s", of(Kind.INT), "wrong-kind"),
        ("f", of(Kind.INT), "wrong-kind"),
        ("km", of(Kind.FLOAT), "incompatible-units"),
        ("i", of(Kind.FLOAT, "km"), "incompatible-units"),
        ("km", of(Kind.FLOAT, "s"), "incompatible-units"),
    ],
)
def test_bind_for_refuses_what_does_not_fit(text: str, target: AttributeType, code: str) -> None:
    with pytest.raises(Misuse) as caught:
        bind_for(parse(text), SCOPE, target)
    assert caught.value.code == code


def test_bind_filter_takes_a_lone_attribute_as_a_flag() -> None:
    assert render(bind_filter(Attribute(("b",)), SCOPE)) == "b = true"
    assert bind_filter(parse("true"), SCOPE) == Literal(True)
    with pytest.raises(AssertionError):
        bind(object(), SCOPE)  # type: ignore[arg-type]
