"""Stock trading over seven brokers, each a process of its own, once for each strategy of routing.

    python examples/stock_trading/run.py [--strategies S …] [--days N] [--traders N] [--seed N] [--svg FILE]

Traders at all brokers subscribe to quotes; the exchange, and a second publisher at the other end of the network,
publish a quote of each symbol for each day. It prints who wanted and who got how many, and what each strategy cost: the
filters in the tables of the brokers, the messages about them, and how often a quote went over a link, wanted there or
not. All strategies deliver the same; if somebody does not get what he wants, it says so, and leaves with 1.

The quotes are not of any stock: they are a random walk, the same one for the same seed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Python looks for these in the folder of this file; who checks types from outside does not.
from market import ABOVE, Trader, quotes, traders  # type: ignore[import-not-found]
from picture import bars  # type: ignore[import-not-found]

import comity
from comity.client import EventSubscription
from comity.testing.brokers import running_brokers, settled, statuses
from comity.wire import NodeStatus

STRATEGIES = ("flooding", "simple", "identity", "covering", "merging")
USUAL = ("flooding", "simple", "covering", "merging")
PUBLISHERS = ("exchange", "reno")
WAIT_S = 30.0
"""How long a quote may be on its way."""


@dataclass(frozen=True)
class Outcome:
    """What came of one strategy."""

    strategy: str
    got: dict[str, int]
    entries: int
    control: int
    over_links: int
    unwanted: int

    @classmethod
    def of(cls, strategy: str, got: dict[str, int], told: Sequence[NodeStatus]) -> Outcome:
        links = [link for one in told for link in one.links]
        return cls(
            strategy,
            got,
            sum(link.subscriptions for link in links),
            sum(link.control_out for link in links),
            sum(link.events_in for link in links),
            sum(link.unwanted for link in links),
        )


async def trade(strategy: str, people: Sequence[Trader], market: Sequence[list[dict[str, Any]]]) -> Outcome:
    """Start the brokers, let everybody subscribe, publish, and see who gets what."""
    wanted = wanted_by(people, market)
    async with running_brokers(ABOVE, "--strategy", strategy) as addresses, AsyncExitStack() as stack:
        subscriptions = {}
        for person in people:
            node = await stack.enter_async_context(comity.connect(addresses[person.broker], name=person.name))
            subscriptions[person.name] = await node.subscribe(person.filter)
        await settled(addresses)
        publishers = [await stack.enter_async_context(comity.connect(addresses[name])) for name in PUBLISHERS]
        for number, day in enumerate(market):
            await publishers[number % len(publishers)].publish(day)
        counts = await asyncio.gather(*(count(subscriptions[name], wanted[name]) for name in subscriptions))
        await settled(addresses)
        return Outcome.of(strategy, dict(zip(subscriptions, counts)), [*(await statuses(addresses)).values()])


def wanted_by(people: Sequence[Trader], market: Sequence[list[dict[str, Any]]]) -> dict[str, int]:
    """How many quotes fit the filter of each, found without any broker."""
    events = [comity.Event(**{**quote, "time": None}) for day in market for quote in day]
    return {one.name: sum(map(comity.Filter(one.filter).matches, events)) for one in people}


async def count(subscription: EventSubscription, wanted: int) -> int:
    """How many events come: as many as are wanted, one more, which would be wrong, or fewer, in vain."""
    got = 0
    try:
        async with asyncio.timeout(WAIT_S if wanted else 0.5) as limit:
            async for _ in subscription:
                got += 1
                if got == wanted:  # one more would come at once
                    limit.reschedule(asyncio.get_running_loop().time() + 0.5)
    except TimeoutError:
        pass
    return got


def show(people: Sequence[Trader], wanted: dict[str, int], outcomes: Sequence[Outcome]) -> bool:
    """Print who got what, and what each strategy cost; whether everybody got what he wanted."""
    names = [one.strategy for one in outcomes]
    print(f"{'trader':<12}{'filter':<44}{'wanted':>8}" + "".join(f"{name:>10}" for name in names))
    for person in people:
        got = "".join(f"{one.got[person.name]:>10,}" for one in outcomes)
        print(f"{person.name:<12}{person.filter:<44}{wanted[person.name]:>8,}{got}")
    print(
        f"\n{'strategy':<12}{'filters in tables':>18}{'control messages':>18}{'quotes over links':>19}{'unwanted':>10}"
    )
    for one in outcomes:
        print(f"{one.strategy:<12}{one.entries:>18,}{one.control:>18,}{one.over_links:>19,}{one.unwanted:>10,}")
    first = outcomes[0]
    for one in outcomes[1:]:
        print(
            f"{one.strategy} saves {saving(first.over_links, one.over_links)} of the quotes that {first.strategy} sends"
        )
    return all(one.got == wanted for one in outcomes)


def saving(before: int, now: int) -> str:
    return f"{1 - now / max(before, 1):.0%}"


def picture(outcomes: Sequence[Outcome], days: int) -> str:
    panels = {
        "Filters in the tables of seven brokers": {one.strategy: one.entries for one in outcomes},
        "Messages about them": {one.strategy: one.control for one in outcomes},
        "Quotes over links": {one.strategy: one.over_links for one in outcomes},
        "Of these unwanted": {one.strategy: one.unwanted for one in outcomes},
    }
    drawn: str = bars(
        "Stock trading over seven brokers", panels, [f"{days:,} days of generated quotes; less is better"]
    )
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=USUAL)
    parser.add_argument("--days", type=int, default=100)
    parser.add_argument("--traders", type=int, default=4, help="at each broker")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--svg", type=Path, default=Path("stock_trading.svg"), help="where the costs are drawn")
    args = parser.parse_args()
    people = traders([*ABOVE], args.traders, args.seed)
    market = [*quotes(args.days, args.seed)]
    outcomes = []
    for strategy in args.strategies:
        print(f"seven brokers, {strategy} …", file=sys.stderr, flush=True)
        outcomes.append(asyncio.run(trade(strategy, people, market)))
    is_well = show(people, wanted_by(people, market), outcomes)
    args.svg.write_text(picture(outcomes, args.days), encoding="utf-8")
    print(f"the costs are drawn in {args.svg}")
    if not is_well:
        sys.exit("somebody did not get what he wants")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
