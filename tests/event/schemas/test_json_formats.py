"""JSON Schema, Avro and AsyncAPI as others write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from comity.errors import Faults, Misuse
from comity.event.schemas.asyncapi_in import read_asyncapi
from comity.event.schemas.avro_in import read_avro
from comity.event.schemas.draft import Imported
from comity.event.schemas.json_schema import read_json_schema


def shape(found: Imported) -> dict[str, dict[str, str]]:
    return {one.name: {name: str(each) for name, each in one.attributes.items()} for one in found.taxonomy.types}


def notes(found: Imported) -> list[str]:
    return [f"{one.place.path}: {one.message}" for one in found.notes]


def schema(document: Any) -> Imported:
    return read_json_schema(json.dumps(document, indent=1), "order.json")


def avro(document: Any) -> Imported:
    return read_avro(json.dumps(document, indent=1), "a.avsc")


def record(name: str, *fields: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": type} for key, type in fields], **more}


def test_json_schema_with_a_type_at_the_top() -> None:
    found = schema(
        {
            "$id": "https://x.org/schemas/order.schema.json",
            "title": "Order",
            "type": "object",
            "required": ["who", "price", "gone"],
            "properties": {
                "who": {"$ref": "#/definitions/person"},
                "price": {"type": "number", "minimum": 0, "x-unit": "USD"},
                "at": {"type": "string", "format": "date-time"},
                "tags": {"type": "array", "items": {"type": ["string", "null"]}},
                "level": {"enum": ["low", "high"]},
                "maybe": {"oneOf": [{"type": "null"}, {"type": "integer"}]},
                "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "far": {"$ref": "https://x.org/other.json"},
            },
            "definitions": {
                "person": {
                    "type": "object",
                    "properties": {"first name": {"type": "string"}, "friend": {"$ref": "#/definitions/person"}},
                },
            },
        }
    )
    assert shape(found) == {
        "Order": {
            "who": "struct",
            "price": "float USD",
            "at": "timestamp?",
            "tags": "list of string?",
            "level": "string?",
            "maybe": "int?",
        }
    }
    assert sorted(notes(found)) == sorted(
        [
            "None: the namespace `https://x.org/schemas/order` becomes `order`",
            "Order.who.first_name: `first name` becomes `first_name`",
            "Order.who.friend: is left out, since it holds itself or is nested too deep",
            "Order.who.friend: is left out, since nothing is left in it",
            "Order: `gone` is required, but not described",
            "Order.price: `minimum` is not kept",
            "Order.tags: elements that are null are not kept",
            "Order.level: `enum` is not kept",
            "Order.either: is left out: an attribute has one kind, not one of several",
            "Order.map: is left out: a struct names its attributes, and this object does not",
            "Order.far: `https://x.org/other.json` leads nowhere in the document",
        ]
    )
    assert all(one.place.line for one in found.notes)


def test_json_schema_inheritance_and_parts() -> None:
    found = schema(
        {
            "$id": "house",
            "$defs": {
                "Alarm": {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]},
                "Fire": {
                    "allOf": [
                        {"$ref": "#/$defs/Alarm"},
                        {"properties": {"heat": {"type": "number"}}, "required": ["heat"]},
                        {"$ref": "#/$defs/Traced"},
                    ]
                },
                "Traced": {"type": "object", "properties": {"trace": {"type": "string"}}},
                "Place": {"type": "object", "properties": {"floor": {"type": "integer"}}},
                "Leak": {"type": "object", "properties": {"place": {"$ref": "#/$defs/Place"}}},
            },
        }
    )
    assert shape(found)["Fire"] == {"room": "string", "heat": "float", "trace": "string?"}
    assert found.taxonomy.is_a("Fire", "Alarm")
    assert "Place" not in shape(found)
    assert any("second parent" in note for note in notes(found))


def test_a_short_document_cannot_stand_for_a_huge_one() -> None:
    levels: dict[str, Any] = {"L0": {"type": "object", "properties": {"a": {"type": "string"}}}}
    for n in range(1, 40):
        inner = {"$ref": f"#/$defs/L{n - 1}"}
        levels[f"L{n}"] = {"type": "object", "properties": {"a": inner, "b": inner}}
    with pytest.raises(Misuse) as caught:
        schema({"$id": "x", "$defs": levels})
    assert caught.value.code == "too-large"


def test_json_that_yaml_has_not() -> None:
    found = read_json_schema(
        '{\n\t"$id":\t"x", "$defs": {"T": {"type": "object", "description": "a\\/\\ud83d\\ude00"}}}'
    )
    assert found.taxonomy.types[0].description == "a/😀"


def test_avro_as_others_write_it() -> None:
    address = record("Address", ("street", "string"), namespace="org.x.places")
    found = avro(
        record(
            "Order",
            ("home", address),
            ("work", ["null", "org.x.places.Address"]),
            ("level", {"type": "enum", "name": "Level", "symbols": ["LOW", "HIGH"]}),
            ("at", {"type": "long", "logicalType": "timestamp-millis"}),
            ("day", {"type": "int", "logicalType": "date"}),
            ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
            ("took", {"type": {"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}}),
            ("map", {"type": "map", "values": "int"}),
            ("either", ["int", "string"]),
            ("tags", {"type": "array", "items": "string"}),
            namespace="org.x.shop",
            doc="An order.",
            aliases=["Purchase"],
        )
    )
    assert found.taxonomy.namespace == "shop"
    assert found.taxonomy.types[0].description == "An order."
    assert shape(found) == {
        "Order": {
            "home": "struct",
            "work": "struct?",
            "level": "string",
            "at": "timestamp",
            "day": "string",
            "price": "float",
            "took": "duration",
            "tags": "list of string",
        }
    }
    told = "\n".join(notes(found))
    for expected in (
        "the namespace `org.x.shop` becomes `shop`",
        "Order: `aliases` is not kept",
        "Order.level: the symbols of an `enum` are not kept: LOW, HIGH",
        "Order.map: is left out: there is no kind for a `map`",
        "Order.either: is left out: an attribute has one kind, not one of several",
    ):
        assert expected in told


def test_avro_marks_may_stand_at_the_field() -> None:
    document = record("T", namespace="n")
    document["fields"] = [{"name": "heat", "type": ["null", "double"], "unit": "degC", "concept": "Temperature"}]
    (type,) = avro(document).taxonomy.types
    assert (str(type.attributes["heat"]), type.attributes["heat"].concept) == ("float degC?", "Temperature")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (record("T", ("a b", "int"), ("a-b", "int"), namespace="n"), "name-conflict"),
        ([record("T", namespace="n"), record("T", namespace="m")], "duplicate-type"),
        (
            [record("T", ("a", "int"), namespace="n"), record("U", ("a", "string"), namespace="n", extends="n.T")],
            "attribute-redefined",
        ),
        ([record("T", namespace="n", extends="n.T")], "cyclic-inheritance"),
        ({"type": "enum", "name": "E", "symbols": []}, "bad-schema"),
        (record("T", ("self", "T")), None),
    ],
)
def test_avro_conflicts(document: Any, code: str | None) -> None:
    if code is None:
        assert shape(avro(document)) == {"T": {}}
        return
    with pytest.raises(Faults) as caught:
        avro(document)
    assert caught.value.errors[0].code == code
    assert caught.value.errors[0].place is not None
    assert caught.value.errors[0].place.line


def test_asyncapi_messages_are_types() -> None:
    found = read_asyncapi(
        """asyncapi: 3.0.0
