"""Runs one target: `python -m tests.fuzz.fuzz xml --seconds 600`. What it finds stays in the folder of findings."""

from __future__ import annotations

import argparse
import sys
import tempfile
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
    import atheris

    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("target", help="a name of tests/fuzz/targets.py")
    words.add_argument("--seconds", type=int, default=60)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--timeout-s", type=int, default=30, help="for one input")
    words.add_argument("--memory-mb", type=int, default=2_000)
    words.add_argument("--findings", type=Path, default=Path())
    given = words.parse_args()
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
