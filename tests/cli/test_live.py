"""`comity run --stream`: from folders, pipes and webhooks, mostly without Spark."""

import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from comity.limits import limited
from comity.run.observer import Silent
from comity.run.stream import watched_federation
from comity.testing.outcomes import outcomes_in
from comity.testing.poison import truncated_gzip

HOUSES = Path(__file__).parents[2] / "examples" / "two_houses"
LIVE = ("--engine", "local", "--stream")
PEOPLE = ["fire_station", "house_a", "house_b"]


def outcomes(out):
    return outcomes_in(out, PEOPLE)


def test_a_stream_from_a_folder_gives_what_a_run_gives_and_goes_on(comity, tmp_path):
    events = tmp_path / "events"
    shutil.copytree(HOUSES / "events", events)
    assert comity("run", HOUSES, "--events", events, "--out", "stored", "--engine", "local").code == 0
    given = ("--until-empty", "--format", "json", "--metrics", "live.prom")
    first = comity("run", HOUSES, "--events", events, "--out", "live", *LIVE, *given)
    assert first.code == 0, first.err
    batch, totals = map(json.loads, first.out.splitlines())
    assert (batch["batch"], totals["records"]) == (0, 9)
    assert outcomes(tmp_path / "live") == outcomes(tmp_path / "stored")
    assert "comity_remembered_notifications 4.0" in (tmp_path / "live.prom").read_text()
    shutil.copy(events / "house_a.jsonl", events / "again.jsonl")
    again = comity("run", HOUSES, "--events", events, "--out", "live", *LIVE, "--until-empty", "--format", "json")
    assert json.loads(again.out.splitlines()[-1])["delivered"] == {"main_street": 0, "serious_fires": 0}


def test_a_stream_from_a_pipe_gives_what_a_run_gives(comity, start, tmp_path):
    lines = (HOUSES / "events" / "house_a.jsonl").read_bytes()
    running = start("run", str(HOUSES), "--events", "-", "--out", "live", *LIVE, "--until-empty", stdin=-1)
    _, errors = running.communicate(lines)
    assert running.returncode == 0, errors
    assert (
        comity("run", HOUSES, "--events", HOUSES / "events" / "house_a.jsonl", "--out", "stored", *LIVE[:2]).code == 0
    )
    told = [[one for one in outcomes(tmp_path / name) if one[0] in PEOPLE] for name in ("live", "stored")]
    assert told[0] == told[1] != []


def has_rejected(out, name):
    """Whether a record of the file was published as rejected, whose batch may or may not count by now."""
    try:
        return any(name in part.read_text() for part in out.glob("rejected/batch-*"))
    except FileNotFoundError:  # it was replaced just now
        return False


def test_a_stream_that_is_killed_or_stopped_goes_on(comity, start, tmp_path):
    """Real signals, wherever they come: what is told is waited for, not slept for."""
    events = tmp_path / "events"
    events.mkdir()
    command = ("run", str(HOUSES), "--events", str(events), "--out", "live", *LIVE, "--trigger", "0.01")
    files = sorted((HOUSES / "events").iterdir())
    for file, how in zip(files, (signal.SIGKILL, signal.SIGINT), strict=True):
        running = start(*command)
        shutil.copy(file, events / f".{file.name}")
        (events / f".{file.name}").rename(events / file.name)
        until = time.monotonic() + 60
        while not has_rejected(tmp_path / "live", file.name):
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < until
        running.send_signal(how)
        running.communicate()
        assert running.returncode == (0 if how is signal.SIGINT else -how)
    assert comity("run", HOUSES, "--events", events, "--out", "live", *LIVE, "--until-empty").code == 0
    assert comity("run", HOUSES, "--events", events, "--out", "stored", *LIVE[:2]).code == 0
    assert outcomes(tmp_path / "live") == outcomes(tmp_path / "stored")


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_stream_tells_of_files_that_it_does_not_read_or_sets_aside(comity, write, tmp_path, request, engine):
    if engine == "spark":
        request.getfixturevalue("spark")
    shutil.copytree(HOUSES / "events", tmp_path / "events")
    write("events/notes.json", "{}")
    write("events/broken.jsonl.gz", truncated_gzip(b"{}\n"))
    stream = ("--engine", engine, "--stream", "--until-empty")
    done = comity("run", HOUSES, "--events", "events", "--out", "live", *stream)
    assert done.code == 0, done.err
    told = done.err.replace("\n", " ")
    assert "not read: notes.json in" in told
    assert f"set aside: {tmp_path / 'events' / 'broken.jsonl.gz'}" in told
    assert "[broken-gzip]" in told


class Warned(Silent):
    """Keeps what it is warned of."""

    def __init__(self):
        self.notices = []

    def warning(self, notice):
        self.notices.append((notice.code, notice.message))


def test_a_stream_warns_of_files_of_its_federation_that_are_gone(tmp_path):
    city, observer = Path(shutil.copytree(HOUSES, tmp_path / "city")), Warned()
    watched = watched_federation(city, observer)
    (city / "contracts" / "fire.yaml").unlink()
    with limited(federation_grace_ms=1, federation_settle_ms=1):
        assert "fire" not in watched.current().contracts
    ((code, message),) = observer.notices
    assert code == "files-removed"
    assert "without contract fire" in message
