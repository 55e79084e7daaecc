import pytest

from comity.errors import ComityError, Faults, Misuse
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.expression.parse import parse
from comity.expression.scope import Scope
from comity.language.files import read_profiles, scan_profiles
from comity.limits import limited
from comity.match.match import Matcher
from comity.pattern.parameters import FIRST, Consume, Duplicates, Parameters
from comity.pattern.text.parse import parse_pattern
from comity.profile import Profile


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


# Composite profiles

HOT = "profile hot\non Heat h ; not Fan f within 5 min\nwhere h.value > 30 and f.room = h.room\nconsume delete\n"


def test_read_profiles_composite(write):
    (hot,) = read_profiles(write(HOT))
    assert (hot.name, hot.on, str(hot.place)) == ("hot", None, "profiles.txt:1:1")
    assert hot.composite.pattern == parse_pattern("Heat h ; not Fan f within 5 min")
    assert hot.composite.where is hot.where
    assert hot.composite.parameters == Parameters(consume=Consume.DELETE)


def test_read_profiles_of_lines_and_blocks(write):
    profiles = read_profiles(
        write("cold: value < 0\nprofile: x > 1\n\n" + HOT + "profile b on Heat h where h.value > 3\n")
    )
    assert [(one.name, one.composite is not None) for one in profiles] == [
        ("cold", False),
        ("profile", False),
        ("hot", True),
        ("b", True),
    ]


@pytest.mark.parametrize("name", ["rules.rdl", "rules.txt", "rules"])
def test_read_profiles_rdl(write, name):
    rule, other = read_profiles(write("rule a\nonEvent Heat h1, Heat h2;\nrule b; onEvent Fire f", name))
    assert rule.composite.pattern == parse_pattern("Heat h1 & Heat h2")
    assert (other.name, str(other.place)) == ("b", f"{name}:3:1")


def test_read_profiles_yaml_composite(write):
    lines = [
        "profiles:",
        "  simple: {on: Heat, where: value > 30}",
        "  a: {on: Heat h ; Fan f within 5 min, where: h.value > 30, domain: house}",
        "  b: {on: Heat, duplicates: 2, consume: delete, limit: 10, ties: event.sequence, version: 2}",
        "  c:",
        "    on: |",
        "      Heat h &",
        "      Fan f",
        "    duplicates: first, h 2..4",
        "    ties: by event.sequence",
        "  d: {on: 'urn:a:b'}",
    ]
    simple, a, b, c, d = read_profiles(write("\n".join(lines), "p.yaml"))
    assert (simple.composite, simple.on) == (None, "Heat")
    assert (a.composite.pattern, a.domain, a.on) == (parse_pattern("Heat h ; Fan f within 5 min"), "house", None)
    assert b.composite.pattern == parse_pattern("Heat")
    assert b.composite.parameters == Parameters(
        duplicates=Duplicates(2, 2), consume=Consume.DELETE, limit=10, ties=("event", "sequence"), version=2
    )
    assert c.composite.pattern == parse_pattern("Heat h & Fan f")
    assert c.composite.parameters.own_duplicates == {"h": Duplicates(2, 4)}
    assert (c.composite.parameters.duplicates, c.composite.parameters.ties) == (FIRST, ("event", "sequence"))
    assert (d.composite, d.on) == (None, "urn:a:b")


def test_read_profiles_composite_has_every_fault_with_its_place(write):
    text = "hot: x >\n" + HOT + "profile hot\non A ;\n  B x[0]\nwhere x >\nprofile b-?\non A\n"
    assert _faults(write(text)) == [
        ("profiles.txt:1:9", "syntax"),
        ("profiles.txt:8:7", "syntax"),
        ("profiles.txt:9:10", "syntax"),
        ("profiles.txt:10:9", "bad-name"),
    ]


def test_read_profiles_of_one_name(write):
    assert _faults(write("hot: x > 1\n" + HOT + HOT)) == [
        ("profiles.txt:2:1", "duplicate-profile"),
        ("profiles.txt:6:1", "duplicate-profile"),
    ]


def test_read_profiles_rdl_has_every_fault_with_its_place(write):
    text = "rule a onEvent A a where a.x >\nrule b onEvent A a\nrule b onEvent A a"
    assert _faults(write(text, "r.rdl")) == [("r.rdl:1:31", "syntax"), ("r.rdl:3:1", "duplicate-profile")]


def test_read_profiles_yaml_composite_has_every_fault_with_its_place(write):
    lines = [
        "profiles:",
        "  a: {on: Heat h ; not Fan f, where: h.value >, consume: none, limit: 0}",
        "  b: {duplicates: first}",
        "  c: {on: Heat, limit: [1], version: true}",
        "  d: {on: Heat h, duplicate: first}",
        "  two words: {on: Heat h}",
        "  e: {on: Heat h, duplicates: 'first, x last'}",
        "  f:",
        "    on: >",
        "      Heat h ;",
        "      Fan h",
    ]
    assert _faults(write("\n".join(lines), "p.yaml")) == [
        ("p.yaml:2:20", "syntax"),
        ("p.yaml:2:47", "syntax"),
        ("p.yaml:2:58", "syntax"),
        ("p.yaml:2:71", "syntax"),
        ("p.yaml:3:6", "missing-key"),
        ("p.yaml:4:38", "bad-value"),
        ("p.yaml:4:24", "bad-value"),
        ("p.yaml:5:19", "unknown-key"),
        ("p.yaml:6:3", "bad-name"),
        ("p.yaml:7:39", "unknown-operand"),
        ("p.yaml:11:11", "duplicate-operand"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("profile a\non A a ; B b\nwhere a.x > 1\n  and c.x > 2", "p.txt", "p.txt:4:7 (c.x)"),
        ("rule a onEvent A a, B b\nwhere a.x > 1 and b.event.nope > 1", "p.rdl", "p.rdl:2:19 (b.event.nope)"),
        ("profiles:\n  a:\n    on: A a ; B b\n    where: c.x > 2", "p.yaml", "p.yaml:4:12 (c.x)"),
    ],
)
def test_bind_composite_points_into_the_file(write, text, name, place):
    (profile,) = read_profiles(write(text, name))
    with pytest.raises(ComityError) as caught:
        profile.bind_composite()
    assert str(caught.value.place) == place


def test_bind_composite_with_types(write):
    taxonomy = Taxonomy("house", [EventType("Heat", "house", own={"value": AttributeType(Kind.FLOAT)})])
    text = (
        "profile a\non Heat h\nwhere value > 3\nprofile b\non Heat h ;\n  Fire f\nprofile c\non Heat h\nties by value\n"
    )
    a, b, c = read_profiles(write(text))
    assert a.bind_composite(taxonomy).name == "a"
    for profile, place, code in [
        (b, "profiles.txt:5:4", "unknown-type"),
        (c, "profiles.txt:9:6 (value)", "wrong-kind"),
    ]:
        with pytest.raises(ComityError) as caught:
            profile.bind_composite(taxonomy)
        assert (str(caught.value.place), caught.value.code) == (place, code)


def test_what_is_about_single_events_refuses_a_composite_profile(write):
    profiles = read_profiles(write("cold: value < 0\n" + HOT))
    with pytest.raises(Faults) as caught:
        Matcher(profiles)
    (fault,) = caught.value.errors
    assert (str(fault.place), fault.code, fault.hint) == (
        "profiles.txt:3:4",
        "composite-profile",
        "use `comity detect`",
    )
