"""The event server of the paper, over real processes: the rules of figures 11 to 13, stores, passwords, repeats."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from comity.engine.detect import Detection
from comity.event.files import read_events
from comity.event.taxonomy import Taxonomy
from comity.language.files import read_bound_patterns
from tests.node.clients import PASSWORD, NodeProcess, Person, now, people, running, values

SIMPLE = "rule rule1\nonEvent HeatEvent h1;\nrule rule2\nonEvent StockExchangeEvent s1;\n"
FILTERED = """\
rule rule3
onEvent HeatEvent h1;
where h1.value > 25;
rule rule4
onEvent HeatEvent h1;
where (h1.value > 25 and h1.value < 37);
"""
COMPOSITE = """\
rule rule5
onEvent Temperature t1,
        Humidity h1
where (t1.value < 27 and h1.value < 70)
rule rule6
onEvent HeatEvent h1, HeatEvent h2, LightEvent l1;
where ((h1.value > h2.value + 5) and (h1.time > h2.time + 5000) and l1.lightvalue > 3000);
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    with running(tmp_path_factory.mktemp("node") / "house", "lateness: 20 s\n") as found:
        yield found


async def test_figures_11_and_12(node: NodeProcess) -> None:
    async with people(node.url, "fig11", "sensors11") as (ada, sensors):
        kinds = (await ada.rule(SIMPLE + FILTERED)).body["rules"]
        assert [one["kind"] for one in kinds] == ["simple", "simple", "filtered", "filtered"]
        async with ada.listening() as listener:
            for value in (20.0, 30.0, 40.0):
                await sensors.publish("HeatEvent", loc=1, value=value)
            await sensors.publish("StockExchangeEvent", price=7.5)
            found = await listener.notifications(7)
    of_heat = [("rule1", 20.0), ("rule1", 30.0), ("rule3", 30.0), ("rule4", 30.0), ("rule1", 40.0), ("rule3", 40.0)]
    assert sorted(values(found)) == sorted([*of_heat, ("rule2", 7.5)])
    assert [one["position"] for one in found] == sorted(one["position"] for one in found)
    assert {len(one["events"]) for one in found} == {1}


async def test_figure_13_gives_what_detect_gives(node: NodeProcess, tmp_path: Path) -> None:
    times = iter(now(-8 + number / 2) for number in range(40))
    async with people(node.url, "fig13", "sensors13") as (ada, sensors):
        answer = await ada.rule(COMPOSITE)
        assert [(one["kind"], one["limit"]) for one in answer.body["rules"]] == [("composite", 100)] * 2
        published = [
            *[("Temperature", {"value": value}) for value in (26.0, 27.0)],
            *[("Humidity", {"value": value}) for value in (69.0, 71.0, 10.0)],
            ("HeatEvent", {"loc": 1, "value": 10.0}),
            ("LightEvent", {"lightvalue": 3001.0}),
            ("LightEvent", {"lightvalue": 2999.0}),
        ]
        events = [
            {"id": str(at), "source": "/13", "type": type, "data": data, "time": next(times).isoformat()}
            for at, (type, data) in enumerate(published)
        ]
        warm = {"id": "warm", "source": "/13", "type": "HeatEvent", "data": {"loc": 2, "value": 16.0}}
        events.append({**warm, "time": now(-0.2).isoformat()})
        assert {one["outcome"] for one in await sensors.publish_all(events)} == {"stored"}
        rules, log = tmp_path / "rules.rdl", tmp_path / "events.jsonl"
        rules.write_text(COMPOSITE)
        log.write_text("".join(json.dumps(one) + "\n" for one in events))
        types = Taxonomy.read(node.folder / "house.yaml")
        detection = Detection(read_bound_patterns(rules, types), types)
        reports = detection.over_stored(read_events(log, types, require_time=True))
        expected = [(one.profile, *one.events.values()) for one in reports]
        assert sorted(one[0] for one in expected) == ["rule5", "rule5", "rule6"]
        async with ada.listening() as listener:
            found = await listener.notifications(len(expected))
    told = [
        (
            one["rule"],
            *(event["id"] for _, event in sorted(zip(one["operands"], one["events"], strict=True), key=str_of)),
        )
        for one in found
    ]
    assert sorted(told) == sorted(expected)
    assert {tuple(one["operands"]) for one in found if one["rule"] == "rule5"} == {("t1", "h1")}


