import json
from pathlib import Path

import pytest

from comity.event import Taxonomy
from comity.meaning.units import check_unit

GPS = """<complexType name="BaseEventType">
  <element name="id" type="xsd:long"/>
  <element name="src" type="xsd:string"/>
  <element name="ts" type="xsd:timeInstant"/>
</complexType>
<complexType name="GPS Event">
  <complexContent>
    <extension base="BaseEventType">
      <element name="longitude" type="xsd:long"/>
      <element name="time" type="xsd:time"/>
    </extension>
  </complexContent>
</complexType>
"""


def _taxonomy(path):
    return Taxonomy.read(path, ignore=("description", "sources"), check_unit=check_unit)


@pytest.mark.parametrize("form", ["xsd", "json-schema", "avro", "asyncapi"])
def test_export_and_import_give_the_same_types(comity, types, form, tmp_path):
    assert comity("types", "export", types, "--as", form, "--out", "out.txt").code == 0
    result = comity("types", "import", "out.txt", "--out", "back.yaml")
    assert result.code == 0
    assert _taxonomy(tmp_path / "back.yaml").types == _taxonomy(types).types
    assert ("3 types of house, no notes" in result.err) == (form != "asyncapi")
    assert comity("lint", "back.yaml").code == 0


def test_export_to_standard_output(comity, types):
    result = comity("types", "export", types, "--as", "json-schema", "--type", "Fire")
    assert list(json.loads(result.out)["$defs"]) == ["Alarm", "Fire"]


def test_export_of_a_federation(comity, types, write, tmp_path):
    write("city/house.yaml", types.read_text())
    write("city/street.yaml", "domain: street\ntypes: {Passing: {attributes: {cars: int}}}\n")
    result = comity("types", "export", "city", "--as", "xsd")
    assert (result.code, "--domain: house, street" in result.err) == (2, True)
    assert comity("types", "export", "city", "--as", "avro", "--domain", "house").code == 0
    assert comity("types", "export", "city", "--as", "avro", "--domain", "houses").code == 2
    only = comity("types", "export", "city", "--as", "json-schema", "--type", "Passing")
    assert list(json.loads(only.out)["$defs"]) == ["Passing"]
    assert comity("types", "export", "city", "--as", "xsd", "--out", "schemas").code == 0
    assert sorted(path.name for path in (tmp_path / "schemas").iterdir()) == ["house.xsd", "street.xsd"]


RESERVED = """
domain: bank
publish: [Bell, bank.Doorbell]
types:
  Secret: {abstract: true, attributes: {vault: string}}
  Inner: {extends: Secret, attributes: {guard: string}}
  Bell: {extends: Inner, attributes: {door: string}}
  Doorbell: {extends: Bell, attributes: {tone: int}}
  Robbery: {attributes: {loot: int}}
"""


@pytest.mark.parametrize("form", ["xsd", "json-schema", "avro", "asyncapi"])
@pytest.mark.parametrize("folder", ["city", "city/street"])
def test_export_of_a_federation_writes_what_is_published(comity, write, form, folder):
    write("city/federation.yaml", "federation: city\n")
    if folder != "city":
        write(f"{folder}/federation.yaml", "federation: street\n")
    write(f"{folder}/bank.yaml", RESERVED)
    result = comity("types", "export", "city", "--as", form, "--domain", "bank", "--out", "out.txt")
    assert result.code == 0
    written = Path("out.txt").read_text()
    assert not any(name in written for name in ("Secret", "Inner", "Robbery", "loot"))
    assert comity("types", "import", "out.txt", "--out", "back.yaml").code == 0
    types = {one.name: one for one in _taxonomy("back.yaml").types}
    assert {name: list(one.attributes) for name, one in types.items()} == {
        "Bell": ["vault", "guard", "door"],
        "Doorbell": ["vault", "guard", "door", "tone"],
    }
    assert types["Doorbell"].parent == types["Bell"]
    everything = comity("types", "export", "city", "--as", form, "--domain", "bank", "--all")
    assert "Robbery" in everything.out
    assert "loot" not in comity("discover", "city").out


