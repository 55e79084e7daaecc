"""Foreign text on its way to the terminal: it adds no line, no colour and no escape sequence."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import sys
import unicodedata
from pathlib import Path

import pytest

from comity.cli.terminal import Terminal
from comity.visible import has_hidden, visible

FORGED = "fires\n\x1b]8;;http://evil.example\x07error: all is well\x1b[2J \u202eltr\u009b1m"
ESCAPED = r"fires\n\u001b]8;;http://evil.example\u0007error: all is well\u001b[2J \u202eltr\u009b1m"


@pytest.fixture
def city(tmp_path: Path) -> Path:
    shutil.copytree(Path(__file__).parents[2] / "examples/two_houses", tmp_path / "city")
    return tmp_path / "city"


def add_profile(city: Path, name: str) -> None:
    written = {"profiles": {name: {"domain": "fire_station", "on": "Incident"}}}
    (city / "profiles/more.yaml").write_text(json.dumps(written))


def test_visible_covers_whatever_steers_a_terminal():
    kept = {"\t", "\n"}
    directions = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        steers = unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs")
        if steers or unicodedata.bidirectional(character) in directions:
            assert has_hidden(character) == (character != "\t"), hex(code)
            assert visible(character, line_ends=True).isascii() == (character not in kept) or character in kept


def test_visible_json_is_json_and_means_the_same():
    value = {"a": FORGED + "\x7f\ufeff\U000e0041 Bad, oben · 東京"}
    assert json.loads(visible(json.dumps(value, ensure_ascii=False, indent=2), line_ends=True)) == value


def test_print_makes_one_line_without_markup_or_escapes():
    stream = io.StringIO()
    Terminal(file=stream, force_terminal=True, color_system="truecolor").print(f"{FORGED} [red]x[/] :fire:")
    assert stream.getvalue() == f"{ESCAPED} [red]x[/] :fire:\n"


def test_status_takes_no_markup():
    stream = io.StringIO()
    terminal = Terminal(file=stream, force_terminal=True, color_system="truecolor", width=300)
    with terminal.status("[link=http://evil.example]first[/]") as status:
        status.update(f"{FORGED} [red]x[/]")
    assert f"{ESCAPED} [red]x[/]" in stream.getvalue()
    assert "\x1b]8" not in stream.getvalue()


@pytest.mark.parametrize("name", ["fires\nerror: forged", "fires\x1b[31m", "fires\u202e"])
def test_a_name_with_hidden_characters_is_refused(comity, city: Path, name: str):
    add_profile(city, name)
    found = comity("lint", "city")
    assert found.code == 2
    first, *others = found.out.splitlines()
    assert first == f"city/profiles/more.yaml:1:15: {name!r} cannot name a profile [bad-name]"
    assert others == ["    hint: use letters, digits, underscores, dots and dashes"]
    assert "\x1b" not in found.out + found.err


@pytest.mark.parametrize("kind", ["contract", "federation", "domain"])
def test_so_is_one_of_a_contract_a_federation_and_a_domain(comity, city: Path, kind: str):
    file = {"contract": "contracts/fire.yaml", "federation": "federation.yaml", "domain": "domains/house_b.yaml"}[kind]
    rest = (city / file).read_text().partition("\n")[2]
    (city / file).write_text(f"{kind}: {json.dumps(FORGED)}\n{rest}")
    found = comity("lint", "city")
    assert found.code == 2
    assert all(line.startswith(("city/", "    hint: ")) for line in found.out.splitlines())
    assert f"city/{file}:1:" in found.out
    assert "\x1b" not in found.out + found.err


def test_unknown_keys_and_files_with_such_names_forge_no_line(comity, city: Path):
    (city / "profiles/a\nerror: forged.yaml").write_text(json.dumps({"profiles": {}, FORGED: 1}))
    found = comity("lint", "city")
    assert found.code == 2
    assert all(line.startswith(("city/", "    hint: ")) for line in found.out.splitlines())
    found = comity("run", "city", "--out", "out", "--engine", "local")
    assert found.code == 2
    assert all(line.startswith(("error: ", "hint: ")) for line in found.err.splitlines())
    assert "\nerror: forged" not in found.err
    assert "\x1b" not in found.err


def test_rejected_records_are_shown_in_a_line_each(comity, tmp_path: Path):
    (tmp_path / "filters.txt").write_text("all: true\n")
    record = {"id": FORGED, "source": "/a", "type": FORGED, "time": FORGED}
    (tmp_path / "events.jsonl").write_text(json.dumps(record) + "\n")
    found = comity("match", "filters.txt", "events.jsonl", "--count")
    assert "\x1b" not in found.out + found.err
    assert "\nerror" not in found.err


def test_json_on_a_terminal_is_json_without_escapes(start, tmp_path: Path):
    """Results that a person looks at; into a file or a pipe they go as they are."""
    (tmp_path / "filters.txt").write_text("all: true\n")
    record = {"id": "1\u009b2J\u202e", "source": "/a", "type": "T", "time": "2026-01-31T12:00:00Z"}
    (tmp_path / "events.jsonl").write_text(json.dumps(record) + "\n")
    shown = _on_a_terminal(start, "match", "filters.txt", "events.jsonl").decode()
    assert not any(one in shown for one in "\u009b\u202e")
    (line,) = [one for one in shown.splitlines() if one.startswith("{")]
    assert json.loads(line)["event"] == record["id"]


def _on_a_terminal(start, *arguments: str) -> bytes:
    parent, child = pty.openpty()
    with start(*arguments, stdout=child, stderr=child) as run:
        os.close(child)
        shown = b""
        while True:
            try:
                content = os.read(parent, 65_536)
            except OSError:  # the other side is closed
                break
            if not content:
                break
            shown += content
        run.wait()
    os.close(parent)
    return shown
