"""Reading YAML: what the words mean, what is refused, and where everything stands."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from comity.document import MAX_NESTING, did_you_mean, parse_document, read_document, read_text, validate
from comity.errors import Faults, Misuse, Place
from comity.limits import limited


def refused(text: str) -> Misuse:
    with pytest.raises(Misuse) as caught:
        parse_document(text, file="f.yaml")
    return caught.value


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *((word, word) for word in ("on", "off", "yes", "no", "Yes", "y", "n", "2024-01-01", "12:30", "1_000")),
        *((word, word) for word in ("007", "-01", "00.5", ".inf", ".nan", "<<", "=", "0b1", "1e", "\u0661")),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("0", 0),
        ("-12", -12),
        ("+5", 5),
        ("0x1f", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("5.", 5.0),
        ("'5'", "5"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("! 5", "5"),
    ],
)
def test_plain_word_follows_the_core_schema(word: str, value: object) -> None:
    found = parse_document(f"a: {word}\n").data["a"]
    assert found == value
    assert type(found) is type(value)


def test_document_nested_data_is_plain() -> None:
    text = "a: [1, {b: c}]\nd:\n  - e\n  -\n  - |\n    two\n    lines\nf: {}\n"
    assert parse_document(text).data == {"a": [1, {"b": "c"}], "d": ["e", None, "two\nlines\n"], "f": {}}


@pytest.mark.parametrize(("text", "data"), [("", None), ("# only a comment\n", None), ("5", 5), ("- a", ["a"])])
def test_document_root_may_be_anything(text: str, data: object) -> None:
    assert parse_document(text).data == data


def test_place_of_values_and_keys() -> None:
    document = parse_document("a: 1\nbé:\n  c: [x, 'y']\n", file="f.yaml")
    assert str(document.place(("a",))) == "f.yaml:1:4"
    assert str(document.place(("bé", "c"), key=True)) == "f.yaml:3:3"
    assert str(document.place(("bé", "c", 1))) == "f.yaml:3:10"
    assert str(document.place(())) == "f.yaml:1:1"


def test_place_of_what_is_not_there_is_that_of_its_parent() -> None:
    document = parse_document("a:\n  b: 1\n", file="f.yaml")
    assert str(document.place(("a", "missing", 3), key=True)) == "f.yaml:2:3"
    assert str(document.place(("a", 0))) == "f.yaml:2:3"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a: [1, 2\nb: 3", "yaml-syntax", "f.yaml:2:2"),
        ("a:\n\tb: 1", "yaml-syntax", "f.yaml:2:1"),
        ("a: b: c", "yaml-syntax", "f.yaml:1:5"),
        ("a: 1\nb: \x01", "yaml-syntax", "f.yaml:2:4"),
        ("a: \ud800", "yaml-syntax", "f.yaml:1:4"),
        ("a: 1\nb: 2\na: 3", "duplicate-key", "f.yaml:3:1"),
        ("a: {b: 1, 'b': 2}", "duplicate-key", "f.yaml:1:11"),
        ("a: 1\n5: x", "yaml-key", "f.yaml:2:1"),
        ("true: x", "yaml-key", "f.yaml:1:1"),
        ("? \n: x", "yaml-key", "f.yaml:1:2"),
        ("? [a, b]\n: x", "yaml-key", "f.yaml:1:3"),
        ("a: &x 1\nb: *x", "yaml-alias", "f.yaml:2:4"),
        ("a: !thing 1", "yaml-tag", "f.yaml:1:4"),
        ("a: !!python/object:os.system []", "yaml-tag", "f.yaml:1:4"),
        ("a: !!int 5", "yaml-tag", "f.yaml:1:4"),
        ("--- 1\n--- 2", "yaml-documents", "f.yaml:2:1"),
        ("a: 1e999", "yaml-number", "f.yaml:1:4"),
        ("a: " + "9" * 5000, "yaml-number", "f.yaml:1:4"),
        ("[" * 100_000, "too-deep", f"f.yaml:1:{MAX_NESTING + 1}"),
    ],
)
def test_document_refuses(text: str, code: str, place: str) -> None:
    error = refused(text)
    assert (error.code, str(error.place)) == (code, place)


def test_document_alias_bomb_is_refused() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    assert refused(bomb).code == "yaml-alias"


def test_document_reports_all_duplicates_at_once() -> None:
    error = refused("a: 1\na: 2\nb: 1\nb: 2\n")
    assert isinstance(error, Faults)
    assert [str(one.place) for one in error.errors] == ["f.yaml:2:1", "f.yaml:4:1"]
    assert error.errors[0].hint == "the first one is in line 1"


def test_read_document_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    document = read_document(path)
    assert document.data == {"a": 1, "b": 2}
    assert document.place(("b",)) == Place(str(path), 2, 4)


def test_read_text_invalid_utf8_has_a_place(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("a: é\nb: ".encode() + b"\xff\n")
    with pytest.raises(Misuse) as caught:
        read_text(path)
    assert (caught.value.code, caught.value.place) == ("not-utf-8", Place(str(path), 2, 4))


def test_read_text_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 12345")
    with limited(max_file_bytes=7), pytest.raises(Misuse, match="longer than 7 bytes"):
        read_text(path)
    with limited(max_file_bytes=8):
        assert read_text(path) == "a: 12345"
    with limited(max_file_bytes=7), pytest.raises(Misuse, match="longer than 7 bytes"):
        parse_document("a: 12345")


def test_read_text_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Misuse) as caught:
        read_text(tmp_path / "none.yaml")
    assert caught.value.code == "no-such-file"
    with pytest.raises(Misuse) as caught:
        read_text(tmp_path)
    assert caught.value.code == "unreadable-file"


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("where: abc = ?", 6, "f.yaml:1:14"),
        ("where: 'abc = ?'", 6, "f.yaml:1:15"),
        ("where: 'it''s ?'", 5, "f.yaml:1:15"),
        (r'where: "a\"b\u00e9 ?"', 5, "f.yaml:1:20"),
        (r'where: "a\n\t?"', 3, "f.yaml:1:14"),
        ("where: !!str abc ?", 4, "f.yaml:1:18"),
        ("where: |\n  abc\n  d ?\n", 6, "f.yaml:3:5"),
        ("where: | # why\n\n    abc\n      ?\n", 7, "f.yaml:4:7"),
        ("where: >-\n  abc\n  d ?\n", 6, "f.yaml:3:5"),
        ("where: abc\n  d ?\n", 6, "f.yaml:2:5"),
        ("where: abc", 3, "f.yaml:1:11"),
        ("where: 'a  b'", 1, "f.yaml:1:10"),
    ],
)
def test_locate_finds_the_character(text: str, offset: int, place: str) -> None:
    document = parse_document(text, file="f.yaml")
    value = document.data["where"]
    line, column = value.count("\n", 0, offset) + 1, offset - value.rfind("\n", 0, offset)
    error = Misuse("odd", code="odd", place=Place(line=line, column=column), hint="mend it")
    located = document.locate(error, ("where",))
    assert str(located.place) == place
    assert (type(located), located.code, located.hint) == (Misuse, "odd", "mend it")


def test_locate_without_a_place_is_the_start_of_the_text() -> None:
    document = parse_document("a:\n  - 'x'\n", file="f.yaml")
    assert str(document.locate(Misuse("odd", code="odd"), ("a", 0)).place) == "f.yaml:2:6"
    assert str(document.locate(Misuse("odd", code="odd"), ("a",)).place) == "f.yaml:2:3"


def test_locate_moves_each_of_several_faults() -> None:
    document = parse_document("a: xyz", file="f.yaml")
    faults = Faults([Misuse("one", code="odd", place=Place(line=1, column=column)) for column in (1, 3)])
    located = document.locate(faults, ("a",))
    assert isinstance(located, Faults)
    assert [str(one.place) for one in located.errors] == ["f.yaml:1:4", "f.yaml:1:6"]


@given(st.text(alphabet="ab'\"\\ \nxé", min_size=1, max_size=20), st.data(), st.sampled_from(["'", '"']))
def test_locate_points_at_the_same_character_in_any_quotes(value: str, data: st.DataObject, quote: str) -> None:
    body = value.replace("\n", " ")
    written = body.replace("'", "''") if quote == "'" else body.replace("\\", "\\\\").replace('"', '\\"')
    document = parse_document(f"a: {quote}{written}{quote}\n")
    found = document.data["a"]
    visible = [index for index, char in enumerate(found) if not char.isspace()]
    if visible:
        offset = data.draw(st.sampled_from(visible))
        error = Misuse("odd", code="odd", place=Place(line=1, column=offset + 1))
        column = document.locate(error, ("a",)).place.column  # type: ignore[union-attr]
        assert column is not None
        shown = document.text[column - 1]
        assert shown in (found[offset], "\\")


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    retries: int = 0
    address: str


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    domain: str
    sources: dict[str, Inner] = {}
    steps: list[Inner] = []
    either: Inner | int | None = None
    from_: str | None = Field(default=None, alias="from")

    @field_validator("domain")
    @classmethod
    def check(cls, value: str) -> str:
        if value == "bad":
            raise ValueError("cannot be bad")
        return value


def faults_of(text: str) -> list[tuple[str, str, str, str | None]]:
    with pytest.raises(Faults) as caught:
        validate(parse_document(text, file="f.yaml"), Outer)
    return [(str(one.place), one.code, one.message, one.hint) for one in caught.value.errors]


def test_validate_gives_the_model() -> None:
    outer = validate(parse_document("domain: a\nsources: {x: {address: b}}\nfrom: c"), Outer)
    assert (outer.domain, outer.sources["x"].address, outer.from_) == ("a", "b", "c")


def test_validate_reports_everything_at_its_place() -> None:
    text = "domian: a\nsources:\n  x:\n    adress: b\n    retries: many\nsteps:\n  - address: 5\n"
    found = {(place, code): (message, hint) for place, code, message, hint in faults_of(text)}
    assert found[("f.yaml:1:1", "missing-key")][0] == "`domain` is missing"
    assert found[("f.yaml:1:1", "unknown-key")] == ("unknown key `domian`", "did you mean `domain`?")
    assert found[("f.yaml:4:5", "unknown-key")] == ("unknown key `adress`", "did you mean `address`?")
    assert found[("f.yaml:4:5", "missing-key")][0] == "`address` is missing"
    assert "`sources.x.retries`" in found[("f.yaml:5:14", "bad-value")][0]
    assert found[("f.yaml:7:14", "bad-value")][0].endswith("not 5")
    assert len(found) == 6


def test_validate_custom_errors_and_unions() -> None:
    assert faults_of("domain: bad")[0][:3] == ("f.yaml:1:9", "bad-value", "`domain`: cannot be bad")
    found = faults_of("domain: a\neither: {address: x, retrys: 1}")
    assert found == [("f.yaml:2:22", "unknown-key", "unknown key `retrys`", "did you mean `retries`?")]
    assert faults_of("domain: a\nform: b")[0][3] == "did you mean `from`?"


@pytest.mark.parametrize("text", ["", "- a", "5"])
def test_validate_root_that_is_no_mapping(text: str) -> None:
    assert faults_of(text)[0][1] == "bad-value"


def test_did_you_mean_nothing_close() -> None:
    assert did_you_mean("zzz", ["int", "float"]) is None
    assert did_you_mean("fire", ["Fire"]) == "did you mean `Fire`?"


json_like: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("aé\"'\\: #-"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab:'\" ", min_size=1), inner, max_size=4),
    max_leaves=10,
)


@given(json_like)
def test_document_reads_json_as_it_is(data: Any) -> None:
    assert parse_document(json.dumps(data, ensure_ascii=False)).data == data


@given(st.text(max_size=60))
def test_document_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Misuse):
        parse_document(text)


def test_document_without_the_c_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("comity.document.parse._LOADER", yaml.SafeLoader)
    document = parse_document("a: [on, 'x']\nb: |\n  c ?\n", file="f.yaml")
    assert document.data == {"a": ["on", "x"], "b": "c ?\n"}
    error = Misuse("odd", code="odd", place=Place(line=1, column=3))
    assert str(document.locate(error, ("b",)).place) == "f.yaml:3:5"
    assert refused("a: &x 1\nb: *x").code == "yaml-alias"
    assert refused("a: \x01").code == "yaml-syntax"
    assert refused("[" * 1000).code == "too-deep"
