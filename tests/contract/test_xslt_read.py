"""Stylesheets as mappings: the examples of the seeds, what is understood of them, and what they may not do."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.mapping import Mapping, read_mapping
from comity.contract.xslt import Stylesheet, examine_stylesheet, read_stylesheet, to_xslt
from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.extensions import ExtensionFunction
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import Extension

TEXT, OPTIONAL = AttributeType(Kind.STRING), AttributeType(Kind.STRING, optional=True)
BUS_LOCATION = EventType(
    "Bus_Location",
    "city",
    own={
        "Line": TEXT,
        "Time": TEXT,
        "Location": AttributeType(Kind.STRUCT, attributes={"Street": TEXT, "City": TEXT, "Country": OPTIONAL}),
    },
)
BUS_POSITION = EventType("Bus_Position", "bus", own={"BusLine": TEXT, "Time": TEXT, "LocationName": TEXT})
FIGURE_5_15 = """
<xsl:template match="Bus_Location">
  <Bus_Position>
    <BusLine><xsl:value-of select="Line"/></BusLine>
    <Time><xsl:value-of select="extend:time_conv(Time)"/></Time>
    <LocationName><xsl:value-of select="Location/Street"/> <xsl:text>, </xsl:text>
    <xsl:value-of select="Location/City"/></LocationName>
  </Bus_Position>
</xsl:template>
"""
FIGURE_6_6 = """
<xsl:template match="fireEvent">
  <Event type="neighborFireEvent">
    <xsl:value-of select="street"/><xsl:text>, </xsl:text><xsl:value-of select="city"/>
  </Event>