def str_of(pair: tuple[str, object]) -> str:
    return pair[0]


@pytest.mark.parametrize(("store", "arrive"), [("none", []), ("last", [3.0]), ("all", [1.0, 2.0, 3.0])])
async def test_what_waits_arrives_elsewhere_as_the_store_type_says(
    node: NodeProcess, store: str, arrive: list[float]
) -> None:
    async with people(node.url, f"away-{store}", f"sensors-{store}") as (ada, sensors):
        await ada.rule("rule rule1 onEvent HeatEvent h1;", store)
        async with ada.listening():
            pass
        for value in (1.0, 2.0, 3.0):
            await sensors.publish("HeatEvent", loc=1, value=value)
        async with people(node.url, ada.name) as (elsewhere,), elsewhere.listening() as listener:
            await sensors.publish("HeatEvent", loc=1, value=9.0)
            found = await listener.notifications(len(arrive) + 1)
    assert values(found) == [("rule1", value) for value in [*arrive, 9.0]]
    assert [one["mode"] for one in found] == ["past"] * len(arrive) + ["live"]


async def test_what_is_acknowledged_does_not_come_again_and_the_rest_does(node: NodeProcess) -> None:
    async with people(node.url, "forgetful", "sensors-f") as (ada, sensors):
        await ada.rule("rule rule1 onEvent HeatEvent h1;")
        for value in (1.0, 2.0, 3.0):
            await sensors.publish("HeatEvent", loc=1, value=value)
        async with ada.listening() as listener:
            first, second, _ = await listener.notifications(3)
            await listener.acknowledge(first["position"])
        async with ada.listening() as listener:
            assert values(await listener.notifications(2)) == [("rule1", 2.0), ("rule1", 3.0)]
        async with ada.listening(after=second["position"]) as listener:
            assert values(await listener.notifications(1)) == [("rule1", 3.0)]


async def test_a_second_connection_takes_over(node: NodeProcess) -> None:
    async with people(node.url, "mobile", "sensors-m") as (ada, sensors):
        await ada.rule("rule rule1 onEvent HeatEvent h1;")
        async with ada.listening() as first, ada.listening() as second:
            closing = await first.socket.receive()
            assert (closing.type, closing.data) == (aiohttp.WSMsgType.CLOSE, 4001)
            await sensors.publish("HeatEvent", loc=1, value=5.0)
            assert values(await second.notifications(1)) == [("rule1", 5.0)]


CALLS = (
    ("POST", "/v1/rules", {"json": {"text": "rule r onEvent HeatEvent h;"}}),
    ("DELETE", "/v1/rules/rule1", {}),
    (
        "POST",
        "/v1/events",
        {"json": {"id": "1", "source": "/x", "type": "HeatEvent", "data": {"loc": 1, "value": 1.0}}},
    ),
    ("GET", "/v1/notifications", {"headers": {"Accept": "text/event-stream"}}),
    ("GET", "/v1/history?type=HeatEvent", {}),
)


async def test_a_wrong_password_is_refused_for_all_calls_like_an_unknown_name(node: NodeProcess) -> None:
    async with people(node.url, "known") as (ada,):
        await ada.rule("rule rule1 onEvent HeatEvent h1;")
        answers = []
        for name, password in (("known", "wrong password"), ("unknown", PASSWORD)):
            login = aiohttp.encode_basic_auth(name, password)
            guest = Person(ada.session, node.url, headers={"Authorization": login})
            for method, path, given in CALLS:
                answers.append(await guest.call(method, path, **given))
        assert {one.status for one in answers} == {401}
        assert len({json.dumps(one.body) for one in answers}) == 1
        assert [one["name"] for one in (await ada.call("GET", "/v1/rules")).body["rules"]] == ["rule1"]
        login = aiohttp.encode_basic_auth("known", PASSWORD)
        right = Person(ada.session, node.url, headers={"Authorization": login})
        assert (await right.call("DELETE", "/v1/rules/rule1")).status == 200


