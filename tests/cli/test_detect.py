"""`comity detect`: what it prints, what it refuses, and that both engines say the same."""

import json

import pytest

EVENT = '{"id":"%s","source":"/s","type":"house.%s","time":"2026-05-01T10:00:%02dZ","data":%s}\n'
PROFILES = """\
profile spreading
on house.Fire a ; house.Fire b within 10 s
where a.room = b.room

profile unanswered
on house.Fire f ; not house.Leak l within 5 s
where l.room = f.room
"""
FIRE, LEAK = '{"heat":50.0,"room":"%s"}', '{"litres":1.0,"room":"%s"}'


@pytest.fixture
def profiles(write):
    return write("p.txt", PROFILES)


@pytest.fixture
def events(write):
    lines = [
        EVENT % ("f1", "Fire", 0, FIRE % "attic"),
        EVENT % ("f2", "Fire", 4, FIRE % "attic"),
        EVENT % ("f3", "Fire", 5, FIRE % "hall"),
        EVENT % ("l1", "Leak", 9, LEAK % "attic"),
        '{"id":"9","source":\n',
    ]
    return write("events/a.jsonl", "".join(lines))


def told(out):
    return [(one["profile"], one["events"], one["end"][-3:]) for one in map(json.loads, out.splitlines())]


REPORTS = [
    ("spreading", {"a": "f1", "b": "f2"}, "04Z"),
    ("unanswered", {"f": "f1"}, "05Z"),
    ("unanswered", {"f": "f3"}, "10Z"),
]


def test_detect_prints_a_line_for_each_report(comity, profiles, events):
    result = comity("detect", profiles, events)
    assert result.code == 0
    assert told(result.out) == REPORTS
    assert "1 of 5 records were rejected" in result.err


def test_detect_until_leaves_out_what_comes_after(comity, profiles, events):
    assert told(comity("detect", profiles, events, "--until", "2026-05-01T10:00:05Z").out) == REPORTS[:2]


def test_detect_count(comity, profiles, events):
    result = comity("detect", profiles, events, "--count", "--format", "json")
    found = json.loads(result.out)
    assert found == {"total": 3, "profiles": {"spreading": 1, "unanswered": 2}, "events": 4, "late": 0, "rejected": 1}


def test_detect_of_a_stream_keeps_late_events_apart(start, profiles, events):
    # The first 20,000 events are looked at together; the late one comes after them.
    many = "".join(EVENT % (f"x{at}", "Other", 30, "{}") for at in range(20_000))
    late = EVENT % ("late", "Fire", 1, FIRE % "hall")
    process = start("detect", "p.txt", "-", "--stream", "--rejected", "r.jsonl", stdin=-1)
    out, err = process.communicate((events.read_text() + many + late).encode(), timeout=60)
    assert process.returncode == 0, err
    assert told(out.decode()) == REPORTS
    assert b"1 event came too late" in err
    kept = (profiles.parent / "r.jsonl").read_text()
    assert [json.loads(line)["faults"][0]["code"] for line in kept.splitlines()] == ["truncated-json", "late"]


def test_detect_of_a_stream_refuses_state_without_bound(comity, write):
    profiles = write("p.txt", "profile p\non A a ; B b\n")
    result = comity("detect", profiles, "-", "--stream")
    assert result.code == 2
    assert "[unbounded-pattern]" in result.err


@pytest.mark.parametrize(
    "option", [("--until", "2026-05-01"), ("--count",), ("--rejected", "r.jsonl"), ("--clock",)], ids=lambda one: one[0]
)
def test_detect_of_a_stream_on_spark_refuses_what_it_cannot_do(comity, profiles, events, option):
    result = comity("detect", profiles, events.parent, "--engine", "spark", "--stream", "--out", "o", *option)
    assert result.code == 2
    assert f"a stream on Spark has no {option[0]}" in result.err


def test_detect_of_a_stream_on_spark_needs_a_folder(comity, profiles, events):
    result = comity("detect", profiles, events.parent, "--engine", "spark", "--stream")
    assert result.code == 2
    assert "[no-out]" in result.err


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [[], ["--types", "types.yaml"]])
def test_detect_on_spark_equals_local(comity, profiles, events, types, options):
    found = [comity("detect", profiles, events.parent, "--engine", one, *options) for one in ("local", "spark")]
    assert [one.code for one in found] == [0, 0], found[1].err
    assert told(found[0].out) == told(found[1].out) == REPORTS


@pytest.mark.usefixtures("spark")
def test_detect_of_a_stream_on_spark_reports_into_a_folder(comity, profiles, events, write):
    write("events/b.jsonl", EVENT % ("x", "Other", 59, "{}"))  # completes the time of the others
    write("events/notes.json", "{}")
    options = ["--engine", "spark", "--stream", "--until-empty", "--out", "o", "--format", "json"]
    result = comity("detect", profiles, events.parent, *options)
    assert result.code == 0, result.err
    lines = [line for path in sorted(profiles.parent.glob("o/reports/*")) for line in path.read_text().splitlines()]
    assert sorted(told("\n".join(lines)), key=lambda one: one[2]) == REPORTS
    assert "not read: notes.json" in result.err.replace("\n", " ")