def test_import_tells_what_it_cannot_keep(comity, write):
    write("gps.xsd", GPS)
    result = comity("types", "import", "gps.xsd", "--domain", "buses")
    assert result.out == (
        "domain: buses\ntypes:\n  GPS_Event:\n    attributes:\n      longitude: int\n      time: string\n"
    )
    assert "note: gps.xsd:6 (GPS_Event): `GPS Event` becomes `GPS_Event`\n" in result.err
    assert "note: gps.xsd:10 (GPS_Event.time): there is no kind for a `time`, so it is a text\n" in result.err
    notes = json.loads(comity("types", "import", "gps.xsd", "--out", "a.yaml", "--format", "json").err)["notes"]
    assert notes[-1] == {
        "message": "there is no kind for a `time`, so it is a text",
        "file": "gps.xsd",
        "line": 10,
        "path": "GPS_Event.time",
    }


def test_import_suggests_sources(comity, write):
    write(
        "api.yaml",
        """asyncapi: 3.0.0
info: {title: Street Lights, version: "1"}
servers:
  web: {host: "localhost:9000", protocol: http}
  broker: {host: "broker:9092", protocol: kafka}
channels:
  lit: {address: lights/lit, servers: [{$ref: "#/servers/web"}], messages: {lit: {$ref: "#/components/messages/lit"}}}
  dimmed: {address: d, servers: [{$ref: "#/servers/broker"}]}
  kept: {x-comity-source: {files: {path: events}}}
  odd: {x-comity-source: {flies: {path: events}}}
components:
  messages:
    lit: {payload: {type: object, properties: {lumen: {type: number, x-unit: parsec2, description: how bright}}}}
""",
    )
    result = comity("types", "import", "api.yaml", "--out", "lights.yaml")
    assert result.code == 0
    written = Path("lights.yaml").read_text()
    assert "lit:\n    webhook:\n      port: 9000\n      path: /lights/lit\n" in written
    assert "kept:\n    files:\n      path: events\n" in written
    assert "description: how bright" in written
    assert "odd:" not in written
    assert "there is no connector for kafka yet" in result.err
    assert "the source `odd` is not kept" in result.err
    assert "the unit `parsec2` is not kept" in result.err
    assert comity("lint", "lights.yaml").code == 0


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("hello", "unknown-file"),
        ("<a>", "bad-xml"),
        ("<a/>", "bad-schema"),
        (
            '{"type": "record", "name": "A", "fields": [{"name": "a b", "type": "int"}, {"name": "a-b", "type": {}}]}',
            "name-conflict",
        ),
        ('{"$defs": {"A": {"type": "object"}, "A ": {"type": "object"}}}', "duplicate-type"),
        ("asyncapi: 2.6.0", "bad-schema"),
    ],
)
def test_import_of_bad_documents(comity, write, content, code):
    write("in.txt", content)
    result = comity("types", "import", "in.txt")
    assert (result.code, result.out) == (2, "")
    assert f"[{code}]" in result.err
    assert "in.txt" in result.err


def test_import_does_not_destroy_its_input(comity, write):
    write("gps.xsd", GPS)
    assert comity("types", "import", "gps.xsd", "--out", "gps.xsd").code == 2


def test_show(comity, types, write):
    result = comity("types", "show", types)
    assert result.out.splitlines()[:4] == ["house", "  Alarm (abstract)", "      room: string", "    Fire"]
    assert "        heat: float degC" in result.out
    write("gps.xsd", GPS)
    assert "GPS_Event" in comity("types", "show", "gps.xsd").out
    shown = json.loads(comity("types", "show", types, "--format", "json").out)
    assert shown["domains"]["house"]["Fire"] == {
        "extends": "Alarm",
        "attributes": {"heat": "float degC", "floor": "int?"},
    }
