"""Proposals for contracts: what is sure is what a person would write, what is not is said, and all of it loads."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.contract.suggest import contract_text, propose
from comity.contract.suggest.assignment import assign
from comity.contract.suggest.attributes import candidates
from comity.contract.suggest.correspondence import line_from, table_from, time_format_of
from comity.contract.suggest.evidence import PAIRED, SURE, Judge
from comity.contract.suggest.names import likeness, words
from comity.document import parse_document
from comity.errors import Misuse
from comity.event import Event
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType, EventType
from comity.federation import load
from comity.limits import limited
from comity.meaning.units import check_unit

CITY_BUS = """
domain: city
types:
  BusLocation:
    attributes:
      Line: string
      Time: timestamp
      Location: {kind: struct, attributes: {Street: string, City: string, Country: string}}
"""
LOCAL_BUS = """
domain: local
types:
  BusPosition: {attributes: {BusLine: string, Time: string, LocationName: string}}
"""
HOUSE_A = """
domain: house_a
types:
  FireDetected: {attributes: {room: string, heat: float degF, smoke: int percent?}}
"""
HOUSE_B = """
domain: house_b
types:
  Brand:
    attributes:
      place: {kind: struct, attributes: {floor: int, room: string}}
      celsius: float degC
      severity: string
      battery: int percent?
