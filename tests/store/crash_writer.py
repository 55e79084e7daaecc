"""A process that publishes into a store until somebody kills it, and tells each answer when it has it.

    python -m tests.store.crash_writer FOLDER FIRST

Each publisher stores an event and, with it, the one that it stored before. Meanwhile one client acknowledges what there
is, one never does, and one changes its subscriptions.
"""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

from comity.server.store import SqliteStore, StoredSubscription, open_store
from tests.store.events import event

PUBLISHERS = 4


async def publish(store: SqliteStore, number: int) -> None:
    while True:
        both = [event(number), event(max(0, number - PUBLISHERS))]
        for new, answer in zip(both, await store.append(both)):
            tell("stored", new.id, answer.sequence)
        number += PUBLISHERS


async def acknowledge(store: SqliteStore) -> None:
    while True:
        position = await store.grown((await store.cursors())["fast"].position)
        await store.advance("fast", position)
        tell("taken", "fast", position)


async def subscribe(store: SqliteStore, client: str) -> None:
    for number in count(1):
        await store.keep(StoredSubscription(client, str(number), f"x > {number}"))
        tell("kept", client, number)
        await store.drop(client, str(number))
        tell("dropped", client, number)


def tell(what: str, name: str, number: int) -> None:
    os.write(1, f"{what} {name} {number}\n".encode())


async def main(folder: Path, first: int) -> None:
    async with open_store(folder) as store:
        for client in ("fast", "slow"):
            await store.keep(StoredSubscription(client, "all", "true"))
        tell("ready", "all", 0)
        publishers = [publish(store, first + number) for number in range(PUBLISHERS)]
        await asyncio.gather(*publishers, acknowledge(store), subscribe(store, f"fickle-{first}"))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
