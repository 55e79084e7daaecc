"""Seven brokers in processes of their own: one in the middle, two below it, and two below each of these."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import comity
from comity.wire import NodeStatus

ABOVE = {
    "exchange": None,
    "east": "exchange",
    "west": "exchange",
    "boston": "east",
    "york": "east",
    "austin": "west",
    "reno": "west",
}
"""The broker that each is linked to."""
_LEVELS = (["exchange"], ["east", "west"], ["boston", "york", "austin", "reno"])
_PAUSE_S = 0.1


@asynccontextmanager
async def running_brokers(strategy: str) -> AsyncIterator[dict[str, str]]:
    """Their addresses, for the length of a block."""
    processes: list[Process] = []
    addresses: dict[str, str] = {}
    try:
        for level in _LEVELS:
            started = await asyncio.gather(*(_start(name, strategy, addresses, processes) for name in level))
            addresses |= dict(zip(level, started))
        await _linked(addresses)
        yield addresses
    finally:
        for process in processes:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(process.wait() for process in processes))


async def _start(name: str, strategy: str, addresses: dict[str, str], processes: list[Process]) -> str:
    above = ABOVE[name]
    peer = [] if above is None else ["--peer", addresses[above].removeprefix("comity://")]
    command = ["serve", "--broker", name, "--listen", "127.0.0.1:0", "--strategy", strategy, *peer, "--format", "json"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "comity", *command, stdout=PIPE, stderr=DEVNULL, env=os.environ
    )
    processes.append(process)
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise SystemExit(f"the broker {name} did not start: comity {' '.join(command)}")
    return f"comity://{json.loads(line)['address']}"


async def statuses(addresses: dict[str, str]) -> dict[str, NodeStatus]:
    """What each broker tells of itself."""

    async def ask(url: str) -> NodeStatus:
        async with comity.connect(url) as node:
            return await node.status()

    return dict(zip(addresses, await asyncio.gather(*map(ask, addresses.values()))))


async def _linked(addresses: dict[str, str]) -> None:
    """Wait until all links are up."""
    while sum(link.is_up for one in (await statuses(addresses)).values() for link in one.links) < 2 * (len(ABOVE) - 1):
        await asyncio.sleep(_PAUSE_S)


async def settled(addresses: dict[str, str]) -> None:
    """Wait until nobody tells anybody anything new: what was said was heard, and the next look sees the same."""
    before = None
    while True:
        links = [link for one in (await statuses(addresses)).values() for link in one.links]
        said = sum(link.control_out for link in links)
        if said == sum(link.control_in for link in links) and said == before:
            return
        before = said
        await asyncio.sleep(_PAUSE_S)