</xsl:template>
"""
FIRE = EventType("fireEvent", "street", own={"street": TEXT, "city": TEXT})
NEIGHBOR = EventType("neighborFireEvent", "house", own={"house": TEXT})


def clock(text: str) -> str:
    hour, minute = text.split(":")[:2]
    return f"{(int(hour) + 11) % 12 + 1}:{minute} {'pm' if int(hour) >= 12 else 'am'}"


FUNCTIONS = {"time_conv": ExtensionFunction("time_conv", (frozenset({Kind.STRING}),), Kind.STRING, clock, "test")}
BUS = Event(
    "1",
    "city",
    "city.Bus_Location",
    datetime(2026, 1, 1, tzinfo=UTC),
    {"Line": "7788", "Time": "13:27:00", "Location": {"Street": "Main Street", "City": "London", "Country": "UK"}},
)


def made(mapping: Mapping, event: Event) -> dict[str, Any]:
    found = mapping.apply(event)
    assert isinstance(found, Event), found
    assert found.identity == event.identity
    return found.data


@pytest.mark.parametrize("simple", [True, False])
def test_figure_5_15_translates_its_event(simple: bool) -> None:
    read = examine_stylesheet(FIGURE_5_15, BUS_LOCATION, BUS_POSITION, FUNCTIONS, simple=simple)
    assert made(read.mapping, BUS) == {"BusLine": "7788", "Time": "1:27 pm", "LocationName": "Main Street, London"}
    assert list(read.opaque) == ([] if simple else [("BusLine",), ("Time",), ("LocationName",)])


def test_figure_5_15_lets_filters_through() -> None:
    mapping = read_stylesheet(FIGURE_5_15, BUS_LOCATION, BUS_POSITION, FUNCTIONS)
    local = bind_text("LocationName like 'Main Street, %'", Scope(BUS_POSITION, Taxonomy("bus", [BUS_POSITION])))
    translated = simplify(mapping.translate(local), BUS_LOCATION)
    assert holds(translated, BUS)
    assert not holds(translated, BUS.replace(data={**BUS.data, "Location": {"Street": "Elm", "City": "London"}}))
    assert "Location.Street" in render(translated)


@pytest.mark.parametrize("simple", [True, False])
def test_figure_6_6_gives_the_only_attribute_its_text(simple: bool) -> None:
    read = examine_stylesheet(FIGURE_6_6, FIRE, NEIGHBOR, simple=simple)
    fire = Event("1", "s", "street.fireEvent", None, {"street": "South Street", "city": "Bonn"})
    # The processor writes the line breaks before and after as they are in the figure; only spaces are dropped.
    assert made(read.mapping, fire) == {"house": "South Street, Bonn"}


def test_an_opaque_attribute_says_why_and_gives_what_the_stylesheet_gives() -> None:
    text = """<xsl:stylesheet version="2.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
      <xsl:template match="/Bus_Location"><Bus_Position>
        <BusLine><xsl:value-of select="Line"/></BusLine>
        <Time><xsl:choose><xsl:when test="Line &gt; 7000">late</xsl:when><xsl:otherwise>on time</xsl:otherwise>
        </xsl:choose></Time>
        <LocationName><xsl:value-of select="translate(Location/Street, 'aeiou', '')"/></LocationName>
      </Bus_Position></xsl:template></xsl:stylesheet>"""
    read = examine_stylesheet(text, BUS_LOCATION, BUS_POSITION)
    assert read.opaque == {
        ("Time",): "<xsl:choose> makes the value",
        ("LocationName",): "translate() is computed by the processor",
    }
    assert made(read.mapping, BUS) == {"BusLine": "7788", "Time": "late", "LocationName": "Mn Strt"}
    assert isinstance(dict(read.mapping.expressions)[("Time",)], Extension)


def test_a_stylesheet_sees_the_envelope_and_decodes_by_the_declared_kind() -> None:
    target = EventType(
        "Out",
        "o",
        own={
            "who": TEXT,
            "when": AttributeType(Kind.TIMESTAMP, optional=True),
            "n": AttributeType(Kind.INT, optional=True),
            "at": AttributeType(Kind.STRUCT, attributes={"town": OPTIONAL}),
        },
    )
    text = """<xsl:template match="Bus_Location"><Out><who><xsl:value-of select="concat(src, '/', id)"/></who>
      <when><xsl:value-of select="ts"/></when><n><xsl:value-of select="Line + 1"/></n>
      <at><town><xsl:value-of select="Location/City"/></town></at></Out></xsl:template>"""
    read = examine_stylesheet(text, BUS_LOCATION, target)
    assert list(read.opaque) == [("n",)]
    expected = {"who": "city/1", "when": BUS.time, "n": 7789, "at": {"town": "London"}}
    assert made(read.mapping, BUS) == expected
    assert made(examine_stylesheet(text, BUS_LOCATION, target, simple=False).mapping, BUS) == expected


def test_a_failing_stylesheet_gives_missing_values() -> None:
    target = EventType("Out", "o", own={"n": OPTIONAL})
    text = '<xsl:template match="*"><Out><n><xsl:value-of select="1 div xs:integer(Line)"/></n></Out></xsl:template>'
    mapping = read_stylesheet(text, BUS_LOCATION, target)
    assert made(mapping, BUS.replace(data={**BUS.data, "Line": "x"})) == {}
    assert made(mapping, BUS.replace(data={**BUS.data, "Line": "0"})) == {}
    assert made(mapping, BUS.replace(data={**BUS.data, "Line": "4"})) == {"n": "0.25"}


def test_a_read_stylesheet_can_be_sent_to_other_processes_and_used_by_threads() -> None:
    mapping = examine_stylesheet(FIGURE_5_15, BUS_LOCATION, BUS_POSITION, FUNCTIONS, simple=False).mapping
    again = pickle.loads(pickle.dumps(mapping))
    assert again == mapping
    buses = [BUS.replace(data={**BUS.data, "Line": str(number)}) for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(again.apply, buses))
    assert [one.data["BusLine"] for one in found if isinstance(one, Event)] == [str(number) for number in range(40)]


def test_a_printed_mapping_reads_back_as_the_same_function() -> None:
    texts = {"BusLine": "Line", "Time": "upper(Time)", "LocationName": "Location.Street + ', ' + Location.City"}
    printed, faults = read_mapping(texts, Scope(BUS_LOCATION, Taxonomy("city", [BUS_LOCATION])), BUS_POSITION)
    assert faults == []
    assert made(read_stylesheet(to_xslt(printed), BUS_LOCATION, BUS_POSITION), BUS) == made(printed, BUS)


SOURCE = EventType(
    "In",
    "i",
    own={"s": OPTIONAL, "m": TEXT, "n": AttributeType(Kind.INT, optional=True), "f": AttributeType(Kind.FLOAT)},
)
TARGET = EventType(
    "Out",
    "o",
    own={"a": OPTIONAL, "b": OPTIONAL, "n": SOURCE.attributes["n"], "x": AttributeType(Kind.FLOAT, optional=True)},
)
PARTS = st.sampled_from(
    [
        '<xsl:value-of select="s"/>',
        '<xsl:value-of select="m"/>',
        '<xsl:value-of select="n"/>',
        '<xsl:value-of select="/In/f"/>',
        "<xsl:value-of select=\"concat(s, '-', upper-case(m))\"/>",
        "<xsl:value-of select=\"s || 'it''s' || string(n)\"/>",
        '<xsl:value-of select="extend:shout(s)"/>',
        '<xsl:value-of select="extend:shout(concat(m, src))"/>',
        "<xsl:text> </xsl:text>",
        " a b ",
        " ",
    ]
)
NUMBERS = st.sampled_from(['<xsl:value-of select="n"/>', '<xsl:value-of select="./n"/>', " 7 ", ""])


def shout(text: str) -> str | None:
    return f"{text}!" if text else None


SHOUT = {"shout": ExtensionFunction("shout", (frozenset({Kind.STRING}),), Kind.STRING, shout, "test")}


@given(st.lists(PARTS, max_size=3), st.lists(PARTS, max_size=2), NUMBERS, NUMBERS, st.data())
def test_what_is_understood_is_what_the_processor_does(
    a: list[str], b: list[str], n: str, x: str, data: st.DataObject
) -> None:
    content = f"<a>{''.join(a)}</a><b>{''.join(b)}</b><n>{n}</n><x>{x}</x>"
    text = f'<xsl:template match="/In"><Out>{content}</Out></xsl:template>'
    read = examine_stylesheet(text, SOURCE, TARGET, SHOUT)
    opaque = examine_stylesheet(text, SOURCE, TARGET, SHOUT, simple=False)
    assert ("a",) not in read.opaque
    for _ in range(3):
        words = st.sampled_from(["", " ", "a", "ß", "x y", "<&>"])
        numbers = {"n": data.draw(st.integers(-3, 3) | st.just(2**63 - 1)), "f": data.draw(st.floats(-1e3, 1e3))}
        values = {"s": data.draw(words), "m": data.draw(words), **numbers}
        left_out = data.draw(st.sets(st.sampled_from(["s", "n"])))
        event = Event("1", "src", "i.In", None, {key: one for key, one in values.items() if key not in left_out})
        assert made(read.mapping, event) == made(opaque.mapping, event)


XSL = 'version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"'


@pytest.mark.parametrize(
    "inside",
    [
        "<xsl:value-of select=\"unparsed-text('{uri}')\"/>",
        "<xsl:copy-of select=\"document('{uri}')\"/>",
        "<xsl:copy-of select=\"fn:doc('{uri}')\" xmlns:fn='http://www.w3.org/2005/xpath-functions'/>",
        "<xsl:copy-of select=\"Q{{http://www.w3.org/2005/xpath-functions}}doc('{uri}')\"/>",
        "<xsl:copy-of select=\"collection('{uri}')\"/>",
        "<xsl:value-of select=\"json-doc('{uri}')\"/>",
        "<xsl:value-of select=\"environment-variable('HOME')\"/>",
        "<xsl:source-document href='{uri}'><xsl:copy-of select='.'/></xsl:source-document>",
        "<xsl:result-document href='{uri}.out'><a/></xsl:result-document>",
        "<xsl:evaluate xpath=\"'1'\"/>",
        "<xsl:value-of select=\"transform(map {{ 'stylesheet-location': '{uri}' }})?output\"/>",
        "<xsl:value-of select=\"function-lookup(xs:QName('fn:doc'), 1)('{uri}')\"/>",
    ],
)
def test_a_stylesheet_cannot_reach_outside_the_event(inside: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<secret/>")
    text = f'<xsl:template match="/*"><Out>{inside.format(uri=secret.as_uri())}</Out></xsl:template>'
    with pytest.raises(Misuse) as raised:
        Stylesheet.of(text).run("<In/>")
    assert raised.value.code in ("stylesheet-not-closed", "bad-stylesheet", "stylesheet-failed")
    assert [one.name for one in tmp_path.iterdir()] == ["secret.xml"]


@pytest.mark.parametrize("kind", ["include", "import"])
def test_a_stylesheet_cannot_include_files(kind: str, tmp_path: Path) -> None:
    other = tmp_path / "other.xsl"
    other.write_text(f'<xsl:stylesheet {XSL}><xsl:template match="*"/></xsl:stylesheet>')
    with pytest.raises(Misuse) as raised:
        Stylesheet.of(f'<xsl:stylesheet {XSL}><xsl:{kind} href="{other.as_uri()}"/></xsl:stylesheet>')
    assert raised.value.code == "stylesheet-not-closed"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>', "has-doctype"),
        ("<a", "bad-xml"),
        ("<a/>", "bad-stylesheet"),
        ('<xsl:template match="*"><b><xsl:value-of select="1 +"/></b></xsl:template>', "bad-stylesheet"),
        ('<xsl:template match="*"><b><xsl:value-of select="extend:nothing(.)"/></b></xsl:template>', "bad-stylesheet"),
    ],
)
def test_a_wrong_stylesheet_is_refused(text: str, code: str) -> None:
    with pytest.raises(Misuse) as raised:
        read_stylesheet(text, SOURCE, TARGET)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("inside", "code"),
    [("<BusLine>1</BusLine>", "unmapped"), ("<a/><BusLine/><Time/><LocationName/>", "unknown-attribute")],
)
def test_a_stylesheet_that_does_not_fit_the_target_is_refused(inside: str, code: str) -> None:
    text = f'<xsl:template match="Bus_Location"><Bus_Position>{inside}</Bus_Position></xsl:template>'
    with pytest.raises(Misuse) as raised:
        read_stylesheet(text, BUS_LOCATION, BUS_POSITION)
    assert raised.value.code == code


def test_recursion_without_end_is_a_failure() -> None:
    text = """<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:f="urn:f">
      <xsl:function name="f:f"><xsl:param name="n"/><xsl:sequence select="1 + f:f($n + 1)"/></xsl:function>
      <xsl:template match="*"><Out><a><xsl:value-of select="f:f(1)"/></a></Out></xsl:template></xsl:stylesheet>"""
    with pytest.raises(Misuse, match="nested function calls"):
        Stylesheet.of(text).run("<In/>")


def test_the_fault_of_a_stylesheet_names_what_it_is_about() -> None:
    text = STYLESHEET_WITH_AN_UNKNOWN_FUNCTION
    with pytest.raises(Misuse, match=r"function named nosuch\(\), in `nosuch\(room\)`"):
        Stylesheet.of(text).run("<Fire><room>x</room></Fire>")


STYLESHEET_WITH_AN_UNKNOWN_FUNCTION = """\
<xsl:stylesheet version="2.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:template match="/Fire"><a><xsl:value-of select="nosuch(room)"/></a></xsl:template>
</xsl:stylesheet>
"""
