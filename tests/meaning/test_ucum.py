"""UCUM codes: which texts are valid, and conversions that are exact."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.meaning import ucum
from comity.meaning.ucum.parse import MAX_CHARS
from comity.meaning.ucum.table import atoms, prefixes, symbols


@pytest.mark.parametrize(
    "code",
    [
        *("m", "kg.m/s2", "/min", "10*3/uL", "10^-3", "10*+3/l", "1", "%", "[degF]", "Cel", "mm[Hg]", "cm[H2O]"),
        *("{cells}", "g{wet}", "1{a}", "{a}.m{b}", "100/{x}", "g/(8.h){shift}", "m/((s))", "umol/2.h", "dB[10.nV]"),
        *("[m/s2/Hz^(1/2)]", "cal_[15]", "m3.kg-1.s-2", "{}", "{|~!}", "''", "'", "k[iU]", "%[slope]", "B[uV]"),
    ],
)
def test_a_code(code: str) -> None:
    assert ucum.is_ucum(code)


@pytest.mark.parametrize(
    "code",
    [
        *("", " ", "m ", "m/", "m.", ".m", "//m", "m//s", "(m", "m)", "()", "m(s)", "2m", "m2s", "12h", "10+3"),
        *("KM", "CEL", "M", "in", "mmHg", "mm[HG]", "[in_i", "in_i]", "k[in_i]", "kmin", "dd", "kkg", "molv", "k%"),
        *("{a}m", "{a}{b}", "m{a}2", "m{a", "m}", "{{a}}", "{a b}", "m{ä}", "µm", "m²", "m^2", "m**2", "m*s"),
        *("m0", "m-", "m+", "0", "01", "m02", "(m)2", "-m", "1e3"),
    ],
)
def test_no_code(code: str) -> None:
    assert not ucum.is_ucum(code)


@pytest.mark.parametrize(
    ("code", "column", "why"),
    [
        ("kg.m/", 6, "a unit must stand here"),
        ("kg.mmHg", 4, "'mmHg' is no unit"),
        ("(kg", 4, "not closed"),
        ("m.{ä}", 3, "ASCII"),
        ("m.s1234", 4, "3 digits"),
    ],
)
def test_check_says_where_a_code_goes_wrong(code: str, column: int, why: str) -> None:
    with pytest.raises(Misuse, match="is no UCUM code") as raised:
        ucum.check(code)
    assert raised.value.code == "invalid-ucum"
    assert raised.value.place is not None
    assert raised.value.place.column == column
    assert why in raised.value.message


def test_a_long_code_is_refused() -> None:
    assert ucum.is_ucum(".".join("m" * (MAX_CHARS // 2)))
    assert not ucum.is_ucum(".".join("m" * MAX_CHARS))


def test_prefixes_are_for_metric_units_only() -> None:
    metric = [atom.code for atom in atoms().values() if atom.metric]
    other = [atom.code for atom in atoms().values() if not atom.metric]
    assert all(ucum.is_ucum(prefix + code) for code in metric for prefix in prefixes())
    clashes = {prefix + code for code in other for prefix in prefixes()} & set(symbols())
    assert clashes <= set(atoms()) | {prefix + code for code in metric for prefix in prefixes()}
    assert not ucum.is_ucum("k[ft_i]")


def test_every_unit_of_the_table_is_computed() -> None:
    for code in atoms():
        assert ucum.dimension(code)
        assert ucum.convert(1, code, code) == 1 or ucum.linear(code) is None


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (6.3, "mm", "cm", "0.63"),
        ("6.3", "s/m.mg", "s.m-1.g", "0.0063"),
        (Decimal("1.5"), "4.s/m", "s/m", "6"),
        (1, "/(m.s)", "m-1.s-1", "1"),
        (1, "/m.s", "s/m", "1"),
        (1, "[in_i]", "cm", "2.54"),
        (1, "[mi_i]", "km", "1.609344"),
        (1, "m[Hg]", "Pa", "133322"),
        (1, "S", "g-1.m-2.C2.s", "0.001"),
        (1, "[ly]", "m", "9460730472580800"),
        (86, "[degF]", "Cel", "30"),
        (-40, "Cel", "[degF]", "-40"),
        (80, "[degRe]", "Cel", "100"),
        (491.67, "[degR]", "Cel", "0"),
        (1000, "mCel", "K", "274.15"),
        (1, "mol", "10*23", "6.02214076"),
        (1, "mol/L", "mmol/mL", "1"),
        (1, "k[iU]/L", "[IU]/mL", "1"),
        (7, "[pH]", "umol/l", "0.1"),
        (30, "dB[W]", "kW", "1"),
        (20, "dB[V]", "mV", "10000"),
        (3, "bit_s", "1", "8"),
        (2, "[hp'_X]", "%", "1"),
        (1, "circ", "deg", "360"),
        (1, "3.5", "1", "15"),  # a point multiplies
    ],
)
def test_an_exact_conversion(value: float | str | Decimal, source: str, target: str, result: str) -> None:
    found = ucum.convert(value, source, target)
    assert isinstance(found, Fraction)
    assert found == Fraction(result)


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (7.4, "[pH]", "nmol/l", 39.810717055349725),
        (1, "Np", "B", 0.4342944819032518),
        (45, "deg", "%[slope]", 100),
        (100, "[p'diop]", "deg", 45),
        (94, "dB[SPL]", "Pa", 1.0023744672545445),
        (9, "m2/s4/Hz", "[m/s2/Hz^(1/2)]", 3),
        (1, "[hp'_Q]", "[hp'_C]", 2.3494850021680094),
    ],
)
def test_a_conversion_along_a_curve(value: float, source: str, target: str, result: float) -> None:
    assert float(ucum.convert(value, source, target)) == pytest.approx(result, rel=1e-14)


@pytest.mark.parametrize(
    ("value", "source", "target", "code"),
    [
        (1, "m", "kg", "incompatible-units"),
        (1, "[iU]", "[arb'U]", "incompatible-units"),
        (1, "mol/kg", "m", "incompatible-units"),
        (0, "W", "dB[W]", "no-conversion"),
        (9_999_999, "B", "1", "no-conversion"),
        (90, "deg", "%[slope]", "no-conversion"),
        (1, "Cel/s", "K/s", "special-unit-in-product"),
        (1, "Cel2", "K2", "special-unit-in-product"),
        (1, "Cel.Cel", "K2", "special-unit-in-product"),
        ("x", "m", "m", "bad-number"),
        (float("nan"), "m", "m", "bad-number"),
        ("1e999999999", "m", "m", "bad-number"),
        (1, "m", "metre", "invalid-ucum"),
    ],
)
def test_a_refused_conversion(value: float | str, source: str, target: str, code: str) -> None:
    with pytest.raises(Misuse) as raised:
        ucum.convert(value, source, target)
    assert raised.value.code == code


LENGTHS = ["m", "[in_i]", "km", "[mi_us]", "10*3.cm", "[ly]", "nm", "[smoot]"]
LEVELS = ["dB[V]", "B[mV]", "B[uV]", "cB[10.nV]"]
numbers = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**6)


@given(numbers, st.sampled_from(LENGTHS), st.sampled_from(LENGTHS), st.sampled_from(LENGTHS))
def test_in_steps_or_directly(value: Fraction, source: str, between: str, target: str) -> None:
    assert ucum.convert(ucum.convert(value, source, between), between, target) == ucum.convert(value, source, target)


@given(st.integers(-200, 200), st.sampled_from(LEVELS), st.sampled_from(LEVELS))
def test_levels_and_back(value: int, source: str, target: str) -> None:
    there = ucum.convert(Fraction(value, 10), source, target)
    assert float(ucum.convert(there, target, source)) == pytest.approx(value / 10, abs=1e-9)


@given(st.text(alphabet="mskgC[]{}()./0123456789*^+-%'inHdegF", max_size=12))
def test_any_text_is_a_code_or_is_not(text: str) -> None:
    if ucum.is_ucum(text):
        ucum.parse(text)
        assert not ucum.is_ucum(f"{text}/")
        assert ucum.is_ucum(f"({text})") or text.startswith("/")
