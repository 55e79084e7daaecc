"""`comity replay`: dead letters through the program."""

import json
import signal
import time

import pytest

from comity.connect.connectors.memory.sink import MemorySink
from comity.connect.dead_letters import dead_letter_path
from comity.connect.outbox import Outbox
from comity.connect.retry import RetryPolicy
from comity.limits import limited
from comity.testing.receiver import PlannedReply, WebhookReceiver
from comity.testing.sink_conformance import dead_keys, notification, publish

DOMAIN = """\
domain: house_a
types:
  Fire:
    attributes:
      text: string
deliver:
  screen: {{webhook: {{url: "{url}", timeout_s: 2}}}}
"""


@pytest.fixture
def receiver():
    with WebhookReceiver() as found:
        yield found


@pytest.fixture
def federation(write, receiver, tmp_path):
    write("city/house_a.yaml", DOMAIN.format(url=receiver.url))
    return tmp_path / "city"


@pytest.fixture
def out(tmp_path):
    """Results of which a sink that was down took nothing."""
    folder = tmp_path / "results"
    publish(folder, [notification(number) for number in range(5)])
    Outbox(folder, {"house_a": {"screen": MemorySink(down=True)}}, policy=RetryPolicy(attempts=1)).send()
    assert len(dead_keys(folder)) == 5
    return folder


def test_replay_empties_the_dead_letters(comity, out, federation, receiver):
    result = comity("replay", out, "--federation", federation)
    assert (result.code, result.out, result.err) == (0, "house_a/screen: 5 taken, 0 left\n", "")
    assert [event["id"] for event in receiver.events()] == [f"e{number}" for number in range(5)]
    assert not dead_letter_path(out, "house_a", "screen").exists()
    again = comity("replay", out, "--federation", federation)
    assert (again.code, again.out) == (0, "there are no dead letters\n")


def test_replay_finds_the_federation_of_the_run(comity, out, federation, receiver):
    (out / ".run.json").write_text(json.dumps({"federation": str(federation)}))
    assert comity("replay", out).code == 0
    assert len(receiver.received) == 5


def test_replay_with_some_left(comity, out, federation, receiver):
    receiver.refused_ids = frozenset({"e1", "e3"})
    result = comity("replay", out, "--federation", federation, "--format", "json")
    assert result.code == 1
    row = {"subscriber": "house_a", "sink": "screen", "taken": 3, "left": 2}
    assert json.loads(result.out) == {"taken": 3, "left": 2, "sinks": [row]}
    assert dead_keys(out) == ['["fires","/a","e1"]', '["fires","/a","e3"]']


def test_replay_dry_run_sends_nothing(comity, out, receiver):
    result = comity("replay", out, "--dry-run")
    assert result.code == 0
    assert result.out == "house_a/screen: 5 would be sent (3 sink-busy, 2 sink-down)\n"
    told = json.loads(comity("replay", out, "--dry-run", "--format", "json").out)
    assert told["sinks"][0]["codes"] == {"sink-busy": 3, "sink-down": 2}
    assert (receiver.requests, len(dead_keys(out))) == (0, 5)


def test_replay_to_another_address(comity, out, receiver):
    assert comity("replay", out, "--to", receiver.url, "--subscriber", "house_a", "--sink", "screen").code == 0
    assert len(receiver.received) == 5


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--to", "nowhere"], "bad-value"),
        ([], "no-federation"),
        (["--subscriber", "house_b"], "no-dead-letters"),
        (["--sink", "other"], "no-dead-letters"),
    ],
)
def test_replay_refuses(comity, out, arguments, code):
    result = comity("replay", out, *arguments)
    assert result.code == 2
    assert f"[{code}]" in result.err
    assert len(dead_keys(out)) == 5


def test_replay_of_a_sink_that_the_federation_has_not(comity, out, write, tmp_path):
    write("city/house_a.yaml", "domain: house_a\ntypes: {Fire: {attributes: {text: string}}}\n")
    result = comity("replay", out, "--federation", tmp_path / "city")
    assert result.code == 2
    assert "[unknown-sink]" in result.err
    assert "--to URL" in result.err


def test_replay_of_no_folder(comity, tmp_path):
    result = comity("replay", tmp_path / "none")
    assert (result.code, "[not-a-folder]" in result.err) == (2, True)


def test_replay_interrupted_keeps_what_was_not_taken(start, out, receiver):
    publish(out, [notification(number) for number in range(100, 400)], batch=1)
    Outbox(out, {"house_a": {"screen": MemorySink(down=True)}}, policy=RetryPolicy(attempts=1)).send()
    receiver.delay_s = 0.02
    process = start("replay", str(out), "--to", receiver.url)
    until = time.monotonic() + 20
    while len(receiver.received) < 20 and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    told, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, b"")
    left = dead_keys(out)
    assert 0 < len(left) < 305
    assert len(left) + len(receiver.received) == 305
    assert told.decode() == f"house_a/screen: {305 - len(left)} taken, {len(left)} left\n"


def test_replay_while_a_sink_is_down_then_up(comity, out, federation, receiver):
    receiver.answers.extend([PlannedReply.BUSY] * 20)
    with limited(max_delivery_attempts=1):
        assert comity("replay", out, "--federation", federation).code == 1
    receiver.answers.clear()
    assert comity("replay", out, "--federation", federation).code == 0
    assert dead_keys(out) == []
