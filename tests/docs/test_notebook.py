"""The notebook is run from its beginning to its end, and says what is kept in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.pages import ROOT

NOTEBOOK = ROOT / "examples" / "spark_notebook.ipynb"

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def said(cell: Any) -> str:
    """What a cell prints and gives; warnings are the machine's."""
    outputs = [one for one in cell.get("outputs", ()) if one.get("name") != "stderr"]
    return "".join(one["text"] if one["output_type"] == "stream" else str(one.get("data")) for one in outputs)


def test_the_notebook_says_what_is_kept_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    kept = nbformat.read(NOTEBOOK, as_version=4)
    run = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(run, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [said(cell) for cell in run.cells] == [said(cell) for cell in kept.cells]
    assert "160.7" in said(kept.cells[8])
