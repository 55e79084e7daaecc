"""Sources of a run: opened with what the plan asks for, asked anew when profiles change, and told of."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comity.connect.landing import Landing
from comity.connect.port import TypeAsk
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.limits import limited
from comity.logs import FIELDS
from comity.plan import compile_plan
from comity.plan.metrics import RunMetrics
from comity.run.asked import AskedSources, asked_sources
from comity.run.request import Engine, RunRequest
from comity.run.sources import event_sources
from comity.run.stored import run_stored

DOMAIN = """\
domain: house
types:
  Fire: {{attributes: {{room: string, heat: int}}}}
sources:
  sensors: {{memory: {options}}}
"""


def write(folder: Path, wheres: list[str], **options: Any) -> Path:
    events = [
        {"id": str(at), "source": "/a", "type": "house.Fire", "time": "2026-11-15T18:00:00Z"}
        | {"data": {"room": "hall", "heat": at}}
        for at in range(10)
    ]
    (folder / "house.yaml").write_text(DOMAIN.format(options=json.dumps({"items": events, **options})))
    rows = "".join(f"  p{at}: {{domain: house, on: Fire, where: {where}}}\n" for at, where in enumerate(wheres))
    (folder / "profiles.yaml").write_text(f"profiles:\n{rows}")
    return folder


def until(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not condition() and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert condition()


def natives(landing: Landing) -> list[str | None]:
    return [one.native for one in landing.asked.types or ()]


def lines(sources: AskedSources) -> list[int]:
    files = [path for folder in sources.folders for path in sorted(folder.glob("*.jsonl"))]
    return [json.loads(line)["data"]["heat"] for path in files for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("filters", ["none", "terms", "tags", "rows"])
def test_run_stored_delivers_the_same_whatever_the_source_filters(
    tmp_path: Path, filters: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write(tmp_path, ["heat > 7", "heat = 2 and room = 'hall'"], filters=filters)
    federation = load(folder)
    request = RunRequest(folder, federation, event_sources(federation, folder, None), tmp_path / "out")
    with caplog.at_level(logging.INFO, "comity"):
        done = run_stored(request, Engine.LOCAL)
    assert done.summary.delivered == {"p0": 2, "p1": 1}
    sent = {"none": 10, "terms": 8, "tags": 10, "rows": 3}[filters]
    assert done.summary.records == sent
    told = {one.message: getattr(one, FIELDS) for one in caplog.records}
    assert told["source closed"] == {"source": "house.sensors", "records": sent}
    assert told["source opened"]["filters"] == ("none" if filters == "none" else f"memory-{filters}")
    if filters == "rows":
        assert told["source opened"]["asked"] == {"house.Fire": 'heat > 7 | (heat = 2 & room = "hall")'}


def test_follow_asks_for_what_new_profiles_want(tmp_path: Path) -> None:
    folder = write(tmp_path, ["heat > 7"], filters="rows", live=True)
    watched = WatchedFederation(folder)

    def current_plan() -> Any:
        return compile_plan(watched.current())

    specs = watched.current().sources
    with (
        limited(federation_settle_ms=1, federation_grace_ms=2),
        asked_sources(specs, folder, tmp_path / "out", current_plan) as sources,
    ):
        (landing,) = sources.landings.values()
        until(lambda: landing.rows == 2)
        sources.follow(watched.current)
        assert natives(landing) == ["heat > 7"]
        (folder / "profiles.yaml").write_text("profiles:\n  p1: {domain: house, on: Fire, where: heat < 5}\n")
        sources.follow(watched.current)
        until(lambda: natives(landing) == ["heat < 5"])
        landing.source.items += landing.source.items[:10]  # type: ignore[attr-defined]
        until(lambda: landing.rows == 7)
        assert sources.records() == {"house.sensors": 7}
        assert list(sources.asked()) == [("house.sensors", "house.Fire", "heat < 5")]
    assert lines(sources) == [8, 9, 0, 1, 2, 3, 4]


def test_follow_asks_for_nothing_while_there_is_no_profile(tmp_path: Path) -> None:
    folder = write(tmp_path, ["heat > 100 and heat < 50"], filters="rows", live=True)
    federation = load(folder)
    with asked_sources(federation.sources, folder, tmp_path / "out", lambda: compile_plan(federation)) as sources:
        (landing,) = sources.landings.values()
        assert landing.asked.types == ()


def test_follow_makes_no_plan_for_sources_without_filters(tmp_path: Path) -> None:
    folder = write(tmp_path, ["heat > 7"])

    def never() -> Any:
        raise AssertionError("nobody needs a plan")

    with asked_sources(load(folder).sources, folder, tmp_path / "out", never) as sources:
        sources.follow(never)
        sources.wait_for_ends()
    assert lines(sources) == list(range(10))


def test_metrics_tell_what_sources_are_asked_and_what_they_sent(tmp_path: Path) -> None:
    folder = write(tmp_path, ["heat > 7"], filters="rows")
    federation, metrics = load(folder), RunMetrics("test")
    with asked_sources(federation.sources, folder, tmp_path / "out", lambda: compile_plan(federation)) as sources:
        sources.wait_for_ends()
        metrics.sources = sources
        told = metrics.render().decode().splitlines()
    assert 'comity_source_records_total{source="house.sensors"} 2.0' in told
    assert 'comity_source_asked{asked="heat > 7",source="house.sensors",type="house.Fire"} 1.0' in told


def test_asked_type_is_what_the_port_takes(tmp_path: Path) -> None:
    folder = write(tmp_path, ["heat > 7"], filters="rows")
    federation = load(folder)
    with asked_sources(federation.sources, folder, tmp_path / "out", lambda: compile_plan(federation)) as sources:
        (landing,) = sources.landings.values()
        assert landing.asked.types == (TypeAsk("house.Fire", "heat > 7"),)
