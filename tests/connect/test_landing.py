"""Landing: whatever happens, every record once, in its order."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.connect import landing as landing_module
from comity.connect.connectors.files import FilesSource
from comity.connect.connectors.memory.source import CRASH, END, PAUSE, Item, MemorySource
from comity.connect.connectors.webhook.source import WebhookSource
from comity.connect.landing import REJECTED, Landing
from comity.connect.port import Batch, Position
from comity.errors import Misuse, Permanent, Retryable
from comity.limits import limited
from comity.testing.source_conformance import line

PROFILE = os.environ.get("COMITY_PROFILE", "normal")


def landed(folder: Path) -> list[bytes]:
    """Every line of the files that a reader sees, in their order."""
    return [one for path in sorted(folder.glob("[!._]*.jsonl")) for one in path.read_bytes().splitlines()]


def refused(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in landed(folder / REJECTED)]


def run(landing: Landing) -> None:
    """Everything until the source ends."""
    landing.open()
    try:
        while not landing.step().is_ended:
            pass
    finally:
        landing.close()


def until(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 10
    while not condition() and time.monotonic() < give_up_at:
        time.sleep(0.01)
    assert condition()


class Ticking:
    """A clock that moves on by itself."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


LINES = [line(number) for number in range(30)]


def test_step_lands_everything_in_order(tmp_path: Path) -> None:
    source = MemorySource(LINES)
    run(Landing(source, tmp_path))
    assert landed(tmp_path) == LINES
    assert [path.name for path in tmp_path.glob("[!.]*.jsonl")] == ["landed-000000000001.jsonl"]
    assert source.acknowledged == 30


def test_step_rolls_by_rows_bytes_and_seconds(tmp_path: Path) -> None:
    items = [item for one in LINES for item in (one, PAUSE)]
    for name, bounds, roll_s in (("rows", {"max_landed_rows": 4}, 1e9), ("bytes", {"max_landed_bytes": 300}, 1e9)):
        with limited(**bounds):
            run(Landing(MemorySource(items), tmp_path / name, roll_s=roll_s, clock=Ticking(0.001)))
    run(Landing(MemorySource(items), tmp_path / "seconds", roll_s=3.5, clock=Ticking(1)))
    for name, least in (("rows", 8), ("bytes", 8), ("seconds", 8)):
        assert len(list((tmp_path / name).glob("[!._]*.jsonl"))) >= least
        assert landed(tmp_path / name) == LINES


def test_step_waits_for_the_source_and_for_the_roll(tmp_path: Path) -> None:
    now = [100.0]
    source = MemorySource([LINES[0]], live=True, pause_s=5, clock=lambda: now[0])
    landing = Landing(source, tmp_path, roll_s=2, clock=lambda: now[0])
    landing.open()
    assert landing.step().taken == 1
    assert landing.step().wake_at_s == 102
    now[0] = 102
    assert [path.name for path in landing.step().landed] == ["landed-000000000001.jsonl"]
    assert landing.step().wake_at_s == 107
    now[0] = 110
    source.items.append(LINES[1])
    assert len(landing.step().landed) == 1  # after a silence nothing waits
    landing.close()


def test_what_the_source_refuses_is_kept_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,source,type\n1,/a,T\n2,/a\n3,/a,T\n")
    run(Landing(FilesSource(tmp_path / "a.csv"), tmp_path / "out"))
    assert [json.loads(one)["id"] for one in landed(tmp_path / "out")] == ["1", "3"]
    (found,) = refused(tmp_path / "out")
    assert (found["line"], found["raw"], found["faults"][0]["code"]) == (3, "2,/a", "bad-csv")


def test_a_record_of_several_lines_stays_one(tmp_path: Path) -> None:
    pretty = b'{"id": "1",\r\n  "source": "/a", "type": "T"}'
    run(Landing(MemorySource([pretty, b"no\nevent", b" ", LINES[0]]), tmp_path))
    assert landed(tmp_path) == [b'{"id":"1","source":"/a","type":"T"}', LINES[0]]
    assert [one["raw"] for one in refused(tmp_path)] == ["no\nevent", " "]


class Killed(BaseException):
    """The process ends here."""


