"""What is seen on a terminal, which is a real one: a pty."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import textwrap

AT_THE_START = re.compile(r"(\n|\r|\x1b\[2K)(\x1b\[\?25[lh])*$")
"""The end of what stands before the first character of a line."""


def on_terminal(text: str) -> str:
    """All that a Python program writes to a terminal."""
    ours, its = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)], stdin=its, stdout=its, stderr=its, env=environment
    )
    os.close(its)
    found = b""
    try:
        while part := os.read(ours, 65_536):
            found += part
    except OSError:  # what Linux says at the end
        pass
    os.close(ours)
    assert process.wait() == 0, found
    return found.decode()


def test_lines_of_a_stream_stand_above_the_line_that_moves() -> None:
    shown = on_terminal(
        """
        from comity.cli.output import console
        from comity.cli.progress import StreamLine

        with StreamLine("stream") as line:
            for number in range(3):
                line.update(batch=number, records=5, rate=1.0, delivered=2, rejected=0)
                line._status._live.refresh()
                console().print(f"batch {number}: all 2")
                console(stderr=True).print(f"note {number}")
        console().print("over")
        """
    )
    for told in [f"{what} {number}" for number in range(3) for what in ("batch", "note")]:
        before = shown[: shown.index(f"{told}: all 2" if told.startswith("batch") else told)]
        assert AT_THE_START.search(before), before[-200:]
    assert shown.rstrip().endswith("over")


def test_a_bar_never_goes_back() -> None:
    shown = on_terminal(
        """
        from comity.cli.progress import BatchProgress

        with BatchProgress("running") as bar:
            for done in (0.2, 0.5, 0.0, 0.3, 0.7):
                bar.update(round(1000 * done), done)
                bar._progress.refresh()
        """
    )
    parts = [int(part) for part in re.findall(r"(\d+) %", shown)]
    rows = [int(part) for part in re.findall(r"([\d]+) rows", shown)]
    assert 50 in parts
    assert parts == sorted(parts)
    assert 500 in rows
    assert rows == sorted(rows)
