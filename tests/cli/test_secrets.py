"""A secret in the address of a webhook stays where it was written: nothing that a run says or writes has it."""

import json
import shutil
import stat
from pathlib import Path

import pytest

from comity.limits import limited
from comity.testing.receiver import PlannedReply, WebhookReceiver

SECRET = "s3cr3t-T0K3N"
EXAMPLE = Path(__file__).parents[2] / "examples/two_houses"


@pytest.fixture
def receiver():
    with WebhookReceiver() as found:
        found.answers.extend([PlannedReply.REFUSE] * 1_000)
        yield found


@pytest.fixture
def one_attempt():
    """The environment says it only to a new process; this one has read its limits."""
    with limited(max_delivery_attempts=1):
        yield


def address(receiver: WebhookReceiver) -> str:
    return f"http://127.0.0.1:{receiver.port}/services/{SECRET}?key={SECRET}"


def federation(folder: Path, sink: str) -> Path:
    shutil.copytree(EXAMPLE, folder / "city")
    station = folder / "city/domains/fire_station.yaml"
    station.write_text(station.read_text() + f"deliver:\n  engine: {{webhook: {sink}}}\n")
    return folder / "city"


def written(folder: Path) -> dict[str, str]:
    return {str(path): path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_down", [False, True])
@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.usefixtures("one_attempt")
def test_a_run_tells_no_secret(comity, tmp_path, receiver, is_down, log_format):
    federation(tmp_path, json.dumps({"url": address(receiver)}))
    if is_down:
        receiver.stop()
    (tmp_path / "all").mkdir()
    logged = ("--log", "all/run.log", "--log-format", log_format, "--metrics", "all/metrics")
    said = comity("-v", "run", "city", "--events", "city/events", "--out", "all/out", "--engine", "local", *logged)
    told = [said.out + said.err]
    for command in (
        ("replay", "all/out", "--dry-run"),
        ("replay", "all/out"),
        ("replay", "all/out", "--to", address(receiver)),
        ("explain", "city"),
        ("discover", "city"),
        ("lint", "city"),
    ):
        for form in ("text", "json"):
            said = comity(*command, "--format", form)
            told.append(said.out + said.err)
    files = written(tmp_path / "all")
    letters = tmp_path / "all/out/dead-letters/fire_station/engine.jsonl"
    assert f"http://127.0.0.1:{receiver.port}/…" in letters.read_text()
    assert not [name for name, content in files.items() if SECRET in content]
    assert not [one for one in told if SECRET in one]
    assert SECRET not in "".join(files)
    private = [letters, tmp_path / "all/run.log", tmp_path / "all/out/.run.json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


@pytest.mark.parametrize(
    "sink",
    [
        {"url": "ftp://host/{}"},
        {"url": "http://user:{}@host/"},
        {"url": "http://host:port{}/"},
        {"url": "http://[{}/"},
        {"url": "http://host/{}", "bathc": 1},
        {"url": "http://host/{} x"},
        {"url": ["http://host/{}"]},
        {"url": "http://host/{}", "url_env": "X"},
        {"urll": "http://host/{}"},
    ],
)
def test_nor_does_a_fault_in_its_options(comity, tmp_path, sink):
    federation(tmp_path, json.dumps(sink).replace("{}", SECRET))
    for command in (("lint", "city"), ("run", "city", "--events", "city/events", "--out", "out", "--engine", "local")):
        said = comity("-v", *command)
        assert said.code == 2
        assert SECRET not in said.out + said.err


def test_an_address_in_the_environment(comity, tmp_path, monkeypatch, receiver):
    federation(tmp_path, json.dumps({"url_env": "ENGINE_URL"}))
    run = ("run", "city", "--events", "city/events", "--out", "out", "--engine", "local")
    said = comity(*run)
    assert said.code == 2
    assert "fire_station.deliver.engine: there is no address in ENGINE_URL [missing-url]" in said.err
    monkeypatch.setenv("ENGINE_URL", f"ftp://{SECRET}")
    said = comity(*run)
    assert said.code == 2
    assert SECRET not in said.err
    monkeypatch.setenv("ENGINE_URL", address(receiver))
    receiver.answers.clear()
    assert comity(*run).code == 0
    assert receiver.received
