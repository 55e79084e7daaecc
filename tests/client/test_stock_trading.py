"""The example with seven brokers: everybody gets what he wants, by each strategy, and covering costs less."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "stock_trading" / "run.py"


@pytest.mark.slow
def test_everybody_gets_what_he_wants(tmp_path: Path) -> None:
    picture = tmp_path / "costs.svg"
    options = ["--strategies", "flooding", "covering", "--days", "6", "--traders", "2", "--svg", str(picture)]
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    traders, costs = done.stdout.split("\n\n")
    assert len(traders.splitlines()) == 15
    for line in traders.splitlines()[1:]:
        wanted, flooding, covering = line.split()[-3:]
        assert wanted == flooding == covering
    rows = {line.split()[0]: line.split()[1:] for line in costs.splitlines()[1:3]}
    assert set(rows) == {"flooding", "covering"}
    assert int(rows["covering"][2]) < int(rows["flooding"][2]) == 6 * 12 * 6
    assert rows["covering"][3] == "0"
    assert len(ElementTree.parse(picture).findall(".//{http://www.w3.org/2000/svg}rect")) == 9