class Dying:
    """Lets so many calls that change the disk pass, and ends the process at the next one, before or after it."""

    def __init__(self, patch: pytest.MonkeyPatch, calls: int, is_after: bool) -> None:
        self.left, self.is_after = calls, is_after
        for name in ("write_new", "write_whole"):
            patch.setattr(landing_module, name, self._wrapped(getattr(landing_module, name)))
        for name in ("rename", "replace"):
            patch.setattr(Path, name, self._wrapped(getattr(Path, name)))
        patch.setattr(MemorySource, "acknowledge", self._wrapped(MemorySource.acknowledge))

    def _wrapped(self, call: Any) -> Any:
        def wrapped(*arguments: Any) -> Any:
            self.left -= 1
            is_last = self.left == -1
            if is_last and not self.is_after:
                raise Killed
            result = call(*arguments)
            if is_last:
                raise Killed
            return result

        return wrapped


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("calls", range(25))
def test_a_crash_at_any_point_loses_and_repeats_nothing(calls: int, is_after: bool, tmp_path: Path) -> None:
    items: list[Item] = [item for one in LINES[:8] for item in (one, PAUSE)]
    items[5:5] = [b"\n"]  # refused
    with pytest.MonkeyPatch.context() as patch, limited(max_landed_rows=2):
        Dying(patch, calls, is_after)
        with pytest.raises(Killed):
            run(Landing(MemorySource(items), tmp_path))
    source = OpenedAt(items)
    landing = Landing(source, tmp_path)
    landing.open()
    assert landed(tmp_path) == [one for one in items[: source.positions[0] or 0] if one in LINES]
    landing.close()
    with limited(max_landed_rows=3):
        run(Landing(MemorySource(items), tmp_path))
    assert landed(tmp_path) == LINES[:8]
    assert len(refused(tmp_path)) == 1
    assert not list(tmp_path.rglob(".landed-*.jsonl"))


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["record", CRASH, PAUSE]), max_size=30), st.integers(1, 5))
def test_a_source_that_fails_is_opened_again(
    tmp_path_factory: pytest.TempPathFactory, kinds: Sequence[Any], rows: int
) -> None:
    items: list[Item] = [line(at) if one == "record" else one for at, one in enumerate(kinds)]
    folder = tmp_path_factory.mktemp("landing")
    with limited(max_landed_rows=rows, max_source_attempts=50), pytest.MonkeyPatch.context() as patch:
        patch.setattr(landing_module, "_FIRST_DELAY_S", 0.0)
        landing = Landing(MemorySource(items, pause_s=0), folder, roll_s=0)
        landing.start()
        until(lambda: landing.is_ended or landing.fault)
        landing.stop()
    assert landing.fault is None
    assert landed(folder) == [one for one in items if isinstance(one, bytes)]


