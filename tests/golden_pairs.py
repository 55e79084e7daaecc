"""Reads files of golden pairs: blocks of lines `name: text`, with empty lines between them and comments after `#`."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def blocks(file: str) -> list[dict[str, str]]:
    """The blocks of a file in `tests/golden`."""
    text = re.sub(r"^#.*\n", "", (FOLDER / file).read_text(encoding="utf-8"), flags=re.M)
    found = (block.strip() for block in text.split("\n\n"))
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in found if block]
