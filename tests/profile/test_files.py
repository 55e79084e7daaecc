import pytest

from comity.errors import ComityError, Faults, Misuse
from comity.expression.parse import parse
from comity.expression.scope import Scope
from comity.limits import limited
from comity.profile import Profile, read_profiles
from comity.profile.files import scan_profiles


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="profiles.txt"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write


def _faults(path):
    with pytest.raises(Faults) as caught:
        read_profiles(path)
    return [(str(error.place), error.code) for error in caught.value.errors]


def test_read_profiles_text(write):
    path = write("# heat\nhot: temperature > 30 degC\n\n  cold-1.b :  room = 'a: b'  \r\n")
    hot, cold = read_profiles(path)
    assert (hot.name, hot.where.tree, hot.on, hot.domain) == ("hot", parse("temperature > 30 degC"), None, None)
    assert (cold.name, cold.where.text) == ("cold-1.b", "room = 'a: b'")
    assert str(cold.place) == "profiles.txt:4:3"


def test_read_profiles_of_an_empty_file(write):
    assert read_profiles(write("")) == []


def test_read_profiles_keeps_a_number_sign_inside_a_filter(write):
    (profile,) = read_profiles(write("a: room = '#1'"))
    assert profile.where.text == "room = '#1'"


@pytest.mark.parametrize("name", ["profiles.yaml", "profiles.yml", "profiles", "profiles.txt"])
def test_read_profiles_yaml(write, name):
    lines = ["# mine", "profiles:", "  hot: temperature > 30", "  fires: {on: Fire, where: heat > 5, domain: station}"]
    hot, fires, everything = read_profiles(write("\n".join([*lines, "  all: {on: Fire}"]), name))
    assert hot == Profile.of("hot", "temperature > 30")
    assert fires == Profile.of("fires", "heat > 5", on="Fire", domain="station")
    assert everything == Profile.of("all", "true", on="Fire")


def test_read_profiles_text_has_every_fault_with_its_place(write):
    path = write("good: x > 1\nno filter\nbad: x >\ngood: y > 1\na b: x = 1\nvalue: x + 1\nmany: a = 'x\n empty:\n")
    assert _faults(path) == [
        ("profiles.txt:2:1", "syntax"),
        ("profiles.txt:3:9", "syntax"),
        ("profiles.txt:4:1", "duplicate-profile"),
        ("profiles.txt:5:1", "bad-name"),
        ("profiles.txt:6:8", "not-a-filter"),
        ("profiles.txt:7:11", "syntax"),
        ("profiles.txt:8:8", "syntax"),
    ]


def test_read_profiles_yaml_has_every_fault_with_its_place(write):
    lines = [
        "profiles:",
        "  a: x >",
        "  b: {wher: x > 1}",
        "  c: 'it''s bad'",
        "  d: 5",
        "  e: [1]",
        "  f: {on: 3}",
        "  g:",
    ]
    lines += ["  h: |", "    x > 1", "    and y >< 2", "  two words: x > 1"]
    assert _faults(write("\n".join(lines), "p.yaml")) == [
        ("p.yaml:2:9", "syntax"),
        ("p.yaml:3:7", "unknown-key"),
        ("p.yaml:4:9", "syntax"),
        ("p.yaml:5:6", "bad-value"),
        ("p.yaml:6:6", "bad-value"),
        ("p.yaml:7:11", "bad-value"),
        ("p.yaml:8:5", "bad-value"),
        ("p.yaml:11:12", "syntax"),
        ("p.yaml:12:3", "bad-name"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("profiles: 3", "p.yaml:1:11", "missing-key"),
        ("[]", "p.yaml:1:1", "missing-key"),
        ("", "p.yaml:1:1", "missing-key"),
        ("domain: house", "p.yaml:1:1", "missing-key"),
        ("profiles: {a: x > 1}\nprofile: {}", "p.yaml:2:1", "unknown-key"),
    ],
)
def test_read_profiles_yaml_of_another_shape(write, text, place, code):
    assert _faults(write(text, "p.yaml")) == [(place, code)]


@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        (b"a: x = '\xff'", "p.txt", "not-utf-8"),
        (b"profiles: {a: x = 1, a: x = 2}", "p.yaml", "duplicate-key"),
        (b"profiles: {", "p.yaml", "yaml-syntax"),
    ],
)
def test_read_profiles_that_cannot_be_read(write, content, name, code):
    with pytest.raises(Misuse) as caught:
        read_profiles(write(content, name))
    assert caught.value.code == code
    assert caught.value.place.file == name


def test_read_profiles_bounds(write):
    path = write("a: x > 1\nb: y = 'long long'\n")
    with limited(max_filter_chars=8):
        assert _faults(path) == [("profiles.txt:2:4", "expression-too-long")]
    with limited(max_file_bytes=8), pytest.raises(Misuse, match="longer than 8 bytes"):
        read_profiles(path)


def test_read_profiles_with_a_10_mb_filter(write):
    path = write("a: x > 1\nb: " + "x > 1 or " * 1_200_000 + "y > 1\n")
    assert _faults(path) == [("profiles.txt:2:4", "expression-too-long")]


def test_read_profiles_nested_10_000_deep(write):
    path = write("a: " + "not " * 10_000 + "x\nb: " + "(" * 10_000 + "x > 1" + ")" * 10_000)
    assert _faults(path) == [("profiles.txt:1:4", "expression-too-deep")]


def test_read_profiles_of_many_blank_lines_is_quick(write):
    assert read_profiles(write(" \n" * 100_000 + "#\n" * 100_000)) == []


def test_scan_profiles_gives_the_good_ones_beside_the_faults(write):
    profiles, faults = scan_profiles(write("a: x > 1\nb: x >\nc: y > 1"))
    assert [profile.name for profile in profiles] == ["a", "c"]
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("a: x > 1\nb: y > 1 and event.nope = 2", "p.txt", "p.txt:2:14 (event.nope)"),
        ("profiles:\n  b: >\n    y > 1\n    and event.nope = 2\n", "p.yaml", "p.yaml:4:9 (event.nope)"),
        ("profiles:\n  b:\n    where: \"'it' = y and event.nope = 2\"\n", "p.yaml", "p.yaml:3:26 (event.nope)"),
    ],
)
def test_bind_points_into_the_file(write, text, name, place):
    profile = read_profiles(write(text, name))[-1]
    with pytest.raises(ComityError) as caught:
        profile.bind(Scope())
    assert str(caught.value.place) == place
