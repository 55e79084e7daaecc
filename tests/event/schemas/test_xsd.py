"""XML Schema as the seeds and as real schemas write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.errors import Faults, Misuse
from comity.event import Kind
from comity.event.schemas.draft import Imported
from comity.event.schemas.formats import read_types
from comity.event.schemas.xsd.read import read_xsd

FIGURE_5_1 = """<complexType name="BaseEventType">
  <element name="id" type="xsd:long"/>
  <element name="src" type="xsd:string"/>
  <element name="ts" type="xsd:timeInstant"/>
</complexType>
<complexType name="GPSEventType">
  <complexContent>
    <extension base="BaseEventType">
      <element name="longitude" type="xsd:long"/>
      <element name="latitude" type="xsd:long"/>
    </extension>
  </complexContent>
</complexType>
"""
FIGURE_5_13 = """<complexType name="Bus Location">
  <sequence>
    <element name="Line" type="xsd:string"/>
    <element name="Time" type="xsd:time"/>
    <complexType name="Location">
      <sequence><element name="Street" type="xsd:string"/><element name="City" type="xsd:string"/></sequence>
    </complexType>
  </sequence>
</complexType>
"""
FIGURE_6_5 = """<complexType name="ringEvent"> <extension base="baseEvent"/> </complexType>
<complexType name="enterEvent">
  <extension base="baseEvent">
    <sequence><element name="room" type="xsd:string"/><element name="person" type="xsd:string"/></sequence>
  </extension>