"""
ENTER_A = "domain: house_a\ntypes: {enter: {attributes: {personName: string, roomName: string}}}\n"
ENTER_B = "domain: house_b\ntypes: {Enter: {attributes: {room: string, person: string, houseID: int}}}\n"


def _type(text):
    return Taxonomy.from_document(parse_document(text), check_unit=check_unit).types[0]


def _of(attributes, domain="a"):
    return _type(f"domain: {domain}\ntypes: {{T: {{attributes: {{{attributes}}}}}}}")


def _maps(proposal):
    return {one.name: (one.left.expression, one.right.expression) for one in proposal.attributes}


def _codes(proposal):
    return [one.code for one in proposal.decisions]


def _loaded(tmp_path, *domains, contract):
    for number, text in enumerate(domains):
        (tmp_path / f"domain_{number}.yaml").write_text(text)
    (tmp_path / "contract.yaml").write_text(contract)
    return load(tmp_path)


def _events(type, *rows, first=1):
    return [Event(str(number), "/x", type.qualified_name, data=row) for number, row in enumerate(rows, start=first)]


# The pairs of types of the seeds and of the examples


def test_propose_for_the_enter_events_of_two_houses(tmp_path):
    found = propose(_type(ENTER_A), _type(ENTER_B))
    assert _maps(found) == {"person": ("personName", "person"), "room": ("roomName", "room")}
    assert all(one.sure for one in found.attributes)
    assert [(one.about, one.code) for one in found.decisions] == [("houseID", "unmatched")]
    contract = _loaded(tmp_path, ENTER_A, ENTER_B, contract=contract_text(found)).contracts["enter"]
    assert contract.founders == ("house_a", "house_b")
    assert list(contract.type.attributes) == ["person", "room"]


def test_propose_for_two_fire_types(tmp_path):
    found = propose(_type(HOUSE_A), _type(HOUSE_B))
    assert _maps(found) == {"room": ("room", "place.room"), "heat": ("heat", "celsius")}
    assert all(one.sure for one in found.attributes)
    assert {one.attribute.name for one in found.unmatched} == {"smoke", "place.floor", "severity", "battery"}
    federation = _loaded(tmp_path, HOUSE_A, HOUSE_B, contract=contract_text(found))
    (mapping,) = federation.contracts["fire_detected"].members["house_b"]
    (event,) = _events(_type(HOUSE_B), {"place": {"floor": 1, "room": "hall"}, "celsius": 30.0, "severity": "hoch"})
    assert mapping.apply(event).data == {"room": "hall", "heat": 86.0}


def test_propose_for_two_fire_types_works_once_the_decisions_are_made(tmp_path):
    text = contract_text(propose(_type(HOUSE_A), _type(HOUSE_B)))
    decided = (
        text.replace("# severity: string?", "level: int")
        .replace("\nmembers:", "\ntables: {severities: {niedrig: 1, hoch: 3}}\n\nmembers:")
        .replace("      # smoke: smoke", "      level: 'if heat > 200 degF then 3 else 1'")
        .replace("      # severity: severity", "      level: lookup('severities', severity)")
    )
    contract = _loaded(tmp_path, HOUSE_A, HOUSE_B, contract=decided).contracts["fire_detected"]
    (mapping,) = contract.members["house_a"]
    (event,) = _events(_type(HOUSE_A), {"room": "hall", "heat": 250.0})
    assert mapping.apply(event).data == {"room": "hall", "heat": 250.0, "level": 3}


def test_propose_for_the_bus_pair_without_samples(tmp_path):
    found = propose(_type(CITY_BUS), _type(LOCAL_BUS))
    assert _maps(found) == {
        "Line": ("Line", "BusLine"),
        "Time": ("Time", None),
        "Location": ("Location.Street + ', ' + Location.City + ', ' + Location.Country", "LocationName"),
    }
    assert [one.name for one in found.attributes if one.sure] == ["Line"]
    assert sorted(_codes(found)) == ["function-needed", "lossy"]
    contract = _loaded(tmp_path, CITY_BUS, LOCAL_BUS, contract=contract_text(found)).contracts["bus_location"]
    assert contract.type.attributes["Time"].optional
    assert not contract.type.attributes["Line"].optional


def test_propose_for_the_bus_pair_with_samples_takes_the_text_apart(tmp_path):
    city, local = _type(CITY_BUS), _type(LOCAL_BUS)
    places = [("Main Street", "London"), ("High Street", "Leeds"), ("Elm Road", "York")]
    events = _events(city, *({"Line": "7", "Location": {"Street": s, "City": c, "Country": "UK"}} for s, c in places))
    texts = ["Main Street, London", "High Street, York", "Oak Lane, Leeds"]
    events += _events(local, *({"BusLine": "7", "Time": "1:27 pm", "LocationName": text} for text in texts))
    found = propose(city, local, events)
    maps = _maps(found)
    assert maps["Street"] == ("Location.Street", "before(LocationName, ', ')")
    assert maps["City"] == ("Location.City", "after(LocationName, ', ')")
    assert maps["Time"] == ("Time", "parse_time(Time, 'h:mm a')")
    assert [one.attribute.name for one in found.unmatched] == ["Location.Country"]
    contract = _loaded(tmp_path, CITY_BUS, LOCAL_BUS, contract=contract_text(found)).contracts["bus_location"]
    (mapping,) = contract.members["local"]
    told = mapping.apply(events[-1]).data
    assert (told["Street"], told["City"], told["Line"]) == ("Oak Lane", "Leeds", "7")


def test_propose_for_types_that_have_nothing_in_common(tmp_path):
    found = propose(_type(ENTER_A), _type(LOCAL_BUS))
    assert found.attributes == ()
    assert {one.code for one in found.decisions} == {"unmatched"}
    assert not any(one.confidence >= PAIRED for one in found.unmatched)
    _loaded(tmp_path, ENTER_A, LOCAL_BUS, contract=contract_text(found))


# Kinds, units, structure, values


@pytest.mark.parametrize(
    ("left", "right", "expected", "kind", "codes"),
    [
        ("depth: float ft", "depth: int cm", ("depth", "depth"), "float ft", []),
        ("depth: int cm", "depth: int cm", ("depth", "depth"), "int cm", []),
        ("depth: float m", "depth: float", ("depth", "quantity(depth, 'm')"), "float m", ["unit-missing"]),
        ("depth: float", "depth: float", ("depth", "depth"), "float", ["unit-missing"]),
        ("pieces: int", "pieces: int?", ("pieces", "pieces"), "int?", []),
        ("wait: duration", "wait: int min", ("wait", "value(wait, 's') * 1 s"), "duration", []),
        ("open: bool", "open: int", ("open", "open != 0"), "bool", ["lossy"]),
        ("open: bool", "open: int?", ("open", None), "bool?", ["lossy"]),
        ("level: int", "level: string", ("level", None), "int?", ["table-needed"]),
        ("houseNumber: string", "house_no: int", ("int(houseNumber)", "house_no"), "int?", ["text-read"]),
    ],
)
def test_propose_bridges_kinds_and_units(tmp_path, left, right, expected, kind, codes):
    found = propose(_of(left), _of(right, "b"))
    (one,) = found.attributes
    assert ((one.left.expression, one.right.expression), str(one.type)) == (expected, kind)
    assert [code for code in _codes(found) if code != "unsure"] == codes
    domains = [
        f"domain: {name}\ntypes: {{T: {{attributes: {{{each}}}}}}}" for name, each in (("a", left), ("b", right))
    ]
    _loaded(tmp_path, *domains, contract=contract_text(found))


def test_propose_never_pairs_what_measures_something_else():
    found = propose(_of("depth: float m"), _of("depth: float kg", "b"))
    assert found.attributes == ()
    assert len(found.unmatched) == 2


def test_propose_uses_concepts():
    by_concept = "v1: {kind: float, unit: degC, concept: Temperature}"
    found = propose(_of(by_concept), _of(by_concept.replace("v1", "reading"), "b"))
    assert _maps(found) == {"temperature": ("v1", "reading")}
    assert found.attributes[0].type.concept == "Temperature"
    different = propose(_of("v: {kind: string, concept: City}"), _of("v: {kind: string, concept: Person}", "b"))
    assert different.attributes == () or not different.attributes[0].sure


def test_propose_joins_the_parts_of_an_address_by_name():
    found = propose(_of("street: string, city: string, room: string"), _of("address: string, room: string", "b"))
    assert _maps(found) == {"address": ("street + ', ' + city", "address"), "room": ("room", "room")}


def test_propose_takes_the_time_of_the_event_for_a_time_that_is_missing():
    found = propose(_of("room: string, time: timestamp"), _of("room: string", "b"))
    assert _maps(found)["time"] == ("time", "event.time")
    assert _codes(found) == ["added"]


def test_propose_says_when_two_pairs_are_as_likely():
    found = propose(_of("person: string"), _of("personA: string, personB: string", "b"))
    assert "ambiguous" in _codes(found)


def test_propose_with_samples_tells_columns_apart():
    left, right = _of("person1: string, person2: string"), _of("personA: string, personB: string", "b")
    events = _events(left, *({"person1": x, "person2": y} for x, y in [("ann", "x1"), ("bob", "x2"), ("cid", "x3")]))
    events += _events(right, *({"personA": x, "personB": y} for x, y in [("x3", "cid"), ("x1", "ann"), ("x2", "dan")]))
    assert {one.left.expression: one.right.expression for one in propose(left, right, events).attributes} == {
        "person1": "personB",
        "person2": "personA",
    }


def test_propose_notes_different_capitals_and_different_words():
    left, right = _of("state: string"), _of("state: string", "b")
    capitals = [*_events(left, {"state": "OPEN"}, {"state": "SHUT"}), *_events(right, {"state": "open"})]
    found = propose(left, right, capitals)
    assert _maps(found) == {"state": ("lower(state)", "lower(state)")}
    assert "lossy" in _codes(found)
    languages = [*_events(left, {"state": "open"}), *_events(right, {"state": "offen"})]
    found = propose(left, right, languages)
    assert _maps(found) == {"state": ("state", "state")}
    assert "codes-differ" in _codes(found)


def _paired():
    left, right = _of("level: int, heat: float"), _of("level: string, heat: float", "b")
    events = _events(left, {"level": 1, "heat": 32.0}, {"level": 3, "heat": 212.0}, {"level": 1, "heat": 86.0})
    return (
        left,
        right,
        events
        + _events(
            right, {"level": "low", "heat": 0.0}, {"level": "high", "heat": 100.0}, {"level": "low", "heat": 30.0}
        ),
    )


def test_propose_assumes_no_pairs_unless_it_is_told(tmp_path):
    left, right, events = _paired()
    assert _maps(propose(left, right, events)) == {"level": ("level", None), "heat": ("heat", "heat")}
    found = propose(left, right, events, paired=True)
    assert _maps(found) == {"level": ("level", "lookup('level_codes', level)"), "heat": ("heat", "heat * 1.8 + 32.0")}
    assert found.tables == {"level_codes": {"low": 1, "high": 3}}
    domains = ["domain: a\ntypes: {T: {attributes: {level: int, heat: float}}}"]
    domains += ["domain: b\ntypes: {T: {attributes: {level: string, heat: float}}}"]
    (mapping,) = _loaded(tmp_path, *domains, contract=contract_text(found)).contracts["t"].members["b"]
    assert mapping.apply(events[-1]).data == {"level": 1, "heat": 86.0}


def test_propose_refuses_two_types_of_one_domain():
    with pytest.raises(Misuse) as error:
        propose(_of("x: int"), _of("y: int"))
    assert error.value.code == "one-domain-contract"


def test_propose_reads_a_bounded_number_of_samples():
    left, right = _of("state: string"), _of("state: string", "b")
    endless = itertools.cycle([*_events(left, {"state": "on"}), *_events(right, {"state": "on"})])
    with limited(max_sampled_events=50):
        assert propose(left, right, endless).attributes[0].confidence > SURE


# What every proposal keeps, whatever the types

_NAMES = st.sampled_from(
    ["room", "roomName", "heat", "temperature", "street", "city", "address", "time", "level", "in", "on"]
)
_KINDS = st.sampled_from([Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIMESTAMP, Kind.DURATION, Kind.POINT])


@st.composite
def _attribute_types(draw, depth=1):
    if depth and draw(st.integers(0, 4)) == 0:
        inner = draw(st.dictionaries(_NAMES, _attribute_types(depth=0), min_size=1, max_size=3))
        return AttributeType(Kind.STRUCT, draw(st.booleans()), attributes=inner)
    kind = draw(_KINDS)
    unit = draw(st.sampled_from([None, "m", "ft", "degC", "s"])) if kind.is_number else None
    return AttributeType(kind, draw(st.booleans()), unit, draw(st.sampled_from([None, None, "City"])))


def _event_types(domain):
    attributes = st.dictionaries(_NAMES, _attribute_types(), min_size=1, max_size=6)
    return attributes.map(lambda own: EventType("T", domain, own=own))


def _declared(type):
    from comity.contract.suggest.written import declaration

    inner = ", ".join(f"{name!r}: {declaration(one)}" for name, one in type.attributes.items())
    return f"domain: {type.namespace}\ntypes: {{T: {{attributes: {{{inner}}}}}}}"


@given(_event_types("a"), _event_types("b"))
def test_proposal_always_loads_and_uses_each_attribute_once(tmp_path_factory, left, right):
    found = propose(left, right)
    folder = tmp_path_factory.mktemp("federation")
    _loaded(folder, _declared(left), _declared(right), contract=contract_text(found))
    for type, side in ((left, "left"), (right, "right")):
        used = [name for one in found.attributes for name in getattr(one, side).names]
        free = [one.attribute.name for one in found.unmatched if one.type is type]
        assert sorted(used + free) == sorted(one.name for one in candidates(type))
    assert all(PAIRED <= one.confidence <= 99 and one.reasons for one in found.attributes)


_VALUES = {
    Kind.BOOL: st.booleans(),
    Kind.INT: st.integers(-5, 5),
    Kind.FLOAT: st.floats(-5, 5).map(lambda number: round(number, 2)),
    Kind.STRING: st.sampled_from(["a", "A", "a, b", "b, c", "1", "2.5", "", "it's", 'a "quote"', "null", "2026-01-01"])
    | st.text(max_size=5),
}


@st.composite
def _sampled(draw, type):
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        row = {}
        for one in candidates(type):
            if len(one.path) == 1 and one.type.kind in _VALUES:
                row[one.path[0]] = draw(_VALUES[one.type.kind])
        rows.append(row)
    return _events(type, *rows)


@given(st.data(), _event_types("a"), _event_types("b"), st.booleans())
def test_proposal_loads_whatever_the_samples_hold(tmp_path_factory, data, left, right, paired):
    events = data.draw(_sampled(left)) + data.draw(_sampled(right))
    found = propose(left, right, events, paired=paired)
    folder = tmp_path_factory.mktemp("federation")
    loaded = _loaded(folder, _declared(left), _declared(right), contract=contract_text(found))
    tables = parse_document(contract_text(found)).data.get("tables", {})
    assert tables == found.tables
    assert set(loaded.contracts["t"].members) == {"a", "b"}


# The parts


def test_names_are_compared_word_by_word():
    assert words("personName") == ("person", "name")
    assert words("house_no") == ("house", "number")
    assert likeness(words("heat"), words("temperature")) > 0.8 > likeness(words("heat"), words("room"))
    assert likeness(words("busLine"), words("line"), weak={"bus"}) > likeness(words("busLine"), words("line"))


def test_compare_gives_wrong_pairs_a_low_confidence():
    judge = Judge(frozenset())
    pairs = itertools.product(candidates(_type(HOUSE_A)), candidates(_type(HOUSE_B)))
    sure = {("room", "place.room"), ("heat", "celsius")}
    for left, right in pairs:
        confidence = judge.compare(left, right).confidence
        assert confidence >= SURE if (left.name, right.name) in sure else confidence < PAIRED


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 99), min_size=n, max_size=n), min_size=1, max_size=5)
    )
)
def test_assign_finds_the_best_pairs(scores):
    def total(pairs):
        return sum(scores[row][column] for row, column in pairs)

    rows, columns = range(len(scores)), range(len(scores[0]))
    small, large = sorted((rows, columns), key=len)
    best = max(
        total([(one, other) if small is rows else (other, one) for one, other in zip(small, chosen, strict=True)])
        for chosen in itertools.permutations(large, len(small))
    )
    found = assign(scores, at_least=0)
    assert total(found) == best
    assert len({row for row, _ in found}) == len({column for _, column in found}) == len(found)
    with limited(max_assigned_attributes=1):
        assert total(assign(scores, at_least=0)) * 2 >= best


def test_correspondence_is_found_only_where_it_holds():
    assert table_from([(1, "a"), (2, "b"), (1, "a")]) == {"a": 1, "b": 2}
    assert table_from([(1, "a"), (2, "a")]) is None
    assert line_from([(1, 1), (2, 2)]) is None
    assert line_from([(1, 1), (4, 2), (9, 3)]) is None
    assert (line_from([(0, 32), (100, 212), (30, 86)]) or None).offset == pytest.approx(-160 / 9)
    assert time_format_of(["03/04/2026"]) is None
    assert time_format_of([]) is None
    assert time_format_of(["2026-03-04T10:00:00Z", "2026-03-05T10:00:00Z"]) == "yyyy-MM-dd'T'HH:mm:ss'Z'"
