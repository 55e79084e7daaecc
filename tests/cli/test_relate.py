import json

import pytest


def _relate(comity, *arguments):
    result = comity("relate", *arguments, "--format", "json")
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def _codes(result):
    assert result.code == 2
    assert result.out == ""
    return [error["code"] for error in json.loads(result.err)["errors"]]


def test_relate_as_json(comity):
    found = _relate(comity, "x > 3", "x > 5 and y = 'a'")
    witness = found.pop("witness")
    assert found == {
        "satisfiable": [True, True],
        "identical": False,
        "overlaps": True,
        "covers": True,
        "covered_by": False,
        "merge": "x > 3",
    }
    assert witness["both"]["data"]["x"] > 5
    assert witness["both"]["data"]["y"] == "a"
    assert witness["first_only"]["specversion"] == "1.0"
    assert witness["second_only"] is None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("x > 3 and x < 3", "x = 1", {"satisfiable": [False, True], "overlaps": False, "covered_by": True}),
        ("x > 3", "not (x <= 3) and exists x", {"identical": True, "covers": True, "covered_by": True}),
        ("x > 3", "x < 2", {"overlaps": False, "covers": False, "covered_by": False}),
        ("x > 3 and x < 4", "true", {"satisfiable": [True, True], "covered_by": True}),
        ("t > 30 degC", "t > 86 degF", {"identical": True, "merge": "t > 30 degC"}),
        ("x * y > 5", "x * y > 5", {"identical": True, "covers": True, "covered_by": True}),
        ("x between 1 and 5", "x between 5 and 9", {"merge": "x between 1 and 9"}),
        ("s like 'a%'", "s matches 'a.*'", {"covers": True, "overlaps": True}),
    ],
)
def test_relate_answers(comity, first, second, expected):
    found = _relate(comity, first, second)
    assert {key: found[key] for key in expected} == expected


def test_relate_unknown_is_null(comity):
    found = _relate(comity, "x * x * y > 7", "y * x * y > 7")
    assert found["identical"] in (None, False)
    assert None in found.values()


def test_relate_merge_can_be_related_again(comity):
    found = _relate(comity, "t > 30 degC or room = 'a'", "t < 50 degF and room = 'b'")
    again = _relate(comity, found["merge"], "t > 86 degF or room = 'a' or (t < 10 degC and room = 'b')")
    assert again["identical"] is True


def test_relate_with_types(comity, types):
    found = _relate(comity, "floor > 3 and floor < 4", "room = 'hall'", "--types", types, "--type", "Fire")
    assert found["satisfiable"] == [False, True]
    assert found["witness"]["second_only"]["type"] == "house.Fire"
    assert (
        found["witness"]["second_only"]["data"]
        == {"room": "hall", "heat": 0.0} | found["witness"]["second_only"]["data"]
    )


def test_relate_with_an_abstract_type_is_about_its_subtypes(comity, types):
    found = _relate(comity, "exists heat", "exists litres", "--types", types, "--type", "Alarm")
    assert found["overlaps"] is False
    assert found["satisfiable"] == [True, True]


def test_relate_as_text(comity):
    result = comity("relate", "t > 30 degC", "t > 95 degF")
    assert (result.code, result.err) == (0, "")
    words = [line.split() for line in result.out.splitlines()]
    assert ["F", "covers", "G", "✓"] in words
    assert ["G", "covers", "F", "✗"] in words
    assert ["merger", "t", ">", "30", "degC"] in words
    assert "G, not F   no event" in result.out


