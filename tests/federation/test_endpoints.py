"""Sources and sinks in domain files: what is read, and that every fault is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.connect.specs import SinkSpec, SourceSpec
from comity.errors import Faults
from comity.federation import load

DOMAIN = """\
domain: house
types:
  Fire: {attributes: {room: string}}
sources:
  sensors: {files: events/house.jsonl}
  door: {webhook: {port: 8099, path: /events}}
  keyboard: {stdin: }
deliver:
  control_room: {webhook: {url: "http://127.0.0.1:9000/incidents", timeout_s: 5}}
  screen: {stdout: }
"""


def load_text(folder: Path, text: str) -> list[str]:
    (folder / "house.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(Faults) as caught:
        load(folder)
    return [f"{error.place.line}:{error.place.column} {error.code}" for error in caught.value.errors]


def test_load_reads_sources_and_sinks_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(DOMAIN, encoding="utf-8")
    federation = load(tmp_path)
    assert federation.sources == (
        SourceSpec("sensors", "house", "files", {"path": "events/house.jsonl"}),
        SourceSpec("door", "house", "webhook", {"port": 8099, "path": "/events"}),
        SourceSpec("keyboard", "house", "stdin", {}),
    )
    url = "http://127.0.0.1:9000/incidents"
    assert federation.sinks == (
        SinkSpec("control_room", "house", "webhook", {"url": url, "timeout_s": 5}),
        SinkSpec("screen", "house", "stdout", {}),
    )
    assert federation.folder == tmp_path


def test_load_without_sources_has_none(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text("domain: house\ntypes: {Fire: {}}\n", encoding="utf-8")
    assert load(tmp_path).sources == load(tmp_path).sinks == ()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("{files: events/house.jsonl}", "{flies: events/house.jsonl}", "5:13 unknown-connector"),
        ("{stdout: }", "{stdin: }", "10:12 unknown-connector"),
        ("port: 8099", "prot: 8099", "6:20 unknown-key"),
        ("port: 8099", "port: many", "6:26 bad-value"),
        ("{files: events/house.jsonl}", "events/house.jsonl", "5:12 bad-value"),
        ("{files: events/house.jsonl}", "{files: a, stdin: }", "5:12 bad-value"),
        ("  sensors:", "  sen-sors:", "5:3 bad-name"),
        ("deliver:\n", "deliver: 5\nthings:\n", "9:1 unknown-key"),
        (DOMAIN[DOMAIN.index("deliver:") :], "deliver: 5\n", "8:10 bad-value"),
    ],
)
def test_load_points_at_the_fault_of_a_source(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in DOMAIN
    assert fault in load_text(tmp_path, DOMAIN.replace(old, new, 1))


def test_load_suggests_the_kind_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(DOMAIN.replace("webhook: {url", "webhok: {url"), encoding="utf-8")
    with pytest.raises(Faults, match="did you mean `webhook`"):
        load(tmp_path)


def test_load_reports_the_faults_of_all_sources(tmp_path: Path) -> None:
    text = DOMAIN.replace("{files:", "{flies:").replace("{stdout: }", "{screen: }")
    assert load_text(tmp_path, text) == ["5:13 unknown-connector", "10:12 unknown-connector"]
