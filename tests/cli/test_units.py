import json

import pytest


def test_check(comity):
    result = comity("units", "check", "mm[Hg]", "km", "degC", "m/s2")
    assert (result.code, result.out) == (0, "mm[Hg]: a unit\nkm: a unit\ndegC: a unit\nm/s2: a unit\n")


def test_check_says_what_is_wrong(comity):
    result = comity("units", "check", "km", "iU", "--format", "json")
    assert result.code == 2
    good, bad = json.loads(result.out)
    assert good == {"unit": "km", "valid": True}
    assert (bad["valid"], bad["error"]["code"]) == (False, "unknown-unit")


def test_check_as_ucum(comity):
    result = comity("units", "check", "--ucum", "mm[Hg]", "mmHg", "g/12h")
    assert result.code == 2
    first, second, third = result.out.splitlines()
    assert first == "mm[Hg]: a unit"
    assert "is no UCUM code: 'mmHg' is no unit" in second
    assert "is no UCUM code" in third


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("86", "degF", "degC"), "30 degC"),
        (("-40", "[degF]", "Cel"), "-40 Cel"),
        (("120", "mm[Hg]", "kPa"), "15.99864 kPa"),
        (("7.4", "[pH]", "nmol/l"), "39.81071705534972 nmol/l"),
        (("1/3", "m", "cm"), "33.333333333333333 cm"),
        (("8", "B", "bit"), "64 bit"),
        (("1", "ucum:B", "ucum:dB"), "10 ucum:dB"),
        (("1", "B", "dB", "--ucum"), "10 dB"),
        (("2", "1000 mile", "mile"), "2000 mile"),
    ],
)
def test_convert(comity, arguments, said):
    result = comity("units", "convert", *arguments)
    assert (result.code, result.out, result.err) == (0, f"{said}\n", "")


def test_convert_as_json(comity):
    result = comity("units", "convert", "1", "[in_i]", "cm", "--format", "json")
    wanted = {"value": 2.54, "text": "2.54", "unit": "cm", "exact": True, "fraction": "127/50"}
    assert json.loads(result.out) == wanted


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("1", "km", "kg"), "incompatible-units"),
        (("x", "km", "m"), "bad-number"),
        (("1e999999", "km", "m"), "bad-number"),
        (("1", "km", "nounit"), "unknown-unit"),
        (("1", "km", "mile", "--ucum"), "invalid-ucum"),
        (("0", "W", "dB[W]"), "no-conversion"),
        (("1", "[pH]", "degC"), "incompatible-units"),
    ],
)
def test_refused_conversions(comity, arguments, code):
    result = comity("units", "convert", *arguments)
    assert (result.code, result.out) == (2, "")
    assert f"[{code}]" in result.err


def test_show(comity):
    result = comity("units", "show", "[degF]", "--format", "json")
    facts = json.loads(result.out)
    assert (facts["measures"], facts["base"], facts["parts"]) == ("[temperature]", "K", ["degree Fahrenheit"])
    assert "kilogram, meter, second ^ -2" in comity("units", "show", "kg.m/s2").out
    assert "UCUM has another unit of this code: ucum:B" in comity("units", "show", "B").out
    assert "a curve" in comity("units", "show", "[pH]").out
    assert "picohenry" in comity("units", "show", "pH", "--ucum").out
    assert comity("units", "show", "nounit").code == 2
