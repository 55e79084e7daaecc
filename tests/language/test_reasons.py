"""Reasons: every code is explained, in the program and in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

from comity.language.reasons import MEANINGS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "asking-sources.md"
SOURCES = [*(ROOT / "src/comity/language").glob("*.py"), *(ROOT / "src/comity/plan").glob("*asks.py")]


def test_the_page_has_the_meaning_of_every_code() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.M))
    assert rows == MEANINGS


def test_every_code_is_given_somewhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SOURCES if path.name != "reasons.py"]
    assert not [code for code in MEANINGS if not any(f'"{code}"' in text for text in texts)]
