"""The process that holds Java is ended whatever state it is in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

from comity.pipeline.launch import Runtime


def test_a_java_that_was_killed_is_ended_without_a_word(tmp_path: Path) -> None:
    folder = tmp_path / "runtime"
    folder.mkdir()
    process = subprocess.Popen(["true"], stdin=subprocess.PIPE, process_group=0)
    process.wait()
    Runtime(SimpleNamespace(shutdown=lambda: None), process, folder, os.getpid()).end()
    assert not folder.exists()