class Failing(MemorySource):
    """Fails in a way of its own."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(live=True)
        self.error = error

    def next_batch(self, max_records: int) -> Batch | None:
        raise self.error


@pytest.mark.parametrize("error", [Permanent("gone", code="gone"), ValueError("a bug"), Retryable("no", code="no")])
def test_a_fault_of_the_thread_is_visible(error: Exception, tmp_path: Path) -> None:
    with limited(max_source_attempts=2):
        landing = Landing(Failing(error), tmp_path)
        landing.start()
        until(lambda: landing.fault)
        landing.stop()
    assert landing.fault is error
    assert not landing.is_ended


def test_start_raises_what_is_wrong_from_the_beginning(tmp_path: Path) -> None:
    landing = Landing(FilesSource(tmp_path / "nowhere"), tmp_path / "out")
    with pytest.raises(Misuse, match="no such file"):
        landing.start()
    landing.stop()


def test_stop_lands_what_was_taken(tmp_path: Path) -> None:
    landing = Landing(MemorySource(LINES, live=True), tmp_path, roll_s=1e6)
    landing.start()
    until(lambda: landing._pending.count == 30)
    landing.stop()
    landing.stop()
    assert landed(tmp_path) == LINES
    assert landing.rows == 30


def test_two_cannot_land_in_one_place(tmp_path: Path) -> None:
    with Landing(MemorySource(live=True), tmp_path):
        with pytest.raises(Misuse) as caught:
            Landing(MemorySource(), tmp_path).open()
        assert caught.value.code == "landing-in-use"
        with Landing(MemorySource([LINES[0]], live=True), tmp_path, name="other"):
            until(lambda: landed(tmp_path))
    run(Landing(MemorySource(), tmp_path))


def test_a_broken_position_is_not_taken_for_the_beginning(tmp_path: Path) -> None:
    run(Landing(MemorySource(LINES), tmp_path))
    (tmp_path / ".landed.position.json").write_text("{")
    with pytest.raises(Permanent) as caught:
        Landing(MemorySource(LINES), tmp_path).open()
    assert caught.value.code == "broken-position"


def test_back_pressure_stops_taking_until_files_are_removed(tmp_path: Path) -> None:
    items = [item for one in LINES for item in (one, PAUSE)]
    with limited(max_landed_rows=1):
        landing = Landing(MemorySource([*items, END], pause_s=0), tmp_path, max_files=3)
        landing.open()
        seen: list[bytes] = []
        for _ in range(1000):
            if landing.step().is_ended:
                break
            files = sorted(tmp_path.glob("[!._]*.jsonl"))
            assert len(files) <= 3
            if len(files) == 3:
                taken = landing.step()
                assert taken.taken == 0
                assert taken.wake_at_s is not None
                seen += landed(tmp_path)
                for file in files:
                    file.unlink()
        landing.close()
    assert seen + landed(tmp_path) == LINES


def test_a_landing_goes_on_where_it_was_when_its_files_are_gone(tmp_path: Path) -> None:
    run(Landing(MemorySource(LINES), tmp_path))
    for file in tmp_path.glob("[!._]*.jsonl"):
        file.unlink()
    run(Landing(MemorySource([*LINES, LINES[0]]), tmp_path))
    assert landed(tmp_path) == [LINES[0]]


def test_an_unwritable_disk_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(landing_module, "write_new", full)
    source = MemorySource(LINES, live=True)
    landing = Landing(source, tmp_path)
    landing.start()
    until(lambda: landing.fault)
    landing.stop()
    assert isinstance(landing.fault, Permanent)
    assert landing.fault.code == "unwritable-file"
    assert source.acknowledged is None


def test_a_webhook_answers_after_its_record_is_on_the_disk(tmp_path: Path) -> None:
    source = WebhookSource()
    with Landing(source, tmp_path, roll_s=0.01):
        request = urllib.request.Request(source.url, LINES[0], {"Content-Type": "application/cloudevents+json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 202
        assert landed(tmp_path) == [LINES[0]]
    assert not [one for one in threading.enumerate() if one.name.startswith(("landing", "webhook"))]


def test_a_stream_that_does_not_read_makes_the_webhook_turn_others_away(tmp_path: Path) -> None:
    answers: list[int] = []

    def post(source: WebhookSource) -> None:
        request = urllib.request.Request(source.url, LINES[0], {"Content-Type": "application/cloudevents+json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                answers.append(answer.status)
        except urllib.error.HTTPError as error:
            answers.append(error.code)

    with limited(max_waiting_records=1), Landing(WebhookSource(), tmp_path, roll_s=0.01, max_files=1) as landing:
        source = landing.source
        assert isinstance(source, WebhookSource)
        post(source)
        assert answers == [202]
        waiting = threading.Thread(target=post, args=(source,))
        waiting.start()
        until(lambda: source.health()["waiting"] == 1)
        post(source)
        assert answers == [202, 429]
        for file in tmp_path.glob("landed-*.jsonl"):
            file.unlink()
        waiting.join(10)
        assert answers == [202, 429, 202]


class OpenedAt(MemorySource):
    """Remembers where it was opened."""

    positions: list[Position]

    def open(self, position: Position = None) -> None:
        self.positions = [*getattr(self, "positions", []), position]
        super().open(position)


def test_open_goes_on_where_it_was(tmp_path: Path) -> None:
    source = OpenedAt(LINES[:3])
    run(Landing(source, tmp_path))
    source.items += LINES[3:]
    run(Landing(source, tmp_path))
    assert source.positions == [None, 3]
    assert landed(tmp_path) == LINES


CHILD = """
    import sys
    from pathlib import Path
    from comity.connect.connectors.files import FilesSource
    from comity.connect.landing import Landing
    from comity.limits import limited

    with limited(max_landed_rows=20):
        landing = Landing(FilesSource(Path(sys.argv[1]), follow=True, poll_s=0.01), Path(sys.argv[2]), roll_s=0.005)
        landing.start()
        print("up", flush=True)
        landing._thread.join()
        raise SystemExit(f"{landing.fault}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50 if PROFILE == "nightly" else 3))
def test_kill_9_at_random_moments_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    expected = []
    for number in range(4):
        for file in range(5):
            lines = [line(f"{number}-{file}-{at}") for at in range(60)]
            expected += lines
            path = source / f".{number}-{file}.jsonl"
            path.write_bytes(b"".join(one + b"\n" for one in lines))
            path.rename(source / path.name[1:])
        child = _child(source, out)
        time.sleep(chance.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        child.wait(10)
    child = _child(source, out)
    try:
        until(lambda: len(landed(out)) >= len(expected))
    finally:
        child.kill()
        child.wait(10)
    assert landed(out) == expected


def _child(source: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(source), str(out)]
    root = Path(landing_module.__file__).parents[2]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)})
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    child.stdout.close()
    return child


def test_sources_that_share_a_folder_for_what_they_refuse_do_not_take_each_others(tmp_path: Path) -> None:
    shared = tmp_path / "rejected"
    for name in ("house-door", "house", "house-door-2"):
        items: list[Item] = [f"{name}\n{number}".encode() for number in range(3)]
        with limited(max_landed_rows=1):
            run(Landing(MemorySource(items), tmp_path / name, rejected=shared))
            (shared / f".landed-{name}-000000000009.jsonl").write_text("a crash left this")
    for name in ("house", "house-door-2", "house-door"):
        run(Landing(MemorySource([]), tmp_path / name, rejected=shared))
    assert sorted(json.loads(one)["raw"].split("\n")[0] for one in landed(shared)) == (
        ["house"] * 3 + ["house-door"] * 3 + ["house-door-2"] * 3
    )
    assert not list(shared.glob(".*"))
