"""Draws the pictures of the tutorial on patterns: `comity trace NAME.txt EVENTS --svg NAME.svg`, as a reader would.

A picture `images/patterns/NAME.svg` on the page shows the profile in the file NAME.txt of the page, over the events
that the page gives to `comity detect NAME.txt` first.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from comity.cli.main import run

DOCS = Path(__file__).parent
PAGE = DOCS / "tutorial" / "patterns.md"
FOLDER = DOCS / "images" / "patterns"

_FILE = re.compile(r"^<!-- file: (?P<name>\S+) -->\n```\w+\n(?P<text>.*?)^```$", re.M | re.S)
_PICTURE = re.compile(r"!\[[^\]]+\]\(\.\./images/patterns/(?P<name>\w+)\.svg\)")


def pictures() -> dict[Path, str]:
    """Every picture of the page, as it should be now."""
    page = PAGE.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        for found in _FILE.finditer(page):
            Path(folder, found["name"]).write_text(found["text"], encoding="utf-8")
        return {FOLDER / f"{name}.svg": _drawn(name, page, Path(folder)) for name in _names(page)}


def stray() -> list[Path]:
    """Pictures in the folder that the page does not show."""
    shown = {f"{name}.svg" for name in _names(PAGE.read_text(encoding="utf-8"))}
    return sorted(path for path in FOLDER.glob("*.svg") if path.name not in shown)


def _names(page: str) -> Iterator[str]:
    return (found["name"] for found in _PICTURE.finditer(page))


def _drawn(name: str, page: str, folder: Path) -> str:
    called = re.search(rf"^\$ comity detect {name}\.txt (?P<events>\S+)", page, re.M)
    if called is None:
        raise SystemExit(f"{PAGE.name} does not detect {name}.txt")
    picture = folder / f"{name}.svg"
    with chdir(folder), redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")), suppress(SystemExit):
        run(["trace", f"{name}.txt", called["events"], "--svg", picture.name])
    if not picture.exists():
        raise SystemExit(f"{name}.txt over {called['events']} gives no picture")
    return picture.read_text(encoding="utf-8")
