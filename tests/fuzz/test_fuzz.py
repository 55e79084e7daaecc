"""Every reader of what others wrote, under a fuzzer: seconds in the normal profile, half an hour in the nightly one.

A failure shows the input. `python -m tests.fuzz.targets TARGET FILE` reads it again, without the fuzzer.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import PROFILE, ROOT
from tests.fuzz.targets import TARGETS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("atheris") is None,
        reason="atheris, the fuzzer, has no wheel for this Python or system",
    ),
]

SECONDS = 1_800 if PROFILE == "nightly" else 4
SEED = secrets.randbelow(1_000_000) + 1 if PROFILE == "nightly" else 1
_START_S = 300
"""That the fuzzer may take until it begins, and to end, on a machine with much else to do."""


def _options(target: str, findings: Path, *options: str, seconds: int = SECONDS) -> list[str]:
    return [target, "--findings", str(findings), "--seconds", str(seconds), "--seed", str(SEED), *options]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, sys.path)])}


@dataclass
class Fuzzer:
    """A process that has loaded what is fuzzed, and runs targets in copies of itself."""

    process: subprocess.Popen[str]

    def fuzz(self, options: list[str]) -> int:
        """The exit code of a run."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        overdue = threading.Timer(SECONDS + _START_S, self.process.kill)
        overdue.start()
        try:
            print(json.dumps(options), file=self.process.stdin, flush=True)
            return int(self.process.stdout.readline() or -1)
        finally:
            overdue.cancel()


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    command = [sys.executable, "-m", "tests.fuzz.fuzz"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield Fuzzer(process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _told(options: list[str], output: str, findings: Path) -> str:
    """What to look at when something is found."""
    inputs = "\n".join(f"{one.name}: {one.read_bytes()!r}" for one in sorted(findings.iterdir()))
    return f"python -m tests.fuzz.fuzz {' '.join(options)}\n{output[-4_000:]}\n{inputs}"


@pytest.mark.parametrize("target", TARGETS)
def test_a_reader_only_answers(fuzzer: Fuzzer, target: str, tmp_path: Path) -> None:
    findings = tmp_path / "findings"
    findings.mkdir()
    options = _options(target, findings)
    code = fuzzer.fuzz(options)
    output = (tmp_path / "findings.output").read_text(errors="replace")
    assert code == 0, _told(options, output, findings)
    assert re.search(r"Done [1-9]\d* runs in", output), output[-4_000:]


@pytest.mark.parametrize(("canary", "name"), [("crash", b"C"), ("hang", b"H"), ("memory", b"M")])
def test_the_fuzzer_finds_a_fault(fuzzer: Fuzzer, canary: str, name: bytes, tmp_path: Path) -> None:
    findings = tmp_path / "findings"
    findings.mkdir()
    options = _options(f"canary-{canary}", findings, "--timeout-s", "2", seconds=60)
    assert fuzzer.fuzz(options) != 0, _told(options, "", findings)
    (found,) = findings.iterdir()
    assert found.read_bytes().startswith(name)


def test_a_target_is_run_by_itself(tmp_path: Path) -> None:
    """As one does who looks into a finding."""
    command = [sys.executable, "-m", "tests.fuzz.fuzz", *_options("canary-crash", tmp_path, seconds=60)]
    ended = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, timeout=_START_S)
    assert ended.returncode != 0
    assert "ValueError: a crash" in ended.stdout + ended.stderr
