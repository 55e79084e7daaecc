"""Two administrators at the same time, each with commands that are processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.gateway.test_administrators import broker, entering, folders

__all__ = ["broker", "folders"]
_MOST_LOOKS = 60


def _command(*words: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "comity", *words, "--format", "json"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def _until(root: Path, is_there: Callable[[dict[str, Any]], bool]) -> None:
    """Look for what others said until it is what was waited for."""
    for _ in range(_MOST_LOOKS):
        if is_there(_command("gateway", "sync", str(root))):
            return
    raise AssertionError("nobody says what was waited for")


def _house(root: Path) -> dict[str, Any]:
    _until(root, lambda heard: "office" in heard["domains"])
    proposed = _command("contract", "propose", str(root), str(entering(root)))
    _until(root, lambda heard: heard["contracts"] == {"entering": "active"})
    return dict(proposed)


def _office(root: Path) -> dict[str, Any]:
    _until(root, lambda heard: heard["contracts"] == {"entering": "proposed"})
    return dict(_command("contract", "agree", str(root), "entering"))


def test_they_need_not_wait_for_each_other(folders: dict[str, Path]) -> None:
    with ThreadPoolExecutor(2) as pool:
        house, office = pool.submit(_house, folders["house"]), pool.submit(_office, folders["office"])
        assert house.result()["revision"] == office.result()["revision"]
    written = {str(path.relative_to(folders["house"])) for path in folders["house"].rglob("*.yaml")}
    assert written == {"own.yaml", "domains/office.yaml", "contracts/entering.yaml"}
    assert _command("contract", "leave", str(folders["office"]), "entering")["state"] == "suspended"
    assert _command("gateway", "sync", str(folders["house"]))["contracts"] == {"entering": "suspended"}
