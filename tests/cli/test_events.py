import json

import pytest

from comity.event import Event, encode, read_events

FIRES = [Event(str(n), "/a", "house.Fire", data={"room": "attic", "heat": 40.5 + n, "floor": n}) for n in range(3)]
LEAK = Event("9", "/a", "house.Leak", data={"room": "cellar", "litres": 5.0})


@pytest.fixture
def events(write):
    return write("in.jsonl", b"\n".join(encode(one) for one in (*FIRES, LEAK)))


@pytest.mark.parametrize("form", ["jsonl", "xml", "avro", "csv"])
def test_convert_there_and_back(comity, types, events, form):
    result = comity("events", "convert", events, "--types", types, "--as", form, "--out", f"out.{form}")
    assert (result.code, f"4 events written to out.{form}" in result.err) == (0, True)
    back = comity("events", "convert", f"out.{form}", "--types", types, "--as", "jsonl", "--out", "back.jsonl")
    assert back.code == 0
    assert list(read_events("back.jsonl")) == [*FIRES, LEAK]


def test_convert_counts_what_is_rejected(comity, types, write):
    fire = "<Fire><id>1</id><src>/a</src><room>a</room><heat>hot</heat></Fire>"
    write("in.xml", f"<all>\n{fire}\n{fire.replace('hot', '40')}\n</all>")
    result = comity("events", "convert", "in.xml", "--types", types, "--as", "jsonl", "--rejected", "no.jsonl")
    assert (result.code, json.loads(result.out)["data"]) == (2, {"room": "a", "heat": 40.0})
    assert "in.xml:2: heat expected float, found string [wrong-kind]" in result.err


def test_convert_to_avro_needs_types(comity, events):
    result = comity("events", "convert", events, "--as", "avro")
    assert (result.code, "--types" in result.err) == (2, True)
    assert comity("events", "convert", events, "--as", "xml").code == 0
