"""Finding connectors, and reading their options."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from comity.connect.connectors.files import FilesSource
from comity.connect.connectors.webhook.source import WebhookSource
from comity.connect.port import Sink, Source
from comity.connect.registry import as_mapping, connector, kinds, open_sink, open_source, read_options
from comity.connect.specs import SinkSpec, SourceSpec
from comity.errors import Faults, Misuse, Permanent

PLUGIN = """
from comity.connect.connectors.memory.source import MemoryOptions, MemorySource
from comity.connect.port import Capability, Connector

CONNECTOR = Connector(
    "carrier_pigeon", Capability(), MemoryOptions, "items", source=lambda options, setting: MemorySource()
)
BROKEN = 5
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An installed distribution with connectors of its own."""
    (tmp_path / "pigeons.py").write_text(PLUGIN)
    meta = tmp_path / "pigeons-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: pigeons\nVersion: 1.0\n")
    points = "carrier_pigeon = pigeons:CONNECTOR\nno_connector = pigeons:BROKEN\nnot_there = pigeons:NOTHING\n"
    (meta / "entry_points.txt").write_text(f"[comity.connectors]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pigeons", raising=False)
    return "carrier_pigeon"


@pytest.mark.parametrize("kind", ["files", "stdin", "webhook", "memory"])
def test_connector_of_every_built_in_source(kind: str) -> None:
    found = connector(kind)
    assert found.kind == kind
    assert found.source is not None


def test_connector_of_an_unknown_kind() -> None:
    with pytest.raises(Misuse) as caught:
        connector("webhok")
    assert caught.value.code == "unknown-connector"
    assert caught.value.hint == "did you mean `webhook`?"
    with pytest.raises(Misuse) as caught:
        connector("zzz", "sink")
    assert "stdout" in (caught.value.hint or "")


def test_connector_of_a_plugin(plugin: str, tmp_path: Path) -> None:
    assert plugin in kinds()
    assert connector(plugin).kind == plugin
    assert isinstance(open_source(SourceSpec("a", "b", plugin, {"items": []}), tmp_path), Source)
    with pytest.raises(Misuse, match="no sink of kind"):
        connector(plugin, "sink")


@pytest.mark.parametrize("kind", ["no_connector", "not_there"])
def test_connector_of_a_broken_plugin(plugin: str, kind: str) -> None:
    with pytest.raises(Permanent) as caught:
        connector(kind)
    assert caught.value.code == "broken-connector"


def test_read_options_with_everything_wrong_at_once() -> None:
    with pytest.raises(Faults) as caught:
        read_options("webhook", {"prot": 1, "path": "events", "answer_within_s": 0})
    found = {(one.code, one.place.path if one.place else None) for one in caught.value.errors}
    assert found == {
        ("missing-key", "port"),
        ("unknown-key", "prot"),
        ("bad-value", "path"),
        ("bad-value", "answer_within_s"),
    }


def test_as_mapping() -> None:
    assert as_mapping("webhook", 8099) == {"port": 8099}
    assert as_mapping("stdin", None) == {}
    with pytest.raises(Misuse, match="mapping"):
        as_mapping("stdin", "x")


def test_open_source_takes_paths_from_the_base(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    source = open_source(SourceSpec("sensors", "house", "files", {"path": "a.jsonl"}), tmp_path)
    assert isinstance(source, FilesSource)
    source.open()
    batch = source.next_batch(5)
    assert batch is not None
    assert batch.records[0].file == str(tmp_path / "a.jsonl")


def test_open_source_of_a_webhook_reads_its_token_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SourceSpec("door", "house", "webhook", {"port": 0, "token_env": "DOOR_TOKEN"})
    monkeypatch.delenv("DOOR_TOKEN", raising=False)
    with pytest.raises(Misuse, match="no token in DOOR_TOKEN"):
        open_source(spec, tmp_path)
    monkeypatch.setenv("DOOR_TOKEN", "xyz")
    source = open_source(spec, tmp_path)
    assert isinstance(source, WebhookSource)
    assert source.sender_of("Bearer xyz") is not None
    assert source.sender_of(None) is None


def test_a_webhook_for_other_machines_needs_a_token() -> None:
    with pytest.raises(Faults, match="needs `senders`, `token_env`"):
        read_options("webhook", {"port": 0, "host": "0.0.0.0"})
    assert read_options("webhook", {"port": 0, "host": "0.0.0.0", "token_env": "X"})


def test_open_sink(tmp_path: Path) -> None:
    assert isinstance(open_sink(SinkSpec("screen", "house", "stdout", {}), tmp_path), Sink)