async def test_a_number_that_comes_again_is_taken_for_a_repeat(node: NodeProcess) -> None:
    async with people(node.url, "numbers", "sensors-n") as (ada, sensors):
        await ada.rule("rule rule1 onEvent HeatEvent h1;")
        sent = [
            {
                "id": f"{at}",
                "source": "/n",
                "type": "HeatEvent",
                "sequence": str(number),
                "data": {"loc": 1, "value": at},
            }
            for at, number in enumerate((1, 2, 2, 5, 4, 4, 1), start=1)
        ]
        found = await sensors.publish_all([{**one, "data": {"loc": 1, "value": float(one["id"])}} for one in sent])
        assert [one["outcome"] for one in found] == [
            *("stored", "stored", "repeated", "stored", "stored", "repeated", "repeated")
        ]
        async with ada.listening() as listener:
            await sensors.publish("HeatEvent", loc=1, value=99.0)
            assert [one[1] for one in values(await listener.notifications(5))] == [1.0, 2.0, 4.0, 5.0, 99.0]


def test_whoever_leaves_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "house") as node:
        asyncio.run(_leave(node))  # starts of processes count, so it has more than a minute


async def _leave(node: NodeProcess) -> None:
    async with people(node.url, "ada", "sensors") as (ada, sensors):
        await ada.rule(SIMPLE + COMPOSITE)
        await sensors.publish("HeatEvent", loc=1, value=1.0)
        for name in ("rule1", "rule2", "rule5"):
            assert (await ada.call("DELETE", f"/v1/rules/{name}")).status == 200
        assert _rows(node, "rule", "rule_type", "detection", "cursor") == {
            "rule": 1,
            "rule_type": 2,
            "detection": 1,
            "cursor": 2,
        }
        assert (await ada.call("DELETE", "/v1/rules/rule6")).status == 200
        assert _rows(node, "rule", "rule_type", "detection", "cursor") == dict.fromkeys(
            ("rule", "rule_type", "detection", "cursor"), 0
        )
        await ada.rule(SIMPLE)
        assert (await ada.call("DELETE", "/v1/account")).status == 200
        assert (await ada.call("GET", "/v1/rules")).status == 401
        assert _rows(node, "rule", "cursor", "token", "subscriber") == {
            "rule": 0,
            "cursor": 0,
            "token": 1,
            "subscriber": 1,
        }


def _rows(node: NodeProcess, *tables: str) -> dict[str, int]:
    base = sqlite3.connect(f"file:{node.folder}/store/events.db?mode=ro", uri=True)
    try:
        return {name: base.execute(f"select count(*) from {name}").fetchone()[0] for name in tables}
    finally:
        base.close()


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "house") as node:
        asyncio.run(_restart(node))


async def _restart(node: NodeProcess) -> None:
    async with people(node.url, "ada", "sensors") as (ada, sensors):
        await ada.call("POST", "/v1/types", data="types: {Fire: {extends: HeatEvent}}")
        await ada.rule("rule fires onEvent Fire f; " + COMPOSITE[: COMPOSITE.index("rule rule6")])
        await sensors.publish("Fire", loc=1, value=90.0)
        await sensors.publish("Temperature", value=20.0)
        node.kill()
        node.start()
        await sensors.publish("Humidity", value=20.0)
        assert (await sensors.publish_all([_again(sensors)]))[0]["outcome"] == "repeated"
        async with ada.listening() as listener:
            found = await listener.notifications(2)
    assert sorted(values(found)) == [("fires", 90.0), ("rule5", 20.0, 20.0)]


def _again(person: Person) -> dict[str, object]:
    return {"id": "3", "source": person.source, "type": "Humidity", "data": {"value": 20.0}}
