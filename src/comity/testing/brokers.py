"""A network of brokers on loopback, each in a process of its own, for examples and tests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

import comity
from comity.wire import NodeStatus

_PAUSE_S = 0.1
_PATIENCE_S = 120.0
"""How long brokers may take until they agree."""


@asynccontextmanager
async def running_brokers(above: Mapping[str, str | None], *options: str) -> AsyncIterator[dict[str, str]]:
    """The addresses of brokers, for the length of a block, by name. With each comes the one that it is linked to, or
    None; they come after those. `options` are those of `comity serve`, the same for all.
    """
    processes: list[Process] = []
    addresses: dict[str, str] = {}
    try:
        while left := [name for name in above if name not in addresses]:
            ready = [name for name in left if above[name] is None or above[name] in addresses]
            assert ready, f"nothing leads to {', '.join(left)}"
            peers = [addresses.get(above[name] or "") for name in ready]
            started = await asyncio.gather(*map(partial(_start, processes, options), ready, peers))
            addresses |= dict(zip(ready, started, strict=True))
        await _linked(addresses)
        yield addresses
    finally:
        for process in processes:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
        await asyncio.gather(*(process.wait() for process in processes))


async def _start(processes: list[Process], options: Sequence[str], name: str, peer: str | None) -> str:
    linked = [] if peer is None else ["--peer", peer.removeprefix("comity://")]
    command = ["serve", "--broker", name, "--listen", "127.0.0.1:0", *options, *linked, "--format", "json"]
    command.append("--end-with-input")  # so that none outlives us, however we end
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "comity", *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=os.environ
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

    return dict(zip(addresses, await asyncio.gather(*map(ask, addresses.values())), strict=True))


async def _linked(addresses: dict[str, str]) -> None:
    """Wait until all links are up, which both ends of each have to say."""
    ends = 2 * (len(addresses) - 1)
    async with asyncio.timeout(_PATIENCE_S):
        while sum(link.is_up for one in (await statuses(addresses)).values() for link in one.links) < ends:
            await asyncio.sleep(_PAUSE_S)


async def settled(addresses: dict[str, str]) -> None:
    """Wait until nobody tells anybody anything new: what was said was heard, and the next look sees the same."""
    before = None
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            links = [link for one in (await statuses(addresses)).values() for link in one.links]
            said = sum(link.control_out for link in links)
            if said == sum(link.control_in for link in links) and said == before:
                return
            before = said
            await asyncio.sleep(_PAUSE_S)
