"""The metrics, the log and the progress of a run, where others can see them."""

import io
import json
import logging
import socket
import urllib.request

import pytest
from rich.console import Console

from comity.cli.logs import LogFormat, logging_to
from comity.cli.progress import BatchProgress, StreamLine
from comity.cli.screen import Screen
from comity.cli.session import Format
from comity.errors import Misuse
from comity.logs import LOGGER, log
from comity.plan.stages import Summary
from comity.run.metrics import MetricsOutput


def test_metrics_in_a_file(tmp_path):
    file = tmp_path / "comity.prom"
    with MetricsOutput.into("city", file=file) as output:
        assert "comity_batches_total 0.0" in file.read_text()
        output.take(Summary(records=3, rejected=1, delivered={"hot": 2}), lag_s=1.5)
        assert 'comity_delivered_total{profile="hot"} 2.0' in file.read_text()
        assert "comity_lag_seconds 1.5" in file.read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["comity.prom"]


def test_metrics_on_a_port():
    with MetricsOutput.into("city", port=0) as output:
        output.take(Summary(records=3, rejected=0))
        with urllib.request.urlopen(f"http://127.0.0.1:{output.port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert b"comity_records_total 3.0" in answer.read()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", output.port), timeout=1)


def test_metrics_on_a_port_that_is_taken():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(Misuse) as caught,
        MetricsOutput.into("city", port=server.getsockname()[1]),
    ):
        pass
    assert caught.value.code == "port-not-free"


def test_metrics_that_cannot_be_written_do_not_end_the_run(tmp_path, capsys):
    folder = tmp_path / "a"
    folder.mkdir()
    screen = Screen(Format.TEXT)
    with MetricsOutput.into("city", file=folder / "m.prom", observer=screen) as output:
        (folder / "m.prom").unlink()
        folder.rmdir()
        output.take(Summary(1, 0))
    assert "not written" in capsys.readouterr().err
    with pytest.raises(Misuse), MetricsOutput.into("city", file=tmp_path / "no" / "m.prom"):
        pass


def test_metrics_that_nobody_asked_for():
    with MetricsOutput.into("city") as output:
        output.take(Summary(1, 0))
        assert output.metrics is None


def test_log_as_json(tmp_path):
    file = tmp_path / "log"
    with logging_to(str(file), LogFormat.JSON):
        log("batch done", batch=7, level=logging.WARNING, delivered={"hot": 2})
        log("stopped", time="mine", path=tmp_path)
        log("too fine", level=logging.DEBUG)
    log("after the end")
    first, second = map(json.loads, file.read_text().splitlines())
    assert list(first) == ["time", "level", "event", "batch", "delivered"]
    assert (first["level"], first["event"], first["batch"], first["time"][-1]) == ("warning", "batch done", 7, "Z")
    assert second["time"] != "mine"
    assert second["path"] == str(tmp_path)


def test_log_as_text_is_one_line_an_event(capsys):
    with logging_to("-"):
        log("batch done", batch=7, note="a b\nc")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(r'info batch done batch=7 note="a b\nc"')


def test_log_that_cannot_be_written(tmp_path):
    with pytest.raises(Misuse) as caught, logging_to(str(tmp_path)):
        pass
    assert caught.value.code == "unwritable-file"


def test_no_log_unless_asked_for(capsys):
    with logging_to(None):
        log("quiet", level=logging.ERROR)
    assert capsys.readouterr().err == ""
    assert [type(handler) for handler in LOGGER.handlers] == [logging.NullHandler]


def _terminal(is_terminal=True):
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=100)


def test_batch_progress_on_a_terminal():
    terminal = _terminal()
    with BatchProgress("reading", terminal=terminal) as progress:
        progress.update(1_000, 0.25)
        progress.update(2_000, 7.0)
    shown = terminal.file.getvalue()
    assert "2,000 rows" in shown
    assert "100 %" in shown


def test_batch_progress_by_rows():
    terminal = _terminal()
    with BatchProgress("reading", total_rows=4_000, terminal=terminal) as progress:
        progress.update(1_000)
    assert " 25 %" in terminal.file.getvalue()


def test_stream_line_on_a_terminal():
    terminal = _terminal()
    with StreamLine("city", terminal=terminal) as line:
        line.update(batch=3, records=10, rate=5.0, delivered=2, rejected=1, lag_s=0.5)
    assert "batch 3  10 in, 5/s  2 delivered  1 rejected  0.5 s behind" in terminal.file.getvalue()


@pytest.mark.parametrize(("is_terminal", "form"), [(False, Format.TEXT), (True, Format.JSON)])
def test_nothing_is_shown_elsewhere(is_terminal, form):
    terminal = _terminal(is_terminal)
    with BatchProgress("reading", format=form, terminal=terminal) as progress:
        progress.update(1, 0.5)
    with StreamLine("city", format=form, terminal=terminal) as line:
        line.update(batch=3, records=10, rate=5.0, delivered=2, rejected=1)
    assert terminal.file.getvalue() == ""
