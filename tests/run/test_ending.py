"""A stream that is asked to end does so within a known time, whatever its batch does, and goes on at the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from comity.cli.main import run
from comity.errors import ComityError, Misuse, Retryable
from comity.limits import limited
from comity.run.ending import wait_for
from comity.testing.outcomes import outcomes_in

HOUSES = Path(__file__).parents[2] / "examples" / "two_houses"
PEOPLE = ["fire_station", "house_a", "house_b"]
TIMEOUT_S = 240


class Query:
    """A query that never ends; its `stop` waits for the batch, as Spark's does."""

    def __init__(self) -> None:
        self.batch_ended = threading.Event()
        self.was_asked = False

    def awaitTermination(self, seconds: int) -> bool:
        if not self.was_asked:
            self.was_asked = True
            os.kill(os.getpid(), signal.SIGTERM)
        return self.batch_ended.wait(0.01)

    def stop(self) -> None:
        self.batch_ended.wait()
        raise ConnectionError("Java has gone")


class Stream:
    fault: ComityError | None = None


def test_a_batch_that_goes_on_loses_its_java(monkeypatch: pytest.MonkeyPatch) -> None:
    query, told = Query(), []
    monkeypatch.setattr("comity.pipeline.session.abandon_session", query.batch_ended.set)
    with limited(max_stop_s=1), pytest.raises(Retryable) as found:
        wait_for(query, Stream(), meanwhile=lambda: None, stopping=lambda: told.append("stopping"))
    assert (found.value.code, told) == ("not-stopped", ["stopping"])


def test_a_java_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query()
    ended = query.batch_ended
    monkeypatch.setattr("comity.pipeline.session.abandon_session", ended.set)
    monkeypatch.setattr(query, "awaitTermination", lambda seconds: os.kill(os.getpid(), signal.SIGINT) or ended.wait())
    with limited(max_stop_s=1), pytest.raises(Retryable, match="within 1 s"):
        wait_for(query, Stream(), meanwhile=lambda: None, stopping=lambda: None)


def test_the_fault_of_a_batch_is_told() -> None:
    class Failed(Query):
        def awaitTermination(self, seconds: int) -> bool:
            raise ConnectionError("the query failed")

    stream = Stream()
    with pytest.raises(ComityError, match="the query failed"):
        wait_for(Failed(), stream, meanwhile=lambda: None, stopping=lambda: None)
    stream.fault = Misuse("the folder is gone", code="not-a-folder")
    with pytest.raises(Misuse, match="the folder is gone"):
        wait_for(Failed(), stream, meanwhile=lambda: None, stopping=lambda: None)


def started(setup: str, folder: Path, *options: str, **environ: str) -> subprocess.Popen[str]:
    """A stream over the events of the example, in a process in which `setup` ran before; it says when it is stuck."""
    command = ["run", str(HOUSES), "--events", str(HOUSES / "events"), "--out", "out", "--stream", *options]
    text = f"""
        import os, signal, time
        from comity.cli import main

        def stick(*arguments, **named):
            print("stuck", flush=True)
            while True:
                time.sleep(1)

        {textwrap.indent(textwrap.dedent(setup).strip(), " " * 8).strip()}
        main.run({command})
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ends_when_asked(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """What it says when it is asked to end while it is stuck."""
    assert process.stdout is not None
    assert any(line.strip() == "stuck" for line in process.stdout)
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    assert process.returncode == 1, errors
    return errors


def goes_on(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
    """The same command delivers what a run over the same events delivers."""
    common = ["run", str(HOUSES), "--events", str(HOUSES / "events")]
    for more in (["--out", str(folder / "all"), "--engine", "local"], ["--out", str(folder / "out"), *options]):
        with pytest.raises(SystemExit) as left:
            run([*common, *more])
        assert not left.value.code, capsys.readouterr().err
    assert outcomes_in(folder / "out", PEOPLE) == outcomes_in(folder / "all", PEOPLE) != []


def test_a_sink_that_never_answers_does_not_keep_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = "from comity.connect.connectors.stdout import StdoutSink as Sink; Sink.deliver = stick"
    stream = started(setup, tmp_path, "--engine", "local", "--print", COMITY_MAX_STOP_S="1")
    assert "[not-stopped]" in ends_when_asked(stream, signal.SIGTERM)
    goes_on(tmp_path, capsys, "--engine", "local", "--stream", "--until-empty")


STUCK = {
    "in the driver": "from comity.pipeline.stream import StreamRun as Stream; Stream._take = stick",
    "in Java": """
        from comity.pipeline import session
        from comity.run.accounts import Accounts

        def stop_java(*arguments):
            os.killpg(session._runtime.process.pid, signal.SIGSTOP)
            stick()

        Accounts.take = stop_java""",
}


@pytest.mark.slow
@pytest.mark.parametrize(("where", "number"), [("in the driver", signal.SIGTERM), ("in Java", signal.SIGINT)])
def test_a_batch_that_is_stuck_comes_again(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    where: str,
    number: signal.Signals,
) -> None:
    stream = started(STUCK[where], tmp_path, "--until-empty", COMITY_MAX_STOP_S="3")
    errors = ends_when_asked(stream, number)
    assert "did not stop within 3 s" in errors
    assert "Traceback" not in errors
    goes_on(tmp_path, capsys, "--stream", "--until-empty")
