"""Profiles of one event that are written as patterns or in RDL are filters for `comity match`."""

import json

import pytest

EVENTS = "".join(
    f'{{"id":"{number}","source":"/house","type":"{type}","time":"2026-05-01T10:00:0{number}Z","data":{{"value":{value}}}}}\n'
    for number, (type, value) in enumerate([("HeatEvent", 30), ("HeatEvent", 20), ("LightEvent", 30)])
)
RULES = """\
rule all onEvent HeatEvent h1;
rule warm onEvent HeatEvent h1; where h1.value > 25;
rule any onEvent Event e; where value >= 30 and ! e.time < e.time;
"""
TEXT = """\
profile all
on HeatEvent h1
profile warm on HeatEvent h1 where value > 25
profile any on Event e where e.value >= 30
"""
FOUND = [("all", "0"), ("warm", "0"), ("any", "0"), ("all", "1"), ("any", "2")]


def _pairs(text):
    return [(line["profile"], line["event"]) for line in map(json.loads, text.splitlines())]


@pytest.mark.parametrize(("file", "text"), [("rules.rdl", RULES), ("profiles.txt", TEXT)])
def test_a_pattern_of_one_event_is_a_filter(comity, write, file, text):
    result = comity("match", write(file, text), write("e.jsonl", EVENTS))
    assert (result.code, result.err, _pairs(result.out)) == (0, "", FOUND)


def test_a_pattern_of_several_events_is_none(comity, write):
    rules = write("rules.rdl", RULES + "rule both onEvent HeatEvent h, LightEvent l;\n")
    result = comity("match", rules, write("e.jsonl", EVENTS))
    assert (result.code, result.out) == (2, "")
    assert "rules.rdl:4:1: 'both' is a composite profile" in result.err
    assert "comity detect" in result.err


@pytest.mark.parametrize("clause", ["duplicates first", "limit 1", "ties by value"])
def test_a_pattern_of_one_event_that_chooses_is_none(comity, write, clause):
    result = comity("match", write("p.txt", f"profile p\non HeatEvent h\n{clause}\n"), write("e.jsonl", EVENTS))
    assert (result.code, "[composite-profile]" in result.err) == (2, True)


@pytest.mark.parametrize(("path", "column"), [("h1.heat", 8), ("heat", 8)])
def test_faults_stand_where_they_are_written(comity, write, path, column):
    types = write("types.yaml", "domain: house\ntypes:\n  HeatEvent: {attributes: {value: int}}\n")
    rules = write("rules.rdl", f"rule warm\nonEvent HeatEvent h1;\n where {path} > 25;\n")
    result = comity("match", rules, write("e.jsonl", EVENTS), "--types", types)
    assert (result.code, f"rules.rdl:3:{column} ({path}): HeatEvent has no attribute 'heat'" in result.err) == (2, True)
