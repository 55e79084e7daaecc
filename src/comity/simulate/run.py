"""A scenario, run once for each policy: the same clients, the same events, the same faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from comity.filter.statistics import Statistics
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Topic
from comity.route.policy import Policy
from comity.simulate.checks import check_at_rest
from comity.simulate.costs import Costs, costs_of
from comity.simulate.market import Market, Taste
from comity.simulate.network import Network
from comity.simulate.quiet_traffic import QuietTraffic, as_batch
from comity.simulate.scenario import FaultPart, MarketPart, ScenarioFile
from comity.simulate.space import EventSpace, Record
from comity.simulate.trading import Trading

_WATCHED = 100_000
"""Events times subscriptions up to which each delivery is judged, and not only the tables."""
_SAMPLED = 300
"""Events of a market by which tables are judged."""

Progress = Callable[[float, int], None]
"""Is told the part of the work that is done, from 0 to 1, and the events that were published."""


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """What one policy did, and the network as it is at the end."""

    policy: Policy
    costs: Costs
    network: Network


def simulate(
    scenario: ScenarioFile, folder: Path, *, seed: int | None = None, progress: Progress = lambda done, events: None
) -> Iterator[PolicyRun]:
    """Run after run, one for each policy; files that the scenario names are in the folder.

    Without faults clients come, the network comes to rest, and events go through it all at once. With faults all
    happens in virtual time: events, changes of mind and faults side by side.
    """
    chosen = scenario.seed if seed is None else seed
    market = None if scenario.market is None else _market(scenario.market, folder, chosen)
    pool = FilterPool()
    records = _records(scenario, market)
    space = EventSpace(records, judged=None if scenario.faults else _SAMPLED)
    policies = list(scenario.policies(Statistics(tuple(records[:_SAMPLED]))))
    published = 0
    for done, policy in enumerate(policies):
        run = _Run(scenario, market, space, policy, pool, chosen)
        for part in run.parts():
            progress((done + part) / len(policies), published + run.network.counters.published)
        published += run.network.counters.published
        yield PolicyRun(policy, costs_of(run.network, policy, timed=bool(scenario.faults)), run.network)


def _market(part: MarketPart, folder: Path, seed: int) -> Market:
    if part.quotes is not None:
        return Market.read(folder / part.quotes, part.events)
    return Market.generated(part.symbols, part.events, Random(f"market {seed}"))


def _records(scenario: ScenarioFile, market: Market | None) -> list[Record]:
    """All that is published, first what the file says itself."""
    own = [_record(event.data) for event in scenario.events for _ in range(event.times)]
    return [*own, *(market.quotes if market is not None else ())]


class _Run:
    """One policy. Chance for the network, the topology and the market comes from apart, so they are always the same."""

    def __init__(
        self,
        scenario: ScenarioFile,
        market: Market | None,
        space: EventSpace,
        policy: Policy,
        pool: FilterPool,
        seed: int,
    ) -> None:
        def make(name: str) -> RoutingBroker:
            return RoutingBroker(name, policy, pool)

        self._scenario = scenario
        self._records = space.records
        self._by = [event.by for event in scenario.events for _ in range(event.times)]
        self.network = Network(make, Random(f"network {seed}"), pool, space, conditions=scenario.links.conditions())
        self.network.build(scenario.topology.made(Random(f"topology {seed}")))
        self.network.settle()
        self._trading: Trading | None = None
        if market is not None and scenario.market is not None:
            self._trading = self._trade(market, scenario.market, seed)

    def _trade(self, market: Market, part: MarketPart, seed: int) -> Trading:
        taste = Taste(part.zipf, part.locality, part.steps)
        return Trading(self.network, market, part.publishers, taste, Random(f"clients {seed}"))

    def parts(self) -> Iterator[float]:
        """All of it, as it is asked for; after each part, how much is done."""
        self._come()
        yield 0.3
        yield from self._in_time() if self._scenario.faults else self._at_rest()

    def _come(self) -> None:
        for name, client in self._scenario.clients.items():
            for topic, texts in (
                (Topic.ADVERTISEMENTS, client.advertises()),
                (Topic.SUBSCRIPTIONS, client.subscribes()),
            ):
                for key, text in enumerate(texts):
                    self.network.hold(client.at, topic, name, key, text)
        if self._trading is not None and self._scenario.market is not None:
            self._trading.advertise()
            self.network.settle()
            self._trading.subscribe(self._scenario.market.subscriptions)
        self._rest()

    def _rest(self) -> None:
        self.network.settle()
        check_at_rest(self.network)

    def _changing(self) -> int:
        part = self._scenario.market
        return 0 if part is None else round(part.churn * part.subscriptions)

    def _at_rest(self) -> Iterator[float]:
        """Half of the events, then changes of mind, then the other half."""
        halves = (self._records[0::2], self._records[1::2])
        for number, part in enumerate(halves):
            if part:
                publishers = [self._home(2 * at + number) for at in range(len(part))]
                allowed = [at for at in range(len(part)) if self._may(2 * at + number)]
                self.network.counters.refused += len(part) - len(allowed)
                if allowed:
                    traffic = QuietTraffic(self.network)
                    traffic.carry(as_batch([part[at] for at in allowed]), [publishers[at] for at in allowed])
            yield 0.5 + number / 2
            if number == 0 and self._trading is not None:
                self._trading.churn(self._changing())
                self._rest()

    def _client(self, event: int) -> str:
        if event < len(self._by):
            return self._by[event]
        assert self._trading is not None
        quote = self._trading.market.quotes[event - len(self._by)]
        return self._trading.name(self._trading.market.publisher(quote, self._trading.publishers))

    def _home(self, event: int) -> str:
        return self.network.truth.homes.get(self._client(event)) or self._scenario.clients[self._client(event)].at

    def _may(self, event: int) -> bool:
        steps = self.network.live[self._home(event)]
        return steps.may_publish(self._client(event), self._records[event])

    def _in_time(self) -> Iterator[float]:
        """Events and changes of mind evenly over the time that the run lasts, faults when they are due."""
        network, lasts = self.network, self._scenario.lasts_s
        subscriptions = sum(1 for _ in network.truth.every(Topic.SUBSCRIPTIONS))
        network.is_watched = subscriptions * len(self._records) <= _WATCHED
        start = network.now
        for event in range(len(self._records)):
            due = start + lasts * event / len(self._records)
            network.clock.at(due, self._publish, event)
        for number in range(self._changing()):
            due = start + lasts * (number + 0.5) / self._changing()
            network.clock.at(due, self._change_one)
        for fault in self._scenario.faults:
            self._arrange(start, fault)
        for part in range(1, 21):
            network.advance(start + lasts * part / 20 - network.now)
            yield 0.3 + 0.7 * part / 20
        self._rest()

    def _publish(self, event: int) -> None:
        home = self._home(event)
        if home in self.network.stations:
            self.network.publish(home, self._client(event), event)

    def _change_one(self) -> None:
        if self._trading is not None:
            self._trading.churn(1)

    def _arrange(self, start: float, fault: FaultPart) -> None:
        act, undo = _acts(self.network, fault)
        self.network.clock.at(start + fault.at_s, act)
        if fault.for_s is not None:
            self.network.clock.at(start + fault.at_s + fault.for_s, undo)


def _acts(network: Network, fault: FaultPart) -> tuple[Callable[[], None], Callable[[], None]]:
    """What happens, and what ends it."""
    if fault.crash is not None:
        name = fault.crash
        return lambda: network.crash(name), lambda: network.restart(name)
    if fault.leave is not None:
        leaving = fault.leave
        return lambda: network.quit(leaving), lambda: None
    if fault.join is not None and fault.to is not None:
        joining, other = fault.join, fault.to
        return lambda: network.join(joining, other), lambda: None
    inside = set(fault.partition or ())
    pairs = [pair for pair in network.wires if len(inside.intersection(pair)) == 1]
    pairs += [] if fault.cut is None else [(fault.cut[0], fault.cut[1])]

    def cut() -> None:
        for pair in pairs:
            network.cut(*pair)

    def mend() -> None:
        for pair in pairs:
            network.mend(*pair)

    return cut, mend


def _record(data: dict[str, str | int | float | bool]) -> Record:
    """An event as filters read it; a dot in a name leads into a structure."""
    return {tuple(name.split(".")): value for name, value in data.items()}
