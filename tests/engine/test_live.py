"""The live engine: what it tells over scripts of pushes, times, changes and restarts, against the reference."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.houses import BEGIN, COMPOSITES, SIMPLE, plan_of, some_lines
from tests.engine.scripts import Change, Push, Restart, Script, Tell, texts, told_by_engine, told_by_reference

from comity.connect.sealed import sealed
from comity.engine import LiveEngine, run
from comity.engine.live import EnginePace
from comity.engine.outcome import LateEvent
from comity.errors import Misuse, Permanent
from comity.event import Event, Rejected
from comity.event.formats.jsonlines import decode, encode
from comity.plan import Plan, compile_plan
from comity.testing.federations import federation_texts, load_texts
from comity.testing.records import good_events, lines

LATENESS = timedelta(minutes=2)
PACE = EnginePace(LATENESS, timedelta(days=30))


def script_of(chance: Random, records: list[bytes], plans: list[Plan], *, times: list[datetime]) -> Script:
    """The records in pieces, with changes, restarts and times in between."""
    script: list[Any] = []
    at = 0
    while at < len(records):
        size = chance.choice((1, 1, 2, 7))
        script.append(Push(tuple(records[at : at + size])))
        at += size
        happens = chance.random()
        if happens < 0.1:
            script.append(Change(chance.choice(plans)))
        elif happens < 0.2:
            script.append(Restart())
        elif happens < 0.25 and times:
            script.append(Tell(chance.choice(times)))
    return script


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[Plan]:
    folder = tmp_path_factory.mktemp("plans")
    chance = Random(5)
    names = [*SIMPLE, *COMPOSITES]
    subsets = [names, [], list(SIMPLE), *([one for one in names if chance.random() < 0.5] for _ in range(5))]
    return [plan_of(folder, subset) for subset in subsets]


@settings(max_examples=40)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_what_a_script_means(plans: list[Plan], chance: Random) -> None:
    disorder = chance.choice((0, 60, 60, 400))  # the last one makes some late
    times = [BEGIN + timedelta(seconds=chance.randint(0, 900)) for _ in range(3)]
    records = some_lines(chance, chance.randint(5, 40), disorder)
    script = script_of(chance, records, plans, times=times if chance.random() < 0.5 else [])
    plan = chance.choice(plans)
    assert told_by_engine(plan, script, PACE) == told_by_reference(plan, script, LATENESS)


@settings(max_examples=20)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_the_same_when_lines_are_scanned(plans: list[Plan], chance: Random) -> None:
    records = some_lines(chance, chance.randint(5, 40), chance.choice((0, 60, 400)))
    broken = [chance.choice((b"", b"{", b"[]", b'{"id": 1}', chance.choice(records)[:-9])) for _ in range(3)]
    script = script_of(chance, [*records, *broken], plans, times=[])
    pace, plan = EnginePace(LATENESS, None), chance.choice(plans)
    assert told_by_engine(plan, script, pace, scanned=2) == told_by_reference(plan, script, LATENESS)


@settings(max_examples=30)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_what_generated_federations_mean_while_they_change(chance: Random) -> None:
    federations = [compile_plan(load_texts(given)) for given in variants(chance)]
    records = [
        line
        for plan in federations
        for line in lines(chance, good_events(chance, plan.types, 8), plan.types, 6)
        if len(line) < 20_000
    ]
    chance.shuffle(records)
    script = script_of(chance, records, federations, times=[])
    pace = EnginePace(LATENESS, timedelta(days=4_000_000))
    assert told_by_engine(federations[0], script, pace) == told_by_reference(federations[0], script, LATENESS)


def variants(chance: Random) -> list[dict[str, str]]:
    """A federation, the same with other profiles, with some profiles less, and another one."""
    first, other = dict(federation_texts(chance)), dict(federation_texts(chance))
    profiles = yaml.safe_load(first["profiles"])["profiles"] or {}
    fewer = {name: one for name, one in profiles.items() if chance.random() < 0.5}
    looser = {
        name: {key: value for key, value in one.items() if key != "where" or chance.random() < 0.5}
        for name, one in profiles.items()
    }
    return [first, *({**first, "profiles": yaml.safe_dump({"profiles": some})} for some in (fewer, looser)), other]


@settings(max_examples=20)
@given(chance=st.randoms(use_true_random=False))
def test_live_gives_in_all_what_a_run_over_stored_events_gives(plans: list[Plan], chance: Random) -> None:
    records = some_lines(chance, 30, 60)
    script = script_of(chance, records, [plans[0]], times=[])
    types = {one.qualified_name: one for one in plans[0].types}.get
    stored = run(plans[0], (decode(record, types, require_time=True) for record in records))
    assert told_by_engine(plans[0], script, PACE) == texts(stored)


# One thing at a time


def fire(number: int, time: datetime, **data: Any) -> Event:
    return Event(str(number), "/a", "house_a.FireDetected", time, {"room": "attic", "heat": 200.0, **data})


def codes(outcomes: list[Any]) -> list[str]:
    return [one.faults[0].code if isinstance(one, Rejected) else one.profile for one in outcomes]


@pytest.fixture
def attic(tmp_path: Path) -> Plan:
    return plan_of(tmp_path, ["attic", "unanswered"])


@pytest.mark.parametrize("form", ["event", "record", "line"])
def test_push_takes_and_rejects_whatever_form_a_record_has(attic: Plan, form: str) -> None:
    def pushed(event: Event) -> list[str]:
        as_record = json.loads(encode(event)) if event.time else {"id": event.id, "source": event.source}
        forms: dict[str, Any] = {"event": event, "record": as_record, "line": json.dumps(as_record).encode()}
        return codes(engine.push(forms[form]))

    engine = LiveEngine(attic)
    assert "attic" in pushed(fire(1, BEGIN))
    assert "attic" not in pushed(fire(1, BEGIN))  # again
    assert pushed(fire(2, BEGIN, heat="hot")) == ["wrong-kind"]
    assert pushed(msgspec.structs.replace(fire(3, BEGIN), time=None)) == ["missing"]
    assert (engine.counts.records, engine.counts.rejected) == (4, 2)


def test_push_rejects_times_that_nobody_believes(attic: Plan) -> None:
    engine = LiveEngine(attic, PACE)
    now = BEGIN + timedelta(days=40)
    assert codes(engine.push(fire(1, BEGIN), now)) == ["too-old"]
    assert codes(engine.push(fire(2, now + timedelta(days=3)))) == ["from-the-future"]
    assert "attic" in codes(engine.push(fire(3, now - timedelta(days=1))))


def test_advance_reports_an_absence_when_its_time_has_come(attic: Plan) -> None:
    engine = LiveEngine(attic, PACE)
    engine.push(fire(1, BEGIN))
    due = BEGIN + timedelta(minutes=5) + LATENESS
    assert engine.advance(due) == []
    assert codes(engine.advance(due + timedelta(microseconds=1))) == ["unanswered"]
    assert engine.finish() == []


def test_finish_tells_once_and_lets_it_go_on(attic: Plan) -> None:
    engine = LiveEngine(attic, PACE)
    engine.push(fire(1, BEGIN))
    assert codes(engine.finish()) == ["unanswered"]
    assert engine.finish() == []
    assert engine.advance(BEGIN + timedelta(days=1)) == []
    assert "attic" in codes(engine.push(fire(2, BEGIN + timedelta(days=2))))
    assert codes(engine.finish()) == ["unanswered"]


def test_a_late_event_is_told_and_takes_part_in_nothing(attic: Plan) -> None:
    engine = LiveEngine(attic, PACE)
    engine.push(fire(1, BEGIN + timedelta(hours=1)))
    late = [one for one in engine.push(fire(2, BEGIN)) if isinstance(one, LateEvent)]
    assert [one.event.id for one in late] == ["2"]
    assert engine.counts.late == 1
    assert [one.event.data["events"]["f"]["id"] for one in engine.finish()] == ["1"]  # type: ignore[union-attr, index, call-overload]


def test_change_says_what_came_and_went(tmp_path: Path) -> None:
    engine = LiveEngine(plan_of(tmp_path, ["attic", "leaks"]))
    change = engine.change(plan_of(tmp_path, ["attic", "warm"]))
    assert (change.added, change.removed) == (("warm",), ("leaks",))
    ways = sum(one.profile == "warm" for route in engine.plan.routes for one in route.deliveries)
    assert (change.tests_added, change.tests_removed) == (ways, 1)
    assert engine.change(engine.plan) == type(change)((), (), 0, 0)


def test_memory_stays_the_same_as_time_goes_on(attic: Plan) -> None:
    engine = LiveEngine(attic, EnginePace(timedelta(minutes=1), timedelta(hours=6)))
    sizes = []
    for day in range(4):
        for minute in range(0, 1_440, 5):
            engine.push(fire(minute + 1_440 * day, BEGIN + timedelta(days=day, minutes=minute)))
        sizes.append(len(engine.snapshot()))
    assert sizes[3] < 1.1 * sizes[1]


def test_many_profiles_are_matched_by_the_index_and_change_in_groups(tmp_path: Path) -> None:
    """With more tests than are made one by one, and an order that the numbers in the index do not have."""
    plan = plan_of(tmp_path, ["attic", "leaks"])
    (route,) = [one for one in plan.routes if one.source.qualified_name == "house_a.FireDetected" and not one.mediate]
    (attic,) = [one for one in route.deliveries if one.profile == "attic"]

    def copies(names: range) -> Plan:
        own = tuple(replace(attic, profile=f"p{name}") for name in names)
        return replace(plan, routes=(replace(route, deliveries=own),))

    engine = LiveEngine(copies(range(1_200)))
    assert codes(engine.push(fire(1, BEGIN))) == [f"p{at}" for at in range(1_200)]
    change = engine.change(copies(range(1_100, 0, -1)))
    assert (change.tests_added, change.tests_removed) == (0, 100)
    change = engine.change(copies(range(1_300, 1_000, -1)))
    assert (change.tests_added, change.tests_removed) == (200, 1_000)
    assert codes(engine.push(fire(2, BEGIN))) == [f"p{at}" for at in range(1_300, 1_000, -1)]
    came_first = [f"p{at}" for at in range(1_300, 1_199, -1)]  # those below had it, also those that were away since
    assert codes(engine.push(fire(1, BEGIN))) == came_first


def test_a_damaged_snapshot_is_refused(attic: Plan) -> None:
    saved = LiveEngine(attic).snapshot()
    for broken in (saved[:-1], saved.replace(b"comity", b"eomity"), b"", sealed(b"other"), sealed(b"\x92\x01\x90")):
        with pytest.raises(Permanent) as error:
            LiveEngine.restore(attic, broken)
        assert error.value.code == "bad-snapshot"


def test_a_memory_shorter_than_the_lateness_is_refused(attic: Plan) -> None:
    with pytest.raises(Misuse):
        LiveEngine(attic, EnginePace(timedelta(hours=1), timedelta(minutes=1)))
