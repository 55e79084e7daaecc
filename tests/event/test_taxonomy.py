"""Reading taxonomies: what they give, and every fault at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.document import parse_document
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event import EVENT, AttributeType, EventType, Kind, Taxonomy
from comity.event.taxonomy import MAX_INHERITANCE

HOUSE = """\
namespace: house_a
types:
  Fire:
    extends: Alarm
    description: Something burns.
    attributes:
      temperature: {kind: float, unit: degC, optional: true, concept: Temperature}
      position: point
      device: {kind: struct, attributes: {serial: string, firmware: string?}}
      tags: {kind: list, of: string}
      heat: float degC
      flow: float m / s?
  Alarm:
    abstract: true
    attributes:
      room: string
  Smoke: {extends: house_a.Fire}
  Door:
"""


def house() -> Taxonomy:
    return Taxonomy.from_document(parse_document(HOUSE, file="house.yaml"))


def faults_of(text: str, **options: object) -> list[tuple[str, str]]:
    """Code and place of each fault."""
    return [(one.code, str(one.place)) for one in errors_of(text, **options)]


def errors_of(text: str, **options: object) -> list[ComityError]:
    with pytest.raises(Faults) as caught:
        Taxonomy.from_document(parse_document(text, file="t.yaml"), **options)  # type: ignore[arg-type]
    return caught.value.errors


def test_read_gives_types_in_order(tmp_path: Path) -> None:
    path = tmp_path / "house.yaml"
    path.write_text(HOUSE)
    taxonomy = Taxonomy.read(path)
    assert taxonomy.namespace == "house_a"
    assert [one.name for one in taxonomy.types] == ["Fire", "Alarm", "Smoke", "Door"]


def test_attributes_short_and_full() -> None:
    fire = house().type("Fire")
    string = AttributeType(Kind.STRING)
    device = {"serial": string, "firmware": AttributeType(Kind.STRING, optional=True)}
    assert fire.attributes == {
        "room": string,
        "temperature": AttributeType(Kind.FLOAT, optional=True, unit="degC", concept="Temperature"),
        "position": AttributeType(Kind.POINT),
        "device": AttributeType(Kind.STRUCT, attributes=device),
        "tags": AttributeType(Kind.LIST, element=string),
        "heat": AttributeType(Kind.FLOAT, unit="degC"),
        "flow": AttributeType(Kind.FLOAT, optional=True, unit="m / s"),
    }
    assert fire.description == "Something burns."


def test_type_by_simple_and_qualified_name() -> None:
    taxonomy = house()
    assert taxonomy.type("Smoke") is taxonomy.type("house_a.Smoke")
    assert taxonomy.type("Event") is EVENT
    assert taxonomy.find("Nothing") is None
    assert taxonomy.type("Alarm").abstract
    with pytest.raises(Misuse) as caught:
        taxonomy.type("Smok")
    assert (caught.value.code, caught.value.hint) == ("unknown-type", "did you mean `Smoke`?")


def test_subtypes_are_in_pre_order() -> None:
    taxonomy = house()
    assert [one.name for one in taxonomy.subtypes("Alarm")] == ["Alarm", "Fire", "Smoke"]
    assert [one.name for one in taxonomy.subtypes("Event")] == ["Event", "Alarm", "Fire", "Smoke", "Door"]
    assert [one.name for one in taxonomy.subtypes("house_a.Door")] == ["Door"]


def test_is_a() -> None:
    taxonomy = house()
    assert taxonomy.is_a("Smoke", "Alarm")
    assert taxonomy.is_a("Smoke", "house_a.Smoke")
    assert taxonomy.is_a("Door", "Event")
    assert not taxonomy.is_a("Alarm", "Smoke")
    with pytest.raises(Misuse):
        taxonomy.is_a("Smoke", "Nothing")


def test_namespace_from_domain_and_other_keys() -> None:
    document = parse_document("domain: d\nsources: []\ntypes: {A: {}}\n")
    assert Taxonomy.from_document(document, ignore={"sources"}).type("A").qualified_name == "d.A"
    assert Taxonomy.from_document(parse_document("namespace: d\ndomain: d")).types == ()


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("types: {}", [("missing-key", "t.yaml:1:1")]),
        ("", [("missing-key", "t.yaml:1:1")]),
        ("- a", [("bad-value", "t.yaml:1:1"), ("missing-key", "t.yaml:1:1")]),
        ("namespace: a\ndomain: b", [("bad-value", "t.yaml:1:12")]),
        ("namespace: a.b", [("bad-name", "t.yaml:1:12")]),
        ("namespace:\ntypes: {}", [("bad-value", "t.yaml:1:11")]),
        ("namespace: 5", [("bad-value", "t.yaml:1:12")]),
        ("namespace: a\ntyps: {}", [("unknown-key", "t.yaml:2:1")]),
        ("namespace: a\ntypes: [x]", [("bad-value", "t.yaml:2:8")]),
    ],
)
def test_top_level_faults(text: str, faults: list[tuple[str, str]]) -> None:
    assert faults_of(text) == faults


@pytest.mark.parametrize(
    ("types", "faults"),
    [
        ("  A: {extends: A}", [("cyclic-inheritance", "t.yaml:3:16")]),
        ("  A: {extends: B}\n  B: {extends: A}", [("cyclic-inheritance", "t.yaml:3:16")]),
        ("  C: {extends: A}\n  A: {extends: B}\n  B: {extends: A}", [("cyclic-inheritance", "t.yaml:4:16")]),
        ("  A: {extends: Evnt}", [("unknown-type", "t.yaml:3:16")]),
        ("  A: {extends: 5}", [("bad-value", "t.yaml:3:16")]),
        ("  A: {extend: Event}", [("unknown-key", "t.yaml:3:7")]),
        ("  A: text", [("bad-value", "t.yaml:3:6")]),
        ("  A: {abstract: maybe}", [("bad-value", "t.yaml:3:17")]),
        ("  Event: {}", [("reserved-name", "t.yaml:3:3")]),
        ("  2A: {}", [("bad-name", "t.yaml:3:3")]),
        ("  a-b: {}", [("bad-name", "t.yaml:3:3")]),
        ("  Å: {}", [("bad-name", "t.yaml:3:3")]),
    ],
)
def test_type_faults(types: str, faults: list[tuple[str, str]]) -> None:
    assert faults_of(f"namespace: n\ntypes:\n{types}\n") == faults


@pytest.mark.parametrize(
    ("attribute", "code", "column"),
    [
        ("a: flaot", "unknown-kind", 10),
        ("a: ''", "unknown-kind", 10),
        ("a: {kind: flaot}", "unknown-kind", 17),
        ("a: {unit: m}", "missing-key", 10),
        ("a: {kind: 5}", "bad-value", 17),
        ("a:", "bad-value", 7),
        ("a: 5", "bad-value", 7),
        ("a: [int]", "bad-value", 7),
        ("a: string degC", "unit-on-non-number", 17),
        ("a: {kind: timestamp, unit: s}", "unit-on-non-number", 34),
        ("a: float ? m", "bad-value", 10),
        ("a: struct", "missing-key", 10),
        ("a: list?", "missing-key", 10),
        ("a: {kind: struct}", "missing-key", 10),
        ("a: {kind: struct, attributes: {}}", "missing-key", 10),
        ("a: {kind: list}", "missing-key", 10),
        ("a: {kind: list, of: string?}", "bad-value", 27),
        ("a: {kind: list, of: strng}", "unknown-kind", 27),
        ("a: {kind: int, of: string}", "unknown-key", 22),
        ("a: {kind: int, attributes: {b: int}}", "unknown-key", 22),
        ("a: {kind: int, optinal: true}", "unknown-key", 22),
        ("a: {kind: int, optional: 'yes'}", "bad-value", 32),
        ("a: {kind: struct, attributes: {1b: int}}", "bad-name", 38),
        ("9a: int", "bad-name", 7),
        ("a.b: int", "bad-name", 7),
        ("event: int", "reserved-name", 7),
    ],
)
def test_attribute_faults(attribute: str, code: str, column: int) -> None:
    text = f"namespace: n\ntypes:\n  A:\n    attributes:\n      {attribute}\n"
    assert faults_of(text) == [(code, f"t.yaml:5:{column}")]


def test_unknown_kind_has_a_hint() -> None:
    text = "namespace: n\ntypes: {A: {attributes: {a: flaot, b: zzz}}}"
    near, far = errors_of(text)
    assert near.hint == "did you mean `float`?"
    assert far.hint is not None
    assert far.hint.startswith("kinds are bool")


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
namespace: n
types:
  A:
    extends: B
    attributes: {x: nothing}
  B:
    extends: A
  C:
    extends: D
    attributes:
      event: int
      y: bool m
"""
    assert [code for code, _ in faults_of(text)] == [
        "cyclic-inheritance",
        "unknown-kind",
        "unknown-type",
        "reserved-name",
        "unit-on-non-number",
    ]


