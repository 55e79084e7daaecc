"""`comity trace`."""

import json

import pytest

PROFILES = """
profile hot_and_unventilated
on Heat h ; not Ventilation v within 5 min
where h.value > 30 and v.room = h.room
duplicates first
consume delete
"""
SECOND_PROFILE = """
profile twice
on Heat h1 ; Heat h2 within 1 h
"""
EVENTS = [
    ("h1", "Heat", "10:00:00", {"value": 34, "room": "attic"}),
    ("v1", "Ventilation", "10:02:00", {"room": "attic"}),
    ("h2", "Heat", "10:03:00", {"value": 28, "room": "attic"}),
    ("h3", "Heat", "10:07:00", {"value": 36, "room": "attic"}),
    ("h4", "Heat", "10:01:00", {"value": 31, "room": "cellar"}),
    ("x1", "Door", "10:20:00", {}),
]


def line(id, type, clock, data):
    return json.dumps({"id": id, "source": "/house", "type": type, "time": f"2026-05-01T{clock}Z", "data": data})


@pytest.fixture
def profiles(write):
    return write("profiles.txt", PROFILES)


@pytest.fixture
def events(write):
    return write("events.jsonl", "".join(line(*one) + "\n" for one in EVENTS))


def test_trace_tells_what_happened_at_each_time(comity, profiles, events):
    result = comity("trace", profiles, events)
    assert result.code == 0
    assert result.out.startswith("profile hot_and_unventilated\n  on Heat h ; not Ventilation v within 5 min\n")
    for expected in (
        "10:00:00  h1  • candidate of h",
        "… waits for no v after h1 until 10:05:00",
        "✗ no v from 10:00:00 to 10:05:00 for h1: ended by v1 at 10:02:00",
        "h2  · no candidate: h: value > 30 is false, value = 28",
        "✓ no v from 10:07:00 to 10:12:00 for h3: fulfilled",
        "× consumed h1, v1, h3 (consume delete)",
        "key cellar",
        "10:20:00  x1  no operand is about Door",
        "2 reports from 6 events",
    ):
        assert expected in result.out
    assert "\x1b" not in result.out


def test_trace_as_json_has_everything(comity, profiles, events):
    found = json.loads(comity("trace", profiles, events, "--format", "json").out)
    assert [report["events"] for report in found["reports"]] == [{"h": "h4"}, {"h": "h3"}]
    assert [one["key"] for one in found["traces"]] == ["attic", "cellar"]
    attic = found["traces"][0]
    assert [one["outcome"] for one in attic["absences"]] == ["broken", "held"]
    assert attic["closings"][0]["consumed"][0] == {"id": "h1", "source": "/house"}
    told = {one["id"]: one["operands"] for one in found["events"]}
    assert told["h2"]["h"]["failed"] == [{"text": "value > 30", "values": "value = 28"}]
    assert told["v1"]["v"]["candidate"]
    assert [one["id"] for one in found["others"]] == ["x1"]


def test_trace_draws_a_timeline(comity, profiles, events, tmp_path):
    result = comity("trace", profiles, events, "--svg", "hot.svg")
    assert result.code == 0
    assert (tmp_path / "hot.svg").read_text(encoding="utf-8").startswith("<svg xmlns=")
    refused = comity("trace", profiles, events, "--svg", events)
    assert refused.code == 2
    assert "overwrites-input" in refused.err


def test_trace_takes_a_part_of_the_events(comity, profiles, events):
    one = comity("trace", profiles, events, "--key", "cellar").out
    assert "key cellar" in one
    assert "attic" not in one
    late = comity("trace", profiles, events, "--from", "2026-05-01T10:05:00Z", "--until", "2026-05-01T10:11:00Z").out
    assert "h1" not in late
    assert "no v from 10:07:00 to 10:12:00 for h3: not over yet" in late
    assert "0 reports from 1 event" in late


def test_trace_needs_the_name_of_one_of_several_profiles(comity, write, events):
    several = write("several.txt", PROFILES + SECOND_PROFILE)
    result = comity("trace", several, events)
    assert result.code == 2
    assert "hint: choose one with --profile: hot_and_unventilated, twice" in result.err
    assert "profile twice" in comity("trace", several, events, "--profile", "twice").out
    unknown = comity("trace", several, events, "--profile", "twise")
    assert unknown.code == 2
    assert "did you mean `twice`?" in unknown.err


def test_trace_is_about_composite_profiles(comity, write, events):
    plain = write("plain.txt", "hot: value > 30\n")
    result = comity("trace", plain, events)
    assert result.code == 2
    assert "no-composite-profile" in result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--key", "garden"), "no-such-key"),
        (("--until", "noon"), "bad-timestamp"),
        (("--from", "2026-05-01"), "bad-timestamp"),
    ],
)
def test_trace_refuses_what_it_cannot_use(comity, profiles, events, arguments, code):
    result = comity("trace", profiles, events, *arguments)
    assert result.code == 2
    assert f"[{code}]" in result.err
    assert not result.out


def test_trace_refuses_too_many_events(comity, profiles, events, monkeypatch):
    from comity.limits import limited

    with limited(max_traced_events=3):
        result = comity("trace", profiles, events)
    assert result.code == 2
    assert "there are more than 3 events to trace [trace-too-large]" in result.err
    assert "cut them with --from, --until or --key" in result.err


def test_trace_rejects_events_without_a_time(comity, profiles, write):
    mixed = write("mixed.jsonl", line(*EVENTS[0]) + '\n{"id": "t", "source": "/s", "type": "Heat"}\n')
    result = comity("trace", profiles, mixed, "--rejected", "rejected.jsonl")
    assert result.code == 0
    assert "1 of 2 records were rejected" in result.err
    assert "1 report from 1 event" in result.out


def test_trace_uses_types(comity, write, events):
    profiles = write("typed.txt", "profile p\non Fire f ; Leak l within 5 min\nwhere f.heat > 40 degC\n")
    types = write("types.yaml", "domain: house\ntypes:\n  Fire: {attributes: {heat: float degF}}\n  Leak: {}\n")
    result = comity("trace", profiles, events, "--types", types)
    assert result.code == 0
    assert "f.heat > 104" in result.out


def test_trace_help_has_an_example(comity):
    assert "comity trace profiles.txt events.jsonl" in comity("trace", "--help").out
