"""The program as its users call it: in this process for most tests, in its own one where the process matters."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from comity.cli.main import run

SOURCE = Path(__file__).parents[2] / "src"


@dataclass
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def comity(capsys, tmp_path, monkeypatch):
    """Calls the program inside an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMITY_DEBUG", raising=False)

    def call(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Result(exit.value.code or 0, printed.out, printed.err)

    return call


def _hear_interrupts():
    """A shell starts what runs in the background with interrupts ignored, and the tests may be run so."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def start(tmp_path):
    """Starts the program as a process."""

    def start(*arguments, **options):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), **options.pop("env", {})}
        command = [sys.executable, "-m", "comity", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path}
        return subprocess.Popen(command, env=environment, **{"preexec_fn": _hear_interrupts, **pipes, **options})

    return start


@pytest.fixture
def write(tmp_path):
    """Writes a file into the directory of the test."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


TYPES = """
domain: house
types:
  Alarm: {abstract: true, attributes: {room: string}}
  Fire: {extends: Alarm, attributes: {heat: float degC, floor: int?}}
  Leak: {extends: Alarm, attributes: {litres: float litre}}
"""


@pytest.fixture
def types(write):
    return write("types.yaml", TYPES)
