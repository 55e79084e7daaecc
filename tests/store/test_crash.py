"""A store whose process is killed at random moments: what was acknowledged is there, once, and under its number."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from comity.server.store import SqliteStore, open_store
from tests.conftest import PROFILE, ROOT
from tests.store.events import number_of

KILLS = 200 if PROFILE == "nightly" else 5


async def test_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    stored: dict[str, int] = {}
    taken = 0
    for first in range(0, KILLS * 1_000_000, 1_000_000):
        answers = [line.split() for line in killed_writer(tmp_path, first, after_lines=chance.randint(1, 400))]
        for what, name, number in answers:
            if what == "stored":
                assert stored.setdefault(name, int(number)) == int(number), "a repeat got another number"
        taken = max([taken, *(int(number) for what, _, number in answers if what == "taken")])
        async with open_store(tmp_path) as store:
            await check_events(store, stored)
            await check_cursors(store, taken)
            await check_subscriptions(store, f"fickle-{first}", answers)
    assert len(stored) > KILLS


def killed_writer(folder: Path, first: int, *, after_lines: int) -> list[str]:
    """What a writer told before it was killed, some lines after it began."""
    command = [sys.executable, "-m", "tests.store.crash_writer", str(folder), str(first)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        try:
            lines = [writer.stdout.readline() for _ in range(after_lines + 1)]
        finally:
            writer.send_signal(signal.SIGKILL)
        return [*lines, *(line for line in writer.stdout if line.endswith("\n"))]


async def check_events(store: SqliteStore, stored: dict[str, int]) -> None:
    found: dict[str, int] = {}
    position = 0
    while position < store.last:
        page = await store.read(position)
        for event in page.events:
            name = str(number_of(event.line))
            assert name not in found, "an event is there twice"
            found[name] = event.sequence
        position = page.position
    assert {name: found[name] for name in stored} == stored


async def check_cursors(store: SqliteStore, taken: int) -> None:
    cursors = await store.cursors()
    assert taken <= cursors["fast"].position <= store.last
    assert cursors["slow"].position == cursors["slow"].lost == 0


async def check_subscriptions(store: SqliteStore, client: str, answers: list[list[str]]) -> None:
    """What was told last holds, or what was asked for behind it."""
    changes = [(what, int(number)) for what, name, number in answers if name == client]
    what, number = changes[-1] if changes else ("dropped", 0)
    kept = {int(one.key) for one in await store.subscriptions() if one.client == client}
    assert kept in (({number}, set()) if what == "kept" else (set(), {number + 1}))
