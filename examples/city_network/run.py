"""The Active City over a network of brokers: what its contracts say crosses it, and nothing else.

    python examples/city_network/run.py [--strategy S]

Each street has a broker, in a process of its own, that is linked to the broker of the city; houses and offices are
clients of the one nearest to them. Whoever has events maps them to the types of the contracts and publishes these;
whoever has profiles subscribes to these types, with as much of its filters as a broker can know, and does the rest at
home. It prints what each profile got, beside what `comity run` gives on the same events in one process, and leaves with
1 if these differ.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import comity
from comity.client import EventSubscription, NetworkSession
from comity.engine import Notification
from comity.engine.live import STORED, LiveEngine
from comity.event.event import Event
from comity.plan.halves import network_filters, publications, receiving_half
from comity.plan.stages import Plan
from comity.testing.brokers import running_brokers, settled, statuses

CITY = Path(__file__).parent.parent / "active_city"
ABOVE = {"city": None, "south_street": "city", "durbin_lane": "city", "village_avenue": "city"}
"""The broker that each is linked to."""
NEAR = {
    "house_25": "south_street",
    "house_27": "south_street",
    "south_fire_station": "south_street",
    "house_3": "durbin_lane",
    "house_8": "village_avenue",
}
"""The broker of a domain; the others are at that of the city."""
WAIT_S = 30.0
"""How long an event may be on its way."""

Delivered = Counter[tuple[str, str]]
"""Notifications, by profile and by the id of the event."""


def in_one_process(plan: Plan, events: list[Event]) -> Delivered:
    """What a run gives that needs no network."""
    return _counted(comity.run(plan, events))


def _counted(outcomes: Iterable[object]) -> Delivered:
    return Counter((one.profile, one.event.id) for one in outcomes if isinstance(one, Notification))


async def over_network(plan: Plan, events: list[Event], wanted: Delivered, strategy: str) -> tuple[Delivered, int]:
    """What the same profiles get through brokers, and how often an event went over a link."""
    halves = {name: receiving_half(plan, name) for name in plan.subscribers}
    engines = {name: LiveEngine(half, STORED) for name, half in halves.items()}
    got: Delivered = Counter()
    async with running_brokers(ABOVE, "--strategy", strategy) as addresses, AsyncExitStack() as stack:

        async def client(domain: str) -> NetworkSession:
            address = addresses[NEAR.get(domain, "city")]
            return await stack.enter_async_context(comity.connect(address, name=domain))

        nodes = {name: await client(name) for name in sorted({*halves, *(one.type.split(".")[0] for one in events)})}
        subscriptions = [
            (name, await nodes[name].subscribe(text)) for name, half in halves.items() for text in network_filters(half)
        ]
        await settled(addresses)
        for event in events:
            domain = event.type.split(".")[0]
            if domain in engines:  # its own events need no network
                got += _counted(engines[domain].push(event))
            await nodes[domain].publish(list(_told(plan, event)))
        receiving = [
            asyncio.create_task(_receive(subscription, engines[name], got)) for name, subscription in subscriptions
        ]
        await _until(lambda: got >= wanted)
        for task in receiving:
            task.cancel()
        links = [link for one in (await statuses(addresses)).values() for link in one.links]
        return got, sum(link.events_in for link in links)


def _told(plan: Plan, event: Event) -> Iterator[Event]:
    """The event in the terms of each contract that has it; what a contract cannot have stays at home."""
    for one in publications(plan):
        if one.source.qualified_name == event.type:
            told = one.of(event)
            if isinstance(told, Event):
                yield told


async def _receive(subscription: EventSubscription, engine: LiveEngine, got: Delivered) -> None:
    async for event in subscription:
        got.update(_counted(engine.push(event)))


async def _until(done: Callable[[], bool]) -> None:
    """Wait until all is there, and a moment for what would be too much."""
    end = asyncio.get_running_loop().time() + WAIT_S
    while not done() and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategy", default="covering")
    arguments = parser.parse_args()
    federation = comity.load(CITY)
    plan = comity.compile_plan(federation)
    events = [one for one in comity.read_events(CITY / "events", federation.find_type) if isinstance(one, Event)]
    wanted = in_one_process(plan, events)
    got, crossed = asyncio.run(over_network(plan, events, wanted, arguments.strategy))
    print(f"{'profile':<28}{'in one process':>16}{'over the network':>18}")
    for profile in sorted({name for name, _ in wanted + got}):
        beside = [sum(number for (name, _), number in found.items() if name == profile) for found in (wanted, got)]
        print(f"{profile:<28}{beside[0]:>16}{beside[1]:>18}")
    print(f"{len(events)} events, {crossed} times over a link between brokers")
    sys.exit(0 if got == wanted else 1)


if __name__ == "__main__":
    main()