info: {title: street lights, version: "1"}
tags: [{name: a}]
channels:
  lit:
    address: lit
    bindings: {kafka: {}}
    messages:
      here: {name: LitHere, payload: {$ref: "#/components/schemas/lit"}}
      there: {$ref: "#/components/messages/dimmed"}
components:
  messages:
    dimmed:
      headers: {type: object}
      payload:
        schemaFormat: application/vnd.apache.avro;version=1.9.0
        schema: {type: record, name: Dimmed, namespace: lights, fields: [{name: percent, type: int}]}
    odd: {payload: {schemaFormat: application/vnd.google.protobuf, schema: "message A {}"}}
  schemas:
    base: {type: object, properties: {lamp: {type: string}}, required: [lamp]}
    lit: {allOf: [{$ref: "#/components/schemas/base"}], properties: {lumen: {type: integer}}}
""",
        "api.yaml",
        domain="lights",
    )
    assert shape(found) == {
        "base": {"lamp": "string"},
        "LitHere": {"lamp": "string", "lumen": "int?"},
        "dimmed": {"percent": "int"},
    }
    assert found.taxonomy.is_a("LitHere", "base")
    told = "\n".join(str(one) for one in found.notes)
    for expected in (
        "api.yaml:3 (tags): `tags` is not kept",
        "api.yaml:14 (dimmed): `headers` is not kept",
        "(odd): is left out: `application/vnd.google.protobuf` is not read",
        "(channels.lit): suggests no source: there is no connector for kafka yet",
    ):
        assert expected in told


def test_what_the_top_refers_to_is_a_type() -> None:
    tree = {"type": "object", "properties": {"height": {"type": "number"}, "leaf": {"$ref": "#/$defs/Leaf"}}}
    leaf = {"type": "object", "properties": {"green": {"type": "boolean"}, "of": {"$ref": "#/$defs/Tree"}}}
    found = read_json_schema(json.dumps({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree, "Leaf": leaf}}), "a.json")
    assert [one.name for one in found.taxonomy.types] == ["Tree"]
    below = read_json_schema(json.dumps({"$ref": "#/x/Tree", "x": {"Tree": leaf}, "$defs": {}}), "a.json")
    assert [one.name for one in below.taxonomy.types] == ["Tree"]


@pytest.mark.parametrize("reference", ["other.json#/Tree", "#/$defs/None", "#/$defs/Text"])
def test_a_top_that_refers_to_no_type_is_noted(reference: str) -> None:
    document = {"$ref": reference, "$defs": {"Text": {"type": "string"}}}
    found = read_json_schema(json.dumps(document), "a.json")
    assert not found.taxonomy.types
    assert any("leads nowhere" in str(one) or "is no object" in str(one) for one in found.notes)


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_alternatives_of_one_kind_are_an_attribute(key: str) -> None:
    properties = {
        "heat": {key: [{"type": "number", "maximum": 3}, {"type": "number", "minimum": 9}]},
        "link": {key: [{"type": "string", "format": "uri"}, {"enum": ["none"]}, {"type": "null"}]},
        "since": {key: [{"$ref": "#/$defs/When"}, {"type": "string", "format": "date-time"}]},
        "one": {key: [{"type": "integer"}]},
        "mixed": {key: [{"type": "string"}, {"type": "integer"}]},
        "times": {key: [{"type": "string", "format": "date-time"}, {"type": "string"}]},
    }
    when = {"type": "string", "format": "date-time"}
    document = {"title": "T", "type": "object", "properties": properties, "required": list(properties)}
    found = read_json_schema(json.dumps({**document, "$defs": {"When": when}}), "a.json")
    assert shape(found) == {"T": {"heat": "float", "link": "string?", "since": "timestamp", "one": "int"}}
    told = "\n".join(str(one) for one in found.notes)
    assert f"(T.heat): `{key}` is not kept: all are of one kind" in told
    assert "(T.mixed): is left out" in told


def test_an_avro_union_of_one_kind_is_an_attribute() -> None:
    union = {"name": "n", "type": ["int", "long"]}, {"name": "m", "type": ["null", "float", "double"]}
    document = {"type": "record", "name": "T", "fields": [*union, {"name": "o", "type": ["int", "string"]}]}
    assert shape(avro(document)) == {"T": {"n": "int", "m": "float?"}}


def test_avro_in_another_file_costs_no_more_than_its_message(tmp_path: Path) -> None:
    (tmp_path / "user.avsc").write_text('{"type": "record", "name": "User", "fields": [{"name": "n", "type": "int"}]}')
    (tmp_path / "text.avsc").write_text('"string"')
    (tmp_path / "broken.avsc").write_text("{")
    references = ["user.avsc", "./text.avsc", "broken.avsc", "none.avsc", "https://localhost:1/a.avsc", "a.avsc#/b"]
    messages = {
        f"m{n}": {"payload": {"schemaFormat": "application/vnd.apache.avro;version=1.9.0", "schema": {"$ref": one}}}
        for n, one in enumerate(references)
    }
    messages["good"] = {"payload": {"type": "object", "properties": {"heat": {"type": "number"}}}}
    document = {"asyncapi": "3.0.0", "info": {"title": "api"}, "components": {"messages": messages}}
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document))
    found = read_asyncapi(path.read_text(), str(path))
    assert shape(found) == {"m0": {"n": "int"}, "good": {"heat": "float?"}}
    told = [str(one) for one in found.notes]
    assert all(any(f"(m{n}): is left out" in one for one in told) for n in range(1, 6))
