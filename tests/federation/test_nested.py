"""Federations inside a federation: boundaries, contracts across them, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comity.engine.run import run
from comity.errors import Faults
from comity.event import Event
from comity.event.formats.jsonlines import Rejected
from comity.federation import Federation, load
from comity.plan import compile_plan

MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)
INNER = {
    "federation.yaml": "federation: street\nboundary: [alarm, news]\n",
    "house.yaml": (
        "domain: house\ntypes:\n  Alarm: {attributes: {number: int, room: string?}}\n"
        "  Note: {attributes: {text: string}}\n"
    ),
    "alarm.yaml": (
        "contract: alarm\ntypes: {Alarm: {attributes: {number: int, room: string}}}\n"
        "members: {house: {type: Alarm, map: same}}\n"
    ),
    "news.yaml": (
        "contract: news\ntypes: {News: {attributes: {words: string}}}\n"
        "observers: {house: {type: Note, map: {text: words}}}\n"
    ),
    "profiles.yaml": "profiles: {notes: {domain: house, on: Note, where: text != 'old'}}\n",
}
OUTER = {
    "federation.yaml": "federation: city\n",
    "police.yaml": "domain: police\ntypes: {Case: {attributes: {address: string, room: string}}}\n",
    "paper.yaml": "domain: paper\ntypes: {Story: {attributes: {title: string}}}\n",
    "burglary.yaml": (
        "contract: burglary\ntypes: {Burglary: {attributes: {address: string, room: string}}}\n"
        "members: {street: {type: alarm.Alarm, map: {address: \"text(number) + ' South Street'\", room: room}}}\n"
        "observers: {police: {type: Case, map: same}}\n"
    ),
    "press.yaml": (
        "contract: press\ntypes: {Item: {attributes: {title: string}}}\n"
        "members: {paper: {type: Story, map: same}}\n"
        "observers: {street: {type: news.News, map: {words: title}}}\n"
    ),
    "profiles.yaml": "profiles: {cases: {domain: police, on: Case, where: address like '2% South Street'}}\n",
}


def write(root: Path, inner: dict[str, str] = INNER, outer: dict[str, str] = OUTER) -> Path:
    for folder, files in ((root, outer), (root / "street", inner)):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    return root


def codes(root: Path) -> list[str]:
    with pytest.raises(Faults) as caught:
        load(root)
    return [error.code for error in caught.value.errors]


def told(federation: Federation, *events: Event) -> list[tuple[str, str, dict[str, object]]]:
    outcomes = run(compile_plan(federation), [one.replace(time=MOMENT) for one in events])
    return [
        ("rejected", one.faults[0].path, {})
        if isinstance(one, Rejected)
        else (one.profile, one.event.type, one.event.data)
        for one in outcomes
    ]


def test_events_cross_both_boundaries(tmp_path: Path) -> None:
    federation = load(write(tmp_path))
    alarm = Event("1", "/h", "house.Alarm", data={"number": 25, "room": "attic"})
    story = Event("2", "/p", "paper.Story", data={"title": "rain"})
    assert told(federation, alarm, story) == [
        ("cases", "police.Case", {"address": "25 South Street", "room": "attic"}),
        ("notes", "house.Note", {"text": "rain"}),
    ]


def test_what_a_contract_inside_rejects_is_rejected_with_its_fault(tmp_path: Path) -> None:
    federation = load(write(tmp_path))
    assert told(federation, Event("1", "/h", "house.Alarm", data={"number": 25})) == [("rejected", "room", {})]


def test_filters_are_translated_over_all_contracts(tmp_path: Path) -> None:
    plan = compile_plan(load(write(tmp_path)))
    (route,) = [one for one in plan.routes if one.source.qualified_name == "house.Alarm"]
    assert route.contract == "street.alarm → burglary"
    assert not told(load(tmp_path), Event("1", "/h", "house.Alarm", data={"number": 31, "room": "attic"}))


def test_a_federation_inside_also_stands_alone(tmp_path: Path) -> None:
    inner = load(write(tmp_path) / "street")
    assert (inner.name, list(inner.contracts), inner.boundary) == ("street", ["alarm", "news"], ("alarm", "news"))
    assert not [route for route in compile_plan(inner).routes if route.contract]


def test_domains_and_contracts_say_where_they_belong(tmp_path: Path) -> None:
    federation = load(write(tmp_path))
    assert {name: one.federation for name, one in federation.domains.items()} == {
        "house": "street",
        "paper": None,
        "police": None,
    }
    assert federation.contracts["street.alarm"].federation == "street"
    assert federation.contracts["street.news"].members.keys() == {"press"}
    assert federation.inside == ("street",)


def test_three_levels(tmp_path: Path) -> None:
    write(tmp_path / "city", outer={**OUTER, "federation.yaml": "federation: city\nboundary: [burglary]\n"})
    country = {
        "federation.yaml": "federation: country\n",
        "ministry.yaml": "domain: ministry\ntypes: {Entry: {attributes: {where: string}}}\n",
        "crime.yaml": (
            "contract: crime\ntypes: {Crime: {attributes: {where: string}}}\n"
            "members: {city: {type: burglary.Burglary, map: {where: address}}}\n"
            "observers: {ministry: {type: Entry, map: same}}\n"
        ),
        "profiles.yaml": "profiles: {entries: {domain: ministry, on: Entry, scope: [city]}}\n",
    }
    for name, text in country.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    federation = load(tmp_path)
    assert list(federation.contracts)[:2] == ["city.street.alarm", "city.street.news"]
    alarm = Event("1", "/h", "house.Alarm", data={"number": 3, "room": "attic"})
    assert told(federation, alarm) == [("entries", "ministry.Entry", {"where": "3 South Street"})]


def test_what_a_federation_gives_does_not_come_back_to_it(tmp_path: Path) -> None:
    back = OUTER["burglary.yaml"] + '  street: {type: alarm.Alarm, map: {number: "1", room: room}}\n'
    inner = {**INNER, "more.yaml": "profiles: {all: {domain: house, on: alarm.Alarm, own: true}}\n"}
    federation = load(
        write(
            tmp_path,
            inner,
            {
                **OUTER,
                "burglary.yaml": back.replace(
                    "observers: {police: {type: Case, map: same}}\n", "observers:\n  police: {type: Case, map: same}\n"
                ),
            },
        )
    )
    alarm = Event("1", "/h", "house.Alarm", data={"number": 25, "room": "attic"})
    assert [one for one in told(federation, alarm) if one[0] == "all"] == [
        ("all", "street.alarm.Alarm", {"number": 25, "room": "attic"})
    ]


@pytest.mark.parametrize(
    ("inner", "outer", "code"),
    [
        ({"extra.yaml": "domain: police\ntypes: {T: {}}\n"}, {}, "duplicate-domain"),
        ({"federation.yaml": "federation: police\nboundary: [alarm]\n"}, {}, "duplicate-domain"),
        ({"federation.yaml": "federation: street\nboundary: [alram]\n"}, {}, "unknown-contract"),
        ({"federation.yaml": "federation: street\nboundary: [news]\n"}, {}, "unknown-type"),
        ({}, {"profiles.yaml": "profiles: {notes: {domain: police, on: Case}}\n"}, "duplicate-profile"),
        ({}, {"profiles.yaml": "profiles: {x: {domain: house, on: Note}}\n"}, "unknown-domain"),
        ({}, {"profiles.yaml": "profiles: {x: {domain: police, on: street.alarm.Alarm}}\n"}, "unknown-type"),
    ],
)
def test_refused(tmp_path: Path, inner: dict[str, str], outer: dict[str, str], code: str) -> None:
    assert code in codes(write(tmp_path, {**INNER, **inner}, {**OUTER, **outer}))


def test_what_one_step_rejects_is_rejected_once(tmp_path: Path) -> None:
    more = {
        "second.yaml": (
            "contract: second\ntypes: {Second: {attributes: {room: string}}}\n"
            "members: {street: {type: alarm.Alarm, map: {room: room}}}\n"
        ),
        "more.yaml": "profiles: {rooms: {domain: paper, on: second.Second}}\n",
    }
    inner = {**INNER, "more.yaml": "profiles: {all: {domain: house, on: alarm.Alarm, own: true}}\n"}
    federation = load(write(tmp_path, inner, {**OUTER, **more}))
    assert told(federation, Event("1", "/h", "house.Alarm", data={"number": 25})) == [("rejected", "room", {})]
    good = Event("2", "/h", "house.Alarm", data={"number": 25, "room": "attic"})
    assert {one[0] for one in told(federation, good)} == {"all", "cases", "rooms"}


def test_a_scope_may_name_a_federation_at_any_depth(tmp_path: Path) -> None:
    write(tmp_path / "city", outer={**OUTER, "federation.yaml": "federation: city\nboundary: [burglary]\n"})
    country = {
        "federation.yaml": "federation: country\n",
        "ministry.yaml": "domain: ministry\ntypes: {Entry: {attributes: {where: string}}}\n",
        "crime.yaml": (
            "contract: crime\ntypes: {Crime: {attributes: {where: string}}}\n"
            "members: {city: {type: burglary.Burglary, map: {where: address}}}\n"
            "observers: {ministry: {type: Entry, map: same}}\n"
        ),
        "profiles.yaml": "profiles: {entries: {domain: ministry, on: Entry, scope: [city.street]}}\n",
    }
    for name, text in country.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    alarm = Event("1", "/h", "house.Alarm", data={"number": 3, "room": "attic"})
    assert len(told(load(tmp_path), alarm)) == 1


@pytest.mark.parametrize("name", ["''", "'..'", "a.b", "in-ner"])
def test_a_federation_inside_has_a_plain_name(tmp_path: Path, name: str) -> None:
    inner = {**INNER, "federation.yaml": f"federation: {name}\nboundary: [alarm, news]\n"}
    assert "bad-name" in codes(write(tmp_path, inner))


def test_a_federation_has_one_name(tmp_path: Path) -> None:
    assert "duplicate-federation" in codes(write(tmp_path, outer={**OUTER, "zz.yaml": "federation: other\n"}))


def test_events_of_a_type_that_is_not_published_stay_at_home(tmp_path: Path) -> None:
    house = (
        "domain: house\ntypes:\n  Alarm: {attributes: {number: int, room: string?}}\n  Secret: {extends: Alarm}\n"
        "  Note: {attributes: {text: string}}\npublish: [Alarm]\n"
    )
    federation = load(write(tmp_path, {**INNER, "house.yaml": house}))
    assert not told(federation, Event("1", "/h", "house.Secret", data={"number": 25, "room": "attic"}))


@pytest.mark.parametrize(("own", "expected"), [("", []), (", own: true", [("notes", "house.Note", {"text": "fire"})])])
def test_what_a_federation_gives_comes_back_to_it_only_on_demand(
    tmp_path: Path, own: str, expected: list[tuple[str, str, dict[str, object]]]
) -> None:
    """Not to another domain inside it either: to the city, the street is one domain."""
    inner = {
        **INNER,
        "neighbour.yaml": "domain: neighbour\ntypes: {Shout: {attributes: {words: string}}}\n",
        "shouts.yaml": (
            "contract: shouts\ntypes: {Shouted: {attributes: {words: string}}}\n"
            "members: {neighbour: {type: Shout, map: same}}\n"
        ),
        "federation.yaml": "federation: street\nboundary: [alarm, news, shouts]\n",
    }
    press = OUTER["press.yaml"].replace("members: {", "members: {street: {type: shouts.Shouted, map: {title: words}}, ")
    press = press.replace("map: {words: title}", "map: {words: title}" + own)
    federation = load(write(tmp_path, inner, {**OUTER, "press.yaml": press}))
    assert told(federation, Event("1", "/n", "neighbour.Shout", data={"words": "fire"})) == expected
    story = told(federation, Event("2", "/p", "paper.Story", data={"title": "rain"}))
    assert story == [("notes", "house.Note", {"text": "rain"})]


def test_a_boundary_type_has_one_mapping_too(tmp_path: Path) -> None:
    twice = "street: [{type: alarm.Alarm, map: {address: \"''\", room: room}}, {type: street.alarm.Alarm, map: same}]"
    burglary = (
        "contract: burglary\ntypes: {Burglary: {attributes: {address: string?, room: string}}}\n"
        f"members: {{{twice}}}\nobservers: {{police: {{type: Case, map: {{address: \"'x'\", room: room}}}}}}\n"
    )
    assert "duplicate-mapping" in codes(write(tmp_path, outer={**OUTER, "burglary.yaml": burglary}))


@pytest.mark.parametrize(
    "inner",
    [
        {"profiles.yaml": "profiles: {p: {domain: house, on: Nota}}\n"},
        {"more.yaml": "profiles: {p: {domain: house, on: Nota}}\n"},
    ],
)
def test_a_fault_inside_is_told_without_what_follows_from_it(tmp_path: Path, inner: dict[str, str]) -> None:
    assert codes(write(tmp_path, {**INNER, **inner})) == ["unknown-type"]