def test_relate_as_text_shows_the_envelope_when_it_matters(comity):
    assert '"subject": "a"' in comity("relate", "event.subject = 'a'", "true").out
    assert "specversion" not in comity("relate", "subject = 'a'", "true").out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x >", "syntax"),
        ("", "syntax"),
        ("x = 'open", "syntax"),
        ("x + 1", "not-a-filter"),
        ("x > 5 nosuchunit", "unknown-unit"),
        ("x > 5 km and x > 5 kg", "incompatible-units"),
        ("x > 99999999999999999999", "integer-out-of-range"),
        ("x > 1e999", "float-out-of-range"),
        ("x matches '('", "bad-regex"),
        ("event.nope = 1", "unknown-attribute"),
        ("nope(x) > 1", "unknown-function"),
        ("x in nowhere(1)", "unknown-constraint"),
        ("lookup('t', x) = 1", "unknown-table"),
        ("x = '\udcff'", "not-utf-8"),
        ("not " * 10_000 + "x", "expression-too-deep"),
        ("x > 1 or " * 1_200_000 + "x", "expression-too-long"),
    ],
)
def test_relate_refuses_a_bad_filter(comity, text, code):
    assert _codes(comity("relate", text, "z > 1", "--format", "json")) == [code]
    assert _codes(comity("relate", "z > 1", text, "--format", "json")) == [code]


def test_relate_refuses_two_bad_filters_at_once(comity):
    bad = "x > 5 km and x > 5 kg"
    assert _codes(comity("relate", bad, "x > 5 and", "--format", "json")) == ["incompatible-units", "syntax"]
    assert _codes(comity("relate", bad, "x > 5", "--format", "json")) == ["incompatible-units"]


def test_relate_10_000_parentheses(comity):
    assert _relate(comity, "(" * 10_000 + "x > 1" + ")" * 10_000, "x > 1")["identical"] is True


def test_relate_shows_a_caret(comity):
    result = comity("relate", "x > 1 and > y", "z")
    assert "F:1:11: " in result.err
    assert "  x > 1 and > y\n            ^\n" in result.err


@pytest.mark.parametrize(
    ("text", "code"),
    [("colour = 'a'", "unknown-attribute"), ("room > 5", "wrong-kind"), ("heat > 5 km", "incompatible-units")],
)
def test_relate_refuses_what_the_type_does_not_have(comity, types, text, code):
    assert _codes(comity("relate", text, "true", "--types", types, "--type", "Fire", "--format", "json")) == [code]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--types", "types.yaml"], "missing-option"),
        (["--type", "Fire"], "missing-option"),
        (["--types", "types.yaml", "--type", "Fier"], "unknown-type"),
        (["--types", "nope.yaml", "--type", "Fire"], "no-such-file"),
        (["--types", ".", "--type", "Fire"], "unreadable-file"),
    ],
)
def test_relate_refuses_bad_options(comity, types, options, code):
    assert _codes(comity("relate", "true", "true", *options, "--format", "json")) == [code]


def test_relate_refuses_bad_types(comity, write):
    text = "domain: a\ntypes:\n  A: {extends: B}\n  B: {extends: A}\n  C: {attributes: {x: flaot, y: int nounit}}\n"
    types = write("bad.yaml", text)
    codes = _codes(comity("relate", "true", "true", "--types", types, "--type", "A", "--format", "json"))
    assert set(codes) == {"cyclic-inheritance", "unknown-kind", "unknown-unit"}


RATES = "from,to,rate,valid_from,valid_until\nEUR,USD,1.25,,\n"


def test_relate_converts_money_with_rates(comity, write):
    filters = ("price > 100 EUR", "price > 125 USD")
    refused = comity("relate", *filters)
    assert (refused.code, "no-rates" in refused.err) == (2, True)
    found = json.loads(comity("relate", *filters, "--rates", write("rates.csv", RATES), "--format", "json").out)
    assert found["identical"] is True


def test_relate_holds_types_to_an_ontology(comity, write):
    ontology = write("o.yaml", "concepts:\n  Draught: {broader: Length}\n")
    text = "domain: d\ntypes:\n  Ship: {attributes: {depth: {kind: float, unit: {unit}, concept: Draught}}}\n"
    for unit, code in (("m", 0), ("kg", 2)):
        types = write("t.yaml", text.replace("{unit}", unit))
        options = ("--types", types, "--type", "Ship", "--ontology", ontology)
        result = comity("relate", f"depth > 1 {unit}", f"depth > 2 {unit}", *options)
        assert result.code == code, result.err
    assert "concept-unit" in result.err
    assert "--ontology needs --types" in comity("relate", "a > 1", "a > 2", "--ontology", ontology).err
