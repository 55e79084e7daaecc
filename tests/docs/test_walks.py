"""The walks that the page on the architecture tells are those that a tracer sees.

The program runs as a user runs it, with `tracer/sitecustomize.py`, which notes in each of its processes the packages in
the order in which they are entered.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import comity

ROOT = Path(comity.__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
EXAMPLE = ROOT / "examples" / "two_houses"
RUN = re.compile(
    r"^\$ comity run two_houses(?P<options>[^\n]*)\nsubscription: (?P<subscription>.*)\nevent: (?P<event>.*)$", re.M
)


def told() -> dict[str, tuple[str, str]]:
    """What the page says: by the options of a run, the packages on both walks."""
    return {
        found["options"].strip(): (found["subscription"], found["event"]) for found in RUN.finditer(PAGE.read_text())
    }


def traced(options: str, folder: Path) -> tuple[str, str]:
    """The packages that a run enters: for subscriptions the program, for events the program or a worker of Spark."""
    notes = folder / "notes"
    paths = [str(Path(__file__).parent / "tracer"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "comity", "run", str(EXAMPLE), "--events", str(EXAMPLE / "events")]
    subprocess.run(
        [*command, "--out", str(folder / "out"), *options.split()],
        env={**os.environ, "COMITY_TRACE": str(notes), "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=True,
        capture_output=True,
        timeout=600,
    )
    walks: dict[tuple[str, str], list[str]] = {}
    for line in notes.read_text().splitlines():
        process, carried, package = line.split()
        walks.setdefault((process, carried), []).append(package)
    program = next(iter(walks))[0]
    carrying = [(process, walk) for (process, carried), walk in walks.items() if carried == "event"]
    # A worker of Spark may get no file; those that read one go the same way.
    others = [walk for process, walk in carrying if process != program] or [walk for _, walk in carrying]
    return " ".join(walks[program, "subscription"]), " ".join(max(others, key=len))


def test_the_page_tells_of_every_way_to_run() -> None:
    assert set(told()) == {"--engine local", "--engine local --stream --until-empty", "", "--stream --until-empty"}


@pytest.mark.parametrize("options", ["--engine local", "--engine local --stream --until-empty"])
def test_walks_in_this_process(options: str, tmp_path: Path) -> None:
    assert traced(options, tmp_path) == told()[options]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "--stream --until-empty"])
def test_walks_on_spark(options: str, tmp_path: Path) -> None:
    assert traced(options, tmp_path) == told()[options]
