import json

import pytest

MILES = '⟨Distance, 3850, {⟨Unit,"mile"⟩}⟩'
WARD = """
concepts:
  BloodPressure: {broader: Pressure, unit: "mm[Hg]", labels: {en: blood pressure}}
  Country:
    conversions:
      - {property: codes, from: iso2, to: iso3, rows: {DE: DEU, FR: FRA}}
"""


def test_list(comity, write):
    assert comity("concepts", "list", "--below", "money").out == "Money\n  Price\n    Bid\n  Sales\n"
    out = comity("concepts", "list", "--ontology", write("ward.yaml", WARD)).out
    assert "\n  Pressure  (Pa)\n    AirPressure  (mbar)\n    BloodPressure  (mm[Hg])\n" in out
    names = [one["concept"] for one in json.loads(comity("concepts", "list", "--format", "json").out)]
    assert {"Temperature", "Price", "Room", "Person", "Sensor"} <= set(names)


def test_show(comity, write):
    out = comity("concepts", "show", "Luftfeuchtigkeit").out
    assert "Humidity" in out
    assert "kind of  Ratio, Quantity" in out
    facts = json.loads(
        comity("concepts", "show", "country", "--ontology", write("w.yaml", WARD), "--format", "json").out
    )
    assert facts["conversions"] == ["codes iso2 to iso3: lossless, order rising"]
    result = comity("concepts", "show", "humdity")
    assert (result.code, result.out) == (2, "")
    assert "did you mean `Humidity`?" in result.err


@pytest.mark.parametrize(
    ("text", "to", "said"),
    [
        (MILES, "{unit: km}", '⟨Distance, 6195.9744, {⟨Unit, "km"⟩}⟩'),
        ('<Distance, 3850, {<Unit, "mile">}>', '{<Unit, "km">, <Scale, 1000>}', "6.1959744"),
        ("⟨Humidity, 40⟩", '{unit: "1"}', "⟨Humidity, 0.4,"),
        ('⟨Country, "DE", {⟨Codes, "iso2"⟩}⟩', "{codes: iso3}", '⟨Country, "DEU", {⟨Codes, "iso3"⟩}⟩'),
    ],
)
def test_convert(comity, write, text, to, said):
    result = comity("concepts", "convert", text, "--to", to, "--ontology", write("w.yaml", WARD))
    assert (result.code, result.err) == (0, "")
    assert said in result.out


def test_convert_in_other_forms(comity):
    assert comity("concepts", "convert", MILES, "--to", "{unit: km}", "--ascii").out == (
        '<Distance, 6195.9744, {<Unit, "km">}>\n'
    )
    found = json.loads(comity("concepts", "convert", MILES, "--to", "{unit: km}", "--format", "json").out)
    assert found == {"concept": "Distance", "value": 6195.9744, "context": {"Unit": "km"}}


def test_convert_money(comity, write):
    rates = write("rates.csv", "from,to,rate,valid_from,valid_until\nEUR,USD,1.25,2026-01-01,2026-02-01\n")
    call = ("concepts", "convert", '⟨Price, 4, {⟨Currency, "EUR"⟩}⟩', "--to", "{currency: USD}")
    assert comity(*call, "--rates", rates, "--at", "2026-01-15").out == '⟨Price, 5, {⟨Currency, "USD"⟩}⟩\n'
    for more, code in (
        ((), "no-rates"),
        (("--rates", rates), "moment-needed"),
        (("--rates", rates, "--at", "2026-03-01"), "no-conversion"),
        (("--rates", rates, "--at", "soon"), "bad-value"),
    ):
        result = comity(*call, *more)
        assert result.code == 2
        assert f"[{code}]" in result.err


@pytest.mark.parametrize(
    ("text", "to", "code"),
    [
        ("⟨Distance, 3850", "{unit: km}", "syntax"),
        (MILES, "km", "syntax"),
        (MILES, "{unit: kg}", "incompatible-units"),
        (MILES, "{unit: nounit}", "unknown-unit"),
        ("⟨Distance, 3850⟩", "{unit: km}", "missing-context"),
        ("⟨Distnace, 3850⟩", "{unit: km}", "unknown-concept"),
    ],
)
def test_refused_conversions(comity, text, to, code):
    result = comity("concepts", "convert", text, "--to", to)
    assert (result.code, result.out) == (2, "")
    assert f"[{code}]" in result.err


def test_export_and_import(comity, tmp_path):
    assert comity("concepts", "export", "--output", "ours.ttl").code == 0
    text = (tmp_path / "ours.ttl").read_text(encoding="utf-8")
    assert comity("concepts", "export").out == text
    assert comity("concepts", "import", "ours.ttl").out == "no new concepts, 0 extended, no conversions\n"
    alone = json.loads(comity("concepts", "import", "ours.ttl", "--alone", "--format", "json").out)
    assert "Temperature" in alone["added"]
    assert comity("concepts", "export", "--ontology", "ours.ttl", "--output", "ours.ttl").code == 2


def test_import_says_what_a_file_adds(comity, write):
    assert comity("concepts", "import", write("w.yaml", WARD)).out == (
        "1 new concept, 0 extended, 1 conversion\n  BloodPressure\n"
    )


def test_import_of_a_bad_file(comity, write):
    result = comity("concepts", "import", write("w.yaml", "concepts:\n  A: {broader: B}\n  B: {broader: A}\n"))
    assert result.code == 2
    assert "w.yaml:2:3: A is a kind of itself [cyclic-concept]" in result.err
    assert comity("concepts", "import", "none.ttl").code == 2
    result = comity("concepts", "import", write("w.ttl", "nonsense"))
    assert result.code == 2
    assert "w.ttl:1" in result.err
