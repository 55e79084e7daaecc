"""Runs one target: `python -m tests.fuzz.fuzz xml --seconds 600`. What it finds stays in the folder of findings.

Without a target it reads such arguments from standard input, a line of JSON each, and answers with exit codes. What is
fuzzed is loaded once then, since that takes longer than a short run; each run is a copy of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.target import CANARIES, Target


def _target(name: str) -> Target:
    import atheris  # not every Python has it, and tests are collected by all

    if name in CANARIES:
        return CANARIES[name]
    with atheris.instrument_imports(include=["comity"]):  # it takes some seconds
        from tests.fuzz.targets import TARGETS
    return TARGETS[name]


def main() -> None:
    if len(sys.argv) > 1:
        run(sys.argv[1:])
        return
    _target("expression")
    for line in sys.stdin:
        print(_run_in_copy(json.loads(line)), flush=True)


def _run_in_copy(arguments: Sequence[str]) -> int:
    """The exit code of a run; what the copy says is kept beside the folder of findings."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    folder = _arguments(arguments).findings
    output = os.open(folder.with_name(f"{folder.name}.output"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    run(arguments)
    sys.exit()  # the fuzzer writes down what it found when a process ends in good order


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("target", help="a name of tests/fuzz/targets.py")
    words.add_argument("--seconds", type=int, default=60)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--timeout-s", type=int, default=30, help="for one input")
    words.add_argument("--memory-mb", type=int, default=2_000)
    words.add_argument("--findings", type=Path, default=Path())
    return words.parse_args(given)


def run(arguments: Sequence[str]) -> None:
    """Run a target until its time is over, or something is found, which ends the process."""
    import atheris

    given = _arguments(arguments)
    target = _target(given.target)
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(target.seeds()):
            (Path(corpus) / f"seed-{number}").write_bytes(seed)
        options = [
            f"-max_total_time={given.seconds}",
            f"-seed={given.seed}",
            f"-timeout={given.timeout_s}",
            f"-rss_limit_mb={given.memory_mb}",
            f"-max_len={target.most_bytes}",
            f"-artifact_prefix={given.findings}/",
        ]
        atheris.Setup([sys.argv[0], *options, corpus], target.read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
