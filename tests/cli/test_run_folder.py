"""`comity run` and its folder: what a refused, a failed and an interrupted run leave, and who may write."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from comity.connect.claim import locked_folder, shared_for_replay
from comity.connect.commits import FOLDER, Commits, after_batch, note_keys
from comity.connect.delivered import Delivered
from comity.connect.identity import key_digest
from comity.connect.key_files import DeliveredKeys, as_keys

CITY = Path(__file__).parents[2] / "examples" / "two_houses"
RUN = ("run", CITY, "--events", CITY / "events", "--engine", "local")


def everything(folder):
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--events", "no/such/file.jsonl", "--engine", "local"), "no-such-file"),
        (("--events", CITY / "events", "--engine", "local", "--from", "yesterday"), "bad-time"),
        (("--events", CITY / "events" / "house_a.jsonl", "--stream"), "not-a-folder"),
        (("--events", CITY / "events", "--stream", "--engine", "local", "--to", "2026-01-01"), "no-stream-period"),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_refused_run_leaves_nothing_and_the_corrected_one_runs(comity, tmp_path, options, code, overwrite):
    out = tmp_path / "a" / "out"
    if overwrite:
        assert comity(*RUN, "--out", out).code == 0
    before = everything(tmp_path)
    refused = comity("run", CITY, *options, "--out", out, *(["--overwrite"] if overwrite else []))
    assert (refused.code, code in refused.err) == (2, True), refused.err
    assert everything(tmp_path) == before
    assert (tmp_path / "a").exists() is overwrite
    assert comity(*RUN, "--out", out, *(["--overwrite"] if overwrite else [])).code == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_interrupted_before_its_results_can_be_made_again(start, tmp_path, how):
    command = ("run", CITY, "--events", "-", "--engine", "local", "--out", "out")
    running = start(*map(str, command), stdin=-1)
    kept = tmp_path / "out" / ".landing" / "stdin.jsonl"
    while not kept.exists():
        assert running.poll() is None, running.communicate()
    running.send_signal(how)
    running.communicate()
    assert (tmp_path / "out").exists() is (how is signal.SIGKILL)
    again = start(*map(str, command), stdin=-1)
    _, errors = again.communicate((CITY / "events" / "house_a.jsonl").read_bytes())
    assert again.returncode == 0, errors
    assert list((tmp_path / "out" / "fire_station").glob("part-*"))


@pytest.mark.parametrize("options", [(), ("--overwrite",)])
def test_a_folder_on_which_a_stream_works_is_left_alone(comity, tmp_path, options):
    out = tmp_path / "out"
    assert comity(*RUN, "--out", out).code == 0
    before = everything(out)
    with locked_folder(out):
        for command in (RUN, (*RUN[:4], "--stream"), ("backtest", *RUN[1:], "--profile", "main_street")):
            refused = comity(*command, "--out", out, *(options if "--stream" not in command else ("--overwrite",)))
            assert (refused.code, "folder-in-use" in refused.err) == (2, True), refused.err
        refused = comity("demo", "--engine", "local", "--out", out)
        assert (refused.code, "folder-in-use" in refused.err) == (2, True), refused.err
        assert {name: at for name, at in everything(out).items() if name != ".lock"} == before


def test_the_demo_replaces_results_when_it_is_told_to(comity, tmp_path):
    out = tmp_path / "out"
    assert comity(*RUN, "--out", out).code == 0
    before = everything(out)
    refused = comity("demo", "--engine", "local", "--out", out)
    assert (refused.code, "not-empty" in refused.err, everything(out)) == (2, True, before), refused.err
    assert comity("demo", "--engine", "local", "--out", out, "--overwrite").code == 0
    assert (out / "police").is_dir()


def test_a_folder_from_which_dead_letters_are_replayed_is_not_overwritten(comity, tmp_path):
    out = tmp_path / "out"
    assert comity(*RUN, "--out", out).code == 0
    with shared_for_replay(out):
        refused = comity(*RUN, "--out", out, "--overwrite")
    assert (refused.code, "comity replay is working" in refused.err) == (2, True)
    assert json.loads((out / ".run.json").read_text())["federation"] == str(CITY)


def stream_left(out):
    """What a stream leaves that has delivered something."""
    out.mkdir()
    delivered = Delivered(out)
    with delivered.batch(0):
        for number in range(3_000):
            delivered.is_new(str(number), "2026-01-02", 0)
    delivered.close()
    (out / ".checkpoint").mkdir()
    return out / ".delivered.db"


def stream_on_spark_left(out):
    """What a stream on Spark leaves that has delivered something."""
    commits = Commits(out)
    commits.begin((), "2026-01-02")
    new = DeliveredKeys([])
    new.take(as_keys(map(key_digest, map(str, range(3_000)))))
    written = note_keys(commits.place, (), new.taken(), 0, 0, "2026-01-02")
    commits.commit(0, after_batch(commits.before(0), 1, [written]))
    (out / ".checkpoint").mkdir()
    return out / FOLDER / written.file.name


def test_a_stream_whose_notes_are_malformed_says_which_and_what_to_do(comity, tmp_path):
    path = stream_left(tmp_path / "out")
    content = bytearray(path.read_bytes())
    content[4_096:40_960] = b"\xff" * 36_864
    path.write_bytes(content)
    told = comity("run", CITY, "--events", CITY / "events", "--out", "out", "--stream", "--until-empty")
    assert told.code == 1
    assert str(path) in told.err.replace("\n", "")
    assert "put back a copy" in told.err
    told = comity("doctor", "--out", tmp_path / "out")
    assert told.code == 1
    assert "✗ remembered notifications" in told.out


def test_a_stream_on_spark_whose_keys_are_damaged_says_which_and_what_to_do(comity, tmp_path):
    path = stream_on_spark_left(tmp_path / "out")
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    stream = ("--engine", "spark", "--stream", "--until-empty")
    for command in (("run", CITY, "--events", CITY / "events", "--out", "out", *stream), ("doctor", "--out", "out")):
        told = comity(*command)
        assert told.code == 1
        assert path.name in (told.err + told.out).replace("\n", "")
        assert "checksum" in told.err + told.out


@pytest.mark.parametrize("left", [stream_left, stream_on_spark_left])
def test_doctor_tells_how_much_is_remembered(comity, tmp_path, left):
    left(tmp_path / "out")
    told = comity("doctor", "--out", tmp_path / "out").out
    assert "✓ remembered notifications: 3,000, the oldest of 2026-01-02" in told
    assert "30 days (remember_days)" in told.replace("\n", " ")
