"""The Active City over brokers in processes: its domains get what a run in one process gives them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "city_network" / "run.py"


@pytest.mark.slow
def test_domains_get_over_a_network_what_they_get_in_one_process() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, *profiles, summary = done.stdout.splitlines()
    assert len(profiles) == 8
    for line in profiles:
        _, in_one_process, over_network = line.split()
        assert in_one_process == over_network != "0"
    assert summary.startswith("23 events, 9 times over a link")  # two fires and two doorbells never left their street