def test_inherited_attribute_may_be_repeated_but_not_changed() -> None:
    text = "namespace: n\ntypes:\n  B: {{extends: A, attributes: {{x: {0}}}}}\n  A: {{attributes: {{x: float m}}}}\n"
    same = Taxonomy.from_document(parse_document(text.format("float m")))
    assert same.type("B").attributes == {"x": AttributeType(Kind.FLOAT, unit="m")}
    for other in ("int", "float", "float km", "float m?"):
        assert faults_of(text.format(other)) == [("attribute-redefined", "t.yaml:3:32")]


def test_duplicate_type_is_refused_by_the_document() -> None:
    with pytest.raises(Misuse) as caught:
        parse_document("namespace: n\ntypes:\n  A: {}\n  A: {}\n", file="t.yaml")
    assert (caught.value.code, str(caught.value.place)) == ("duplicate-key", "t.yaml:4:3")


def test_long_chains_are_bounded() -> None:
    def chain(length: int) -> str:
        rest = "".join(f"  T{n}: {{extends: T{n - 1}}}\n" for n in range(1, length))
        return "namespace: n\ntypes:\n  T0: {}\n" + rest

    assert len(Taxonomy.from_document(parse_document(chain(MAX_INHERITANCE))).types) == MAX_INHERITANCE
    assert ("too-deep", f"t.yaml:{MAX_INHERITANCE + 3}:18") in faults_of(chain(MAX_INHERITANCE + 1))
    assert faults_of(chain(5000))
    circle = chain(500).replace("T0: {}", "T0: {extends: T499}")
    assert faults_of(circle)


def test_check_unit_is_asked_and_its_errors_are_located() -> None:
    asked = []

    def check(unit: str) -> None:
        asked.append(unit)
        if unit.startswith("bad"):
            raise Misuse(f"unknown unit `{unit}`", code="unknown-unit", place=Place(line=1, column=4))

    lines = ("a: float badunit", "b: {kind: int, unit: 'badly'}", "c: int m")
    text = "namespace: n\ntypes:\n  A:\n    attributes:\n" + "".join(f"      {line}\n" for line in lines)
    assert faults_of(text, check_unit=check) == [("unknown-unit", "t.yaml:5:19"), ("unknown-unit", "t.yaml:6:32")]
    assert asked == ["badunit", "badly", "m"]


def test_taxonomy_in_python_refuses_doubles_and_strangers() -> None:
    with pytest.raises(Misuse, match="two types"):
        Taxonomy("n", [EventType("A", "n"), EventType("A", "n")])
    with pytest.raises(Misuse, match="not of"):
        Taxonomy("n", [EventType("A", "m")])
    assert Taxonomy("n").types == ()
