"""The requests of a node, in this process: errors have one form, and the OpenAPI document says what there is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from comity.document import parse_document
from comity.event.taxonomy import Taxonomy
from comity.limits import limited
from comity.node.api.table import ROUTES
from comity.node.serve import served_node
from comity.node.settings import EventServerSettings
from comity.server.settings import Address
from tests.node.clients import TYPES, Answer, Person, people

JSON = {"Content-Type": "application/json"}


@asynccontextmanager
async def somebody(folder: Path, **settings: object) -> AsyncIterator[Person]:
    """Somebody who is known to a node in this process."""
    taxonomy = Taxonomy.from_document(parse_document(TYPES))
    given = EventServerSettings(taxonomy, Address("127.0.0.1", 0), folder / "store", **settings)  # type: ignore[arg-type]
    async with served_node(given) as node, people(node.url, "ada") as (ada,):
        yield ada


def fails(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.codes) == (status, [code]), answer.body
    assert all(one["message"] for one in answer.body["errors"])


async def test_errors_have_one_form_with_code_place_and_hint(tmp_path: Path) -> None:
    async with somebody(tmp_path) as ada:
        fails(await ada.call("GET", "/v1/nothing"), 404, "unknown-path")
        fails(await ada.call("PUT", "/v1/rules"), 405, "wrong-method")
        fails(await ada.call("POST", "/v1/rules", data=b"{", headers=JSON), 400, "bad-body")
        fails(await ada.call("POST", "/v1/rules", json={"text": 7}), 400, "bad-body")
        fails(await ada.call("DELETE", "/v1/rules/none"), 404, "unknown-rule")
        fails(await ada.call("GET", "/v1/history"), 400, "bad-parameter")
        fails(await ada.call("GET", "/v1/history?type=Fire"), 400, "unknown-type")
        fails(await ada.call("GET", "/v1/history?type=HeatEvent&from=noon"), 400, "bad-parameter")
        fails(await ada.call("GET", "/v1/notifications"), 400, "not-acceptable")
        fails(await ada.call("POST", "/v1/acknowledge", json={"position": 1}), 409, "not-connected")
        fails(await ada.call("POST", "/v1/events", data=b"x", headers={"Content-Type": "text/plain"}), 415, "http-415")
        wrong = await ada.rule("rule r onEvent HeatEvent h; where h.value > 'a';")
        assert (wrong.status, wrong.body["errors"][0]["line"]) == (400, 1)
        await ada.rule("rule r onEvent HeatEvent h;")
        fails(await ada.rule("rule r onEvent Temperature t;"), 409, "rule-name-in-use")


async def test_types_are_declared_and_conflicts_refused(tmp_path: Path) -> None:
    async with somebody(tmp_path) as ada:
        fire = "types: {Fire: {extends: HeatEvent, attributes: {smoke: bool?}}}"
        assert (await ada.call("POST", "/v1/types", data=fire)).status == 201
        assert (await ada.call("POST", "/v1/types", data=fire)).status == 200
        other = "types: {Fire: {extends: HeatEvent, attributes: {smoke: int?}}}"
        fails(await ada.call("POST", "/v1/types", data=other), 409, "type-conflict")
        assert (await ada.publish("Fire", loc=1, value=1.0, smoke=True))["outcome"] == "stored"


async def test_each_form_of_events_is_taken_and_what_is_none_told(tmp_path: Path) -> None:
    async with somebody(tmp_path) as ada:
        one = {"id": "1", "source": "/a", "type": "HeatEvent", "data": {"loc": 1, "value": 1.5}}
        lines = f"{json.dumps({**one, 'id': '2'})}\n{json.dumps({**one, 'id': '3', 'data': {}})}\n"
        binary = {"ce-id": "4", "ce-source": "/a", "ce-type": "HeatEvent", **JSON}
        asked = [
            (json.dumps(one), JSON, ["stored"]),
            (lines, {"Content-Type": "application/x-ndjson"}, ["stored", "rejected"]),
            (json.dumps(one["data"]), binary, ["stored"]),
            (json.dumps(one), JSON, ["repeated"]),
        ]
        for body, headers, outcomes in asked:
            found = await ada.call("POST", "/v1/events", data=body, headers=headers)
            assert [outcome["outcome"] for outcome in found.body["outcomes"]] == outcomes
        page = (await ada.call("GET", "/v1/history?type=HeatEvent&limit=2")).body
        assert [entry["event"]["id"] for entry in page["events"]] == ["1", "2"]
        rest = (await ada.call("GET", f"/v1/history?type=HeatEvent&limit=2&after={page['next']}")).body
        assert [entry["event"]["id"] for entry in rest["events"]] == ["4"]


async def test_nobody_registers_where_nobody_may(tmp_path: Path) -> None:
    settings = {"is_open": False, "registration": "open sesame"}
    with pytest.raises(AssertionError, match="not-allowed"):
        async with somebody(tmp_path, **settings):
            pass
    taxonomy = Taxonomy.from_document(parse_document(TYPES))
    given = EventServerSettings(taxonomy, Address("127.0.0.1", 0), tmp_path / "store", **settings)  # type: ignore[arg-type]
    async with served_node(given) as node, aiohttp.ClientSession() as session:
        guest = Person(session, node.url, headers={"Comity-Registration": "open sesame"})
        assert await guest.register()


async def test_bounds_are_told(tmp_path: Path) -> None:
    with limited(max_subscriber_rules=1, max_published_events=2):
        async with somebody(tmp_path) as ada:
            fails(await ada.rule("rule a onEvent HeatEvent h; rule b onEvent HeatEvent h;"), 409, "too-many")
            assert (await ada.call("GET", "/v1/rules")).body == {"rules": []}
            headers = {"Content-Type": "application/cloudevents-batch+json"}
            fails(await ada.call("POST", "/v1/events", data="[{},{},{}]", headers=headers), 409, "too-many")


async def test_the_document_has_every_request_and_what_it_names(tmp_path: Path) -> None:
    async with somebody(tmp_path) as ada:
        document = (await ada.call("GET", "/openapi.json")).body
        assert {(path, method.upper()) for path, own in document["paths"].items() for method in own} == {
            (one.path, one.method) for one in ROUTES
        }
        names = {word.split('"')[0] for word in json.dumps(document).split("#/components/schemas/")[1:]}
        assert names <= document["components"]["schemas"].keys()
        assert "comity_node_rules 0" in (await ada.call("GET", "/metrics")).body
        assert (await ada.call("GET", "/healthz")).body["status"] == "ok"
