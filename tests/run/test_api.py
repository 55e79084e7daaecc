"""`comity.run` and `comity.open`: the same as the command line and the engine, in a few lines of Python."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import comity
from comity import Event, Misuse, Notification, Profile, compile_plan, load, read_events
from comity.event.formats.jsonlines import Rejected
from comity.run.observer import Silent

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
NORTH = {"types": {"Fire": {"attributes": {"heat": "float degC"}}}}
HOUSE = {
    "federation": "house",
    "domains": {"north": NORTH},
    "profiles": {"hot": {"domain": "north", "on": "Fire", "where": "heat > 40"}},
}


def fire(id: str, heat: object, time: str = "2026-05-01T12:00:00Z") -> dict[str, object]:
    return {"specversion": "1.0", "id": id, "source": "/n", "type": "north.Fire", "time": time, "data": {"heat": heat}}


def _told(outcomes):
    return [
        (one.profile, one.event.id) if isinstance(one, Notification) else ("rejected", one.faults[0].code)
        for one in outcomes
    ]


def _delivered(out: Path) -> set[tuple[str, str, str]]:
    lines = [
        (path.parent.name, json.loads(line))
        for path in out.glob("*/part-*.jsonl")
        if path.parent.name != "rejected"
        for line in path.read_text().splitlines()
    ]
    return {(subscriber, one["profile"], one["id"]) for subscriber, one in lines}


# run


def test_run_takes_a_folder_a_federation_a_mapping_and_a_plan():
    federation = load(EXAMPLE)
    plan = compile_plan(federation)
    expected = list(comity.run(plan, read_events(EXAMPLE / "events", federation.find_type)))
    assert {one.profile for one in expected if isinstance(one, Notification)} >= {"serious_fires"}
    for given in (str(EXAMPLE), EXAMPLE, federation, plan):
        assert _told(comity.run(given, EXAMPLE / "events")) == _told(expected)
    assert _told(comity.run(HOUSE, [fire("1", 41), fire("2", 39)])) == [("hot", "1")]


def test_run_is_the_function_even_if_its_package_was_imported_first():
    script = "import comity.run.request, comity; print(callable(comity.run), list(comity.run({'domains': {}}, [])))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout == "True []\n"


def test_run_takes_events_in_every_form_and_rejects_what_is_none():
    event = Event("1", "/n", "north.Fire", time=None, data={"heat": 41.0})
    text = json.dumps(fire("2", 42), indent=2)
    given = [event, text, text.encode().replace(b'"2"', b'"3"'), fire("4", "hot"), "{", fire("5", 45)]
    assert _told(comity.run(HOUSE, iter(given))) == [
        ("rejected", "missing"),
        ("hot", "2"),
        ("hot", "3"),
        ("rejected", "wrong-kind"),
        ("rejected", "truncated-json"),
        ("hot", "5"),
    ]


def test_run_takes_paths(tmp_path):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for number, file in enumerate(files):
        file.write_text(json.dumps(fire(str(number), 50)))
    assert _told(comity.run(HOUSE, [str(file) for file in files])) == [("hot", "0"), ("hot", "1")]
    assert _told(comity.run(HOUSE, files[0])) == [("hot", "0")]


def test_run_over_a_part_of_history():
    events = [fire("1", 50, "2026-05-01T00:00:00Z"), fire("2", 50, "2026-05-02T00:00:00Z")]
    assert _told(comity.run(HOUSE, events, since="2026-05-02")) == [("hot", "2")]
    assert _told(comity.run(HOUSE, events, until="2026-05-02")) == [("hot", "1")]


def test_run_reads_the_sources_of_the_domains(tmp_path):
    (tmp_path / "events.jsonl").write_text(json.dumps(fire("1", 50)))
    house = {**HOUSE, "domains": {"north": {**NORTH, "sources": {"sensors": {"files": {"path": "events.jsonl"}}}}}}
    assert _told(comity.run(load(house, folder=tmp_path))) == [("hot", "1")]


def test_run_into_a_folder_is_as_the_command_line_does_it(tmp_path):
    done = comity.run(EXAMPLE, EXAMPLE / "events", out=tmp_path / "python")
    command = [sys.executable, "-m", "comity", "run", EXAMPLE, "--events", EXAMPLE / "events", "--engine", "local"]
    subprocess.run([*command, "--out", tmp_path / "cli"], check=True, capture_output=True, timeout=120)
    assert _delivered(done.out) == _delivered(tmp_path / "cli") != set()
    assert sum(done.summary.delivered.values()) == len(_delivered(done.out))
    with pytest.raises(Misuse) as caught:
        comity.run(EXAMPLE, EXAMPLE / "events", out=tmp_path / "python")
    assert caught.value.code == "not-empty"
    assert comity.run(EXAMPLE, EXAMPLE / "events", out=tmp_path / "python", overwrite=True).summary == done.summary


def test_run_into_a_folder_with_events_at_hand(tmp_path):
    done = comity.run(HOUSE, [fire("1", 41), Event("2", "/n", "north.Fire", data={"heat": object()})], out=tmp_path)
    assert (done.summary.records, done.summary.rejected, done.summary.delivered) == (2, 1, {"hot": 1})
    assert _delivered(tmp_path) == {("north", "hot", "1")}


def test_run_sends_to_the_sinks(tmp_path, capfdbinary):
    sink = {"deliver": {"desk": {"stdout": {}}}}
    house = load({**HOUSE, "domains": {"north": {**NORTH, **sink}}}, folder=tmp_path)
    comity.run(house, [fire("1", 41)], out=tmp_path / "out")
    assert [json.loads(line)["id"] for line in capfdbinary.readouterr().out.splitlines()] == ["1"]


def test_run_on_spark_with_events_at_hand(spark, tmp_path):
    given = [fire("1", 41), json.dumps(fire("2", 42), indent=1), fire("3", "hot"), fire("4", 1)]
    done = comity.run(HOUSE, given, out=tmp_path / "out", engine="spark")
    assert (done.summary.records, done.summary.rejected, done.summary.delivered) == (4, 1, {"hot": 2})


@pytest.mark.parametrize(
    ("given", "options", "code"),
    [
        (HOUSE, {"engine": "flink"}, "bad-usage"),
        (HOUSE, {"engine": "spark", "events": []}, "no-out"),
        (HOUSE, {}, "no-events"),
        (compile_plan(load(HOUSE)), {}, "no-events"),
        (compile_plan(load(HOUSE)), {"events": [], "out": "x"}, "bad-usage"),
        (HOUSE, {"events": [], "since": "yesterday"}, "bad-timestamp"),
        (HOUSE, {"events": "nowhere.jsonl"}, "no-such-file"),
    ],
)
def test_misuse_is_told_before_anything_runs(given, options, code):
    with pytest.raises(Misuse) as caught:
        comity.run(given, **options)
    assert caught.value.code == code


def test_an_observer_is_told(tmp_path):
    told: list[str] = []

    class Told(Silent):
        def warning(self, notice):
            told.append(notice.code)

    sources = {"hook": {"webhook": {"port": 0}}, "sensors": {"files": {"path": "events.jsonl"}}}
    (tmp_path / "events.jsonl").write_text(json.dumps(fire("1", 50)))
    house = load({**HOUSE, "domains": {"north": {**NORTH, "sources": sources}}}, folder=tmp_path)
    comity.run(house, out=tmp_path / "out", observer=Told())
    assert told == ["live-sources-left-out"]


# open


def test_a_session_gives_what_comes_of_events():
    with comity.open(HOUSE) as session:
        assert _told(session.push(fire("1", 41))) == [("hot", "1")]
        assert _told(session.push(json.dumps(fire("2", 42)), fire("3", 3))) == [("hot", "2")]
        assert _told(session.push("no JSON")) == [("rejected", "bad-json")]
        assert session.push(fire("1", 41)) == []
        assert session.engine.counts.records == 5
    with pytest.raises(Misuse) as caught:
        session.push(fire("4", 44))
    assert caught.value.code == "session-closed"


def test_profiles_come_and_go():
    with comity.open(HOUSE) as session:
        change = session.add({"cold": {"domain": "north", "on": "Fire", "where": "heat < 0"}})
        assert change.added == ("cold",)
        session.add([Profile.of("mild", "heat > 10 and heat < 20", on="Fire", domain="north")])
        assert _told(session.push(fire("1", -1), fire("2", 15), fire("3", 50))) == [
            ("cold", "1"),
            ("mild", "2"),
            ("hot", "3"),
        ]
        session.add({"hot": {"domain": "north", "on": "Fire", "where": "heat > 60"}})
        assert session.remove("cold", "mild").removed == ("cold", "mild")
        assert _told(session.push(fire("4", -1), fire("5", 15), fire("6", 50), fire("7", 70))) == [("hot", "7")]
        assert list(session.federation.profiles) == ["hot"]


def test_a_change_that_is_wrong_changes_nothing():
    with comity.open(HOUSE) as session:
        for bad, code in (
            (lambda: session.add({"new": {"domain": "north", "on": "Smoke"}}), "unknown-type"),
            (lambda: session.add({"new": {"domain": "north", "on": "Fire", "where": "heat >"}}), "syntax"),
            (lambda: session.add("hot"), "bad-value"),
            (lambda: session.remove("hott"), "unknown-profile"),
        ):
            with pytest.raises(Misuse) as caught:
                bad()
            errors = getattr(caught.value, "errors", [caught.value])
            assert [one.code for one in errors] == [code]
        assert _told(session.push(fire("1", 41))) == [("hot", "1")]


def test_profiles_of_a_folder_can_change_and_its_files_stay(tmp_path):
    before = {path: path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    with comity.open(EXAMPLE) as session:
        name = next(iter(session.federation.profiles))
        session.remove(name)
        assert name not in session.federation.profiles
        written = session.federation.write(tmp_path / "out")
        assert load(written) == session.federation
    assert before == {path: path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}


def test_time_decides_and_a_snapshot_goes_on():
    silence = {"silent": {"domain": "north", "on": "Fire a ; not Fire within 10 min"}}
    watch = {**HOUSE, "profiles": silence}
    with comity.open(watch, lateness=timedelta(0)) as session:
        assert session.push(fire("1", 41, "2026-05-01T12:00:00Z"), now="2026-05-01T12:00:00Z") == []
        kept = session.snapshot()
    with comity.open(watch, lateness=timedelta(0), snapshot=kept) as session:
        (report,) = session.advance("2026-05-01T12:20:00Z")
        assert report.profile == "silent"
        assert session.finish() == []


def test_a_session_on_a_plan_has_no_profiles_to_add():
    with comity.open(compile_plan(load(HOUSE))) as session, pytest.raises(Misuse) as caught:
        session.remove("hot")
    assert caught.value.code == "bad-usage"
    assert isinstance(session.engine.push(b"x")[0], Rejected)
