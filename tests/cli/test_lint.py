import json
import shutil
from pathlib import Path

import pytest

CITY = Path(__file__).parents[2] / "examples" / "two_houses"


def _lint(comity, *paths):
    result = comity("lint", *paths, "--format", "json")
    faults = json.loads(result.out)["faults"]
    assert result.code == (2 if faults else 0)
    return [(Path(one["file"]).name, one.get("line"), one.get("column"), one["code"]) for one in faults]


def test_lint_of_good_files(comity, types, write):
    profiles = write("p.txt", "a: x > 1\n")
    more = write("p.yaml", "profiles: {a: x > 1, b: {on: T, where: y = 'a'}}")
    result = comity("lint", types, profiles, more)
    assert (result.code, result.out) == (0, "")
    assert "3 paths checked, no faults" in result.err


def test_lint_prints_a_line_for_each_fault(comity, write):
    write("p.txt", "a: x >\nb: x > 1 nosuchunit\n")
    result = comity("lint", "p.txt")
    assert result.code == 2
    assert "p.txt:1:7: the expression ends too early [syntax]\n" in result.out
    assert "p.txt:2:4: there is no unit 'nosuchunit' [unknown-unit]\n" in result.out


def test_lint_of_composite_profiles(comity, write):
    hot = "profile hot\non Heat h ; not Fan f within 5 min\nwhere h.value > 30\n"
    good = [write("a.txt", "a: x > 1\n" + hot), write("b.rdl", "rule b onEvent Heat h, Fan f where h.value > f.value")]
    assert _lint(comity, *good, write("c.yaml", "profiles: {c: {on: Heat h | Fan f}}")) == []
    bad = write("d.txt", "a: x > 1 nounit\n" + hot + "  and x.y > 1\nprofile b\non A ; B within 5\n")
    assert _lint(comity, bad) == [
        ("d.txt", 1, 4, "unknown-unit"),
        ("d.txt", 5, 7, "unknown-operand"),
        ("d.txt", 7, 17, "syntax"),
    ]


def test_lint_of_types(comity, write):
    text = "domain: a\ntypes:\n  A: {extends: B}\n  B: {extends: A}\n  C: {attributes: {x: flaot, y: int nounit}}\n"
    assert _lint(comity, write("t.yaml", text)) == [
        ("t.yaml", 3, 16, "cyclic-inheritance"),
        ("t.yaml", 5, 23, "unknown-kind"),
        ("t.yaml", 5, 37, "unknown-unit"),
    ]


def test_lint_goes_on_after_a_bad_file(comity, write):
    write("a.txt", "a: x >")
    write("b.yaml", "profiles: {b: y <}")
    write("c.txt", b"c: '\xff'")
    assert _lint(comity, "a.txt", "nope.txt", "b.yaml", "c.txt", "nope.yaml") == [
        ("a.txt", 1, 7, "syntax"),
        ("nope.txt", None, None, "no-such-file"),
        ("b.yaml", 1, 18, "syntax"),
        ("c.txt", 1, 5, "not-utf-8"),
        ("nope.yaml", None, None, "no-such-file"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.yaml", "colour: red", "unknown-file"),
        ("a.yaml", "[]", "unknown-file"),
        ("a.yaml", "types: {", "yaml-syntax"),
        ("a.jsonl", "{}", "unknown-file"),
        ("a.yaml", "profiles: {a: x > 1, a: x > 2}", "duplicate-key"),
        ("a.txt", "a: " + "not " * 10_000 + "x", "expression-too-deep"),
        ("a.txt", "a: " + "x > 1 or " * 1_200_000 + "x", "expression-too-long"),
        ("a.yaml", "profiles: " + "[" * 10_000, "too-deep"),
    ],
)
def test_lint_of_bad_files(comity, write, name, content, code):
    assert [fault[-1] for fault in _lint(comity, write(name, content))] == [code]


def test_lint_without_a_path(comity):
    assert comity("lint").code == 2


def test_lint_of_the_example(comity):
    assert _lint(comity, CITY) == []


def test_lint_checks_a_file_of_a_federation_together_with_the_others(comity, write):
    for path in CITY.rglob("*.yaml"):
        write(path.relative_to(CITY).as_posix(), path.read_bytes())
    (profile,) = (CITY / "profiles").iterdir()
    bad = profile.read_text().replace("level >= 2", "levle >= 2")
    name = f"profiles/{profile.name}"
    write(name, bad)
    assert [fault[-1] for fault in _lint(comity, name)] == ["unknown-attribute"]
    assert [fault[-1] for fault in _lint(comity, ".")] == ["unknown-attribute"]
    assert _lint(comity, "domains/house_a.yaml", "contracts/fire.yaml", "federation.yaml") == []


def test_lint_checks_text_profiles_of_a_federation_together_with_it(comity, tmp_path):
    city = Path(shutil.copytree(CITY, tmp_path / "city"))
    rules = city / "profiles" / "fire_station.rdl"
    rules.write_text("rule growing onEvent Incident a, Incidnt b where b.temperature > a.temperature;")
    assert _lint(comity, city) == [("fire_station.rdl", 1, 1, "unknown-type")]
    assert _lint(comity, rules) == [("fire_station.rdl", 1, 1, "unknown-type")]
    rules.write_text(rules.read_text().replace("Incidnt", "Incident"))
    assert _lint(comity, city, rules) == []


def test_lint_notes_files_that_look_as_if_they_were_meant(comity, tmp_path):
    city = Path(shutil.copytree(CITY, tmp_path / "city"))
    for name in ("profiles/more.YAML", "profiles/simple.txt", "old.json", "notes.md", ".hidden.txt"):
        (city / name).write_text("hot: x > 1\n")
    result = comity("lint", city)
    assert result.code == 0
    assert [line.partition(": ")[0] for line in result.out.splitlines() if "[unread-file]" in line] == [
        str(city / name) for name in ("old.json", "profiles/more.YAML", "profiles/simple.txt")
    ]
    assert "no faults, 3 notes" in result.err
    told = json.loads(comity("lint", city, "--format", "json").out)
    assert [Path(one["file"]).name for one in told["notes"]] == ["old.json", "more.YAML", "simple.txt"]


def test_lint_notes_profiles_that_no_event_can_reach(comity, tmp_path):
    """Here the domain that observes is the only one that gives, and does not ask for its own events."""
    assert comity("examples", "two_houses", "--to", "city").code == 0
    profiles = tmp_path / "city" / "profiles" / "fire_station.yaml"
    more = "  own:\n    domain: house_a\n    on: fire.FireAlarm\n    where: level > 2\n    scope: [fire_station]\n"
    profiles.write_text(profiles.read_text() + more)
    result = comity("lint", "city")
    assert result.code == 0, result.err
    assert "no event can reach 'own'" in result.out
    assert "[unreached-profile]" in result.out
    assert "1 note" in result.err
