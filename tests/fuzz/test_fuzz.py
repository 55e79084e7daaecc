"""Every reader of what others wrote, under a fuzzer: seconds in the normal profile, half an hour in the nightly one.

A failure shows the input. `python -m tests.fuzz.targets TARGET FILE` reads it again, without the fuzzer.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import subprocess
import sys
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


def fuzz(target: str, findings: Path, *options: str, seconds: int = SECONDS) -> tuple[int, str]:
    """The exit code of a run, and what to look at when it is not 0."""
    command = [sys.executable, "-m", "tests.fuzz.fuzz", target, "--findings", str(findings)]
    command += ["--seconds", str(seconds), "--seed", str(SEED), *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, sys.path)])}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace", timeout=seconds + _START_S
    )
    inputs = "\n".join(f"{one.name}: {one.read_bytes()!r}" for one in sorted(findings.iterdir()))
    return ended.returncode, f"{' '.join(command)}\n{ended.stderr[-4_000:]}\n{inputs}"


@pytest.mark.parametrize("target", TARGETS)
def test_a_reader_only_answers(target: str, tmp_path: Path) -> None:
    code, told = fuzz(target, tmp_path)
    assert code == 0, told


@pytest.mark.parametrize(("canary", "name"), [("crash", b"C"), ("hang", b"H"), ("memory", b"M")])
def test_the_fuzzer_finds_a_fault(canary: str, name: bytes, tmp_path: Path) -> None:
    code, told = fuzz(f"canary-{canary}", tmp_path, "--timeout-s", "2", seconds=60)
    assert code != 0, told
    (found,) = tmp_path.iterdir()
    assert found.read_bytes().startswith(name)