</complexType>
"""
HEAD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="http://x.org/city/buses"\n'
    ' xmlns:c="urn:comity:event" targetNamespace="http://x.org/city/buses">\n'
)


def shape(found: Imported) -> dict[str, dict[str, str]]:
    return {one.name: {name: str(each) for name, each in one.attributes.items()} for one in found.taxonomy.types}


def notes(found: Imported) -> list[str]:
    return [str(one) for one in found.notes]


def real(body: str) -> Imported:
    return read_xsd(f"{HEAD}{body}</xs:schema>", "a.xsd")


def test_base_event_of_the_seeds() -> None:
    found = read_xsd(FIGURE_5_1, "gps.xsd")
    assert shape(found) == {"GPSEventType": {"longitude": "int", "latitude": "int"}}
    assert found.taxonomy.namespace == "gps"
    assert notes(found)[2] == "gps.xsd:4 (BaseEventType.ts): is `event.time`, which every event has"


def test_names_with_spaces_and_a_struct_inside() -> None:
    found = read_xsd(FIGURE_5_13, "bus.xsd", domain="city")
    assert shape(found) == {"Bus_Location": {"Line": "string", "Time": "string", "Location": "struct"}}
    assert list(found.taxonomy.types[0].attributes["Location"].attributes) == ["Street", "City"]
    assert notes(found) == [
        "bus.xsd:1 (Bus_Location): `Bus Location` becomes `Bus_Location`",
        "bus.xsd:4 (Bus_Location.Time): there is no kind for a `time`, so it is a text",
    ]


def test_extension_without_content_around_it_and_a_base_that_is_not_there() -> None:
    assert shape(read_xsd(FIGURE_6_5, "a.xsd")) == {
        "ringEvent": {},
        "enterEvent": {"room": "string", "person": "string"},
    }


def test_occurrences_and_marks() -> None:
    found = real("""<xs:complexType name="T"><xs:sequence>
      <xs:element name="a" type="xs:double" minOccurs="0" c:unit="degC" c:concept="Temperature"/>
      <xs:element name="b" type="xs:int" maxOccurs="unbounded"/>
      <xs:element name="c" type="xs:string" nillable="true" minOccurs="0" maxOccurs="3"/>
      <xs:element name="d" type="xs:decimal"><xs:annotation><xs:documentation>How much.</xs:documentation>
        <xs:appinfo><unit>USD</unit></xs:appinfo></xs:annotation></xs:element>
    </xs:sequence></xs:complexType>""")
    assert shape(found) == {"T": {"a": "float degC?", "b": "list of int", "c": "list of string?", "d": "float USD"}}
    assert found.taxonomy.types[0].attributes["a"].concept == "Temperature"
    assert found.descriptions == {("T", "d"): "How much."}
    assert [one.message for one in found.notes] == [
        "the namespace `http://x.org/city/buses` becomes `buses`",
        "that there are 0 to 3 is not kept",
        "a `decimal` is a float, with some 15 digits",
    ]


def test_what_real_schemas_have() -> None:
    found = real("""<xs:import namespace="http://other.org" schemaLocation="http://other.org/a.xsd"/>
    <xs:simpleType name="Level"><xs:restriction base="xs:string">
      <xs:enumeration value="low"/><xs:enumeration value="high"/></xs:restriction></xs:simpleType>
    <xs:complexType name="Address"><xs:sequence><xs:element name="street" type="xs:string"/>
      </xs:sequence></xs:complexType>
    <xs:attributeGroup name="common"><xs:attribute name="lang" type="xs:language"/></xs:attributeGroup>
    <xs:element name="note" type="xs:string"/>
    <xs:element name="alarm"><xs:complexType><xs:sequence>
      <xs:element name="level" type="t:Level" default="low"/>
      <xs:element name="home" type="t:Address"/>
      <xs:element ref="t:note" minOccurs="0"/>
      <xs:choice><xs:element name="x" type="xs:int"/><xs:element name="y" type="xs:int"/></xs:choice>
      <xs:element name="price"><xs:complexType><xs:simpleContent><xs:extension base="xs:double">
        <xs:attribute name="currency" type="xs:string" use="required"/></xs:extension></xs:simpleContent>
          </xs:complexType>
      </xs:element>
      <xs:any/>
      </xs:sequence><xs:attribute name="serial" type="xs:string" use="required"/><xs:attributeGroup ref="t:common"/>
    </xs:complexType></xs:element>
    <xs:complexType name="FireType"><xs:complexContent><xs:extension base="t:Base"/>
      </xs:complexContent></xs:complexType>
    <xs:complexType name="Base" abstract="true"><xs:sequence/></xs:complexType>
    <xs:element name="fire" type="t:FireType"/>""")
    assert shape(found)["alarm"] == {
        "level": "string",
        "home": "struct",
        "note": "string?",
        "x": "int?",
        "y": "int?",
        "price": "struct",
        "serial": "string",
        "lang": "string?",
    }
    types = {one.name: one for one in found.taxonomy.types}
    assert types.keys() == {"alarm", "FireType", "Base", "fire"}
    assert types["fire"].lineage == ("buses.fire", "buses.FireType", "buses.Base", "Event")
    price = types["alarm"].attributes["price"].attributes
    assert {name: one.kind for name, one in price.items()} == {"value": Kind.FLOAT, "currency": Kind.STRING}
    told = "\n".join(notes(found))
    for expected in (
        "<import> http://other.org/a.xsd is not followed",
        "(alarm.level): `enumeration` is not kept: low, high",
        "(alarm.level): `default` is not kept",
        "(alarm): one of several is not kept: each of them is optional",
        "(alarm): <any> is not kept",
    ):
        assert expected in told


def test_what_holds_itself_is_left_out() -> None:
    found = real("""<xs:complexType name="T"><xs:sequence><xs:element name="n" type="t:Node"/>
      </xs:sequence></xs:complexType>
    <xs:complexType name="Node"><xs:sequence><xs:element name="v" type="xs:int"/>
      <xs:element name="next" type="t:Node" minOccurs="0"/></xs:sequence></xs:complexType>
    <xs:simpleType name="S"><xs:restriction base="t:S"/></xs:simpleType>
    <xs:complexType name="U"><xs:sequence><xs:element name="s" type="t:S"/></xs:sequence></xs:complexType>""")
    assert list(found.taxonomy.type("T").attributes["n"].attributes) == ["v"]
    assert sum("holds itself" in note for note in notes(found)) == 1


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        (
            '<xs:complexType name="T"><xs:sequence><xs:element name="a b" type="xs:int"/>\n'
            '<xs:element name="a-b" type="xs:int"/></xs:sequence></xs:complexType>',
            "name-conflict",
            4,
        ),
        ('<xs:complexType name="T"/>\n<xs:complexType name="T"/>', "duplicate-type", 4),
        ('<xs:complexType name="T U"/>\n<xs:complexType name="T_U"/>', "duplicate-type", 4),
        (
            '<xs:complexType name="T"><xs:sequence><xs:element name="a" type="xs:int"/></xs:sequence>'
            "</xs:complexType>\n"
            '<xs:complexType name="U"><xs:complexContent><xs:extension base="t:T">\n'
            '<xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence></xs:extension>'
            "</xs:complexContent></xs:complexType>",
            "attribute-redefined",
            5,
        ),
        (
            '<xs:complexType name="T"><xs:complexContent><xs:extension base="t:U"/>'
            "</xs:complexContent></xs:complexType>\n"
            '<xs:complexType name="U"><xs:complexContent><xs:extension base="t:T"/>'
            "</xs:complexContent></xs:complexType>",
            "cyclic-inheritance",
            4,
        ),
        (
            '<xs:complexType name="T"><xs:complexContent><xs:extension base="t:Nope"/>'
            "</xs:complexContent></xs:complexType>",
            "unknown-type",
            3,
        ),
    ],
)
def test_conflicts_are_refused_with_their_place(body: str, code: str, line: int) -> None:
    with pytest.raises(Faults) as caught:
        real(body)
    (error,) = caught.value.errors
    assert error.place is not None
    assert (error.code, error.place.file, error.place.line) == (code, "a.xsd", line)


def test_entities_and_the_network_are_off(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    for kind in (f'<!ENTITY e SYSTEM "{secret.as_uri()}">', f'<!ENTITY e0 "ha">{laughs}<!ENTITY e "&e11;">'):
        with pytest.raises(Misuse) as caught:
            read_xsd(f'<!DOCTYPE s [{kind}]><schema><complexType name="T"><a>&e;</a></complexType></schema>', "a.xsd")
        assert caught.value.code in ("has-doctype", "bad-xml")  # the parser itself refuses what grows too much


def test_broken_text_is_told_with_its_line() -> None:
    with pytest.raises(Misuse) as caught:
        read_xsd('<complexType name="T">\n<extension base="baseEvent"/>\n</extension></complexType>', "a.xsd")
    assert str(caught.value.place) == "a.xsd:3:13"
    assert caught.value.code == "bad-xml"


SCHEMA = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:c="urn:common" {}>{}</xs:schema>'


def complex_type(name: str, elements: str, base: str = "") -> str:
    inside = f"<xs:sequence>{elements}</xs:sequence>"
    if base:
        inside = f'<xs:complexContent><xs:extension base="{base}">{inside}</xs:extension></xs:complexContent>'
    return f'<xs:complexType name="{name}">{inside}</xs:complexType>\n'


def test_includes_and_imports_of_files_are_followed(tmp_path: Path) -> None:
    (tmp_path / "common files").mkdir()
    fire = complex_type("Fire", '<xs:element name="by" type="Device"/>', "c:Base")
    head = (
        '<xs:include schemaLocation="devices.xsd"/>\n'
        '<xs:import namespace="urn:common" schemaLocation="common%20files/base.xsd"/>\n'
    )
    (tmp_path / "house.xsd").write_text(SCHEMA.format('targetNamespace="urn:house"', head + fire))
    device = complex_type("Device", '<xs:element name="serial" type="xs:date"/>')
    back = '<xs:include schemaLocation="house.xsd"/>\n'
    (tmp_path / "devices.xsd").write_text(SCHEMA.format("", back + device + complex_type("Leak", "")))
    base = complex_type("Base", '<xs:element name="place" type="xs:string"/>')
    unused = complex_type("Unused", "")
    (tmp_path / "common files" / "base.xsd").write_text(SCHEMA.format('targetNamespace="urn:common"', base + unused))
    found = read_types(tmp_path / "house.xsd", domain="house")
    types = {one.name: one for one in found.taxonomy.types}
    assert types.keys() == {"Fire", "Leak", "Base"}
    assert types["Fire"].parent is types["Base"]
    assert set(types["Fire"].attributes) == {"place", "by"}
    (note,) = (one for one in found.notes if "date" in one.message)
    assert (note.place.file, note.place.line) == (str(tmp_path / "devices.xsd"), 2)


def test_what_cannot_be_followed_is_noted(tmp_path: Path) -> None:
    (tmp_path / "broken.xsd").write_text("<xs:schema")
    (tmp_path / "wild.xsd").write_text('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    for location in ("http://localhost:1/a.xsd", "none.xsd", "broken.xsd", "wild.xsd", ""):
        link = f'<xs:import namespace="urn:common" schemaLocation="{location}"/>\n'
        fire = complex_type("Fire", '<xs:element name="heat" type="xs:double"/>', "c:Base")
        (tmp_path / "a.xsd").write_text(SCHEMA.format("", link + fire))
        found = read_types(tmp_path / "a.xsd")
        assert [one.name for one in found.taxonomy.types] == ["Fire"]
        assert any("not followed" in one.message for one in found.notes), location
        assert any("`c:Base`" in one.message for one in found.notes), location


def test_one_name_in_two_namespaces(tmp_path: Path) -> None:
    link = '<xs:import namespace="urn:common" schemaLocation="base.xsd"/>\n'
    fire = complex_type("Fire", '<xs:element name="heat" type="xs:double"/>')
    (tmp_path / "a.xsd").write_text(SCHEMA.format('targetNamespace="urn:a"', link + fire))
    (tmp_path / "base.xsd").write_text(SCHEMA.format('targetNamespace="urn:common"', complex_type("Fire", "")))
    found = read_types(tmp_path / "a.xsd")
    assert [one.attributes.keys() for one in found.taxonomy.types] == [{"heat"}]
    assert any("there are two `Fire`" in one.message for one in found.notes)
