"""A random run of a network, judged as it goes: clients come, change their minds, publish and go, and things break.

Everything follows from the seed. A trial ends with all links up, compares the tables with those of a network that never
failed (I9), and then takes everything back (I7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.simulate.checks import check_at_rest, tables
from comity.simulate.door import BrokerDoor
from comity.simulate.findings import Findings
from comity.simulate.interval_world import interval_filter, interval_space
from comity.simulate.links import LinkConditions
from comity.simulate.network import Network
from comity.simulate.space import EventSpace
from comity.simulate.topology import Topology

_MOST_STEPS = 200_000
"""Acts after which a small network that is left alone should be at rest."""
BrokerMaker = Callable[[str, Policy, FilterPool], RoutingBroker]


@dataclass(frozen=True, slots=True)
class TrialWorld:
    """What runs share: filters are read and compared once for all of them."""

    space: EventSpace = field(default_factory=interval_space)
    pool: FilterPool = field(default_factory=FilterPool)
    filter: Callable[[Random], str] = interval_filter


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """How large a trial is, and how often what happens in it."""

    brokers: tuple[int, int] = (2, 7)
    acts: int = 150
    failures: bool = True
    weights: tuple[tuple[str, float], ...] = (
        ("subscribe", 5),
        ("unsubscribe", 3),
        ("advertise", 2),
        ("unadvertise", 1),
        ("publish", 10),
        ("wait", 6),
        ("leave", 0.5),
        ("swap", 3),
        ("rest", 1.5),
    )
    failing: tuple[tuple[str, float], ...] = (("cut", 0.4), ("mend", 0.8), ("crash", 0.3), ("join", 0.2), ("quit", 0.1))


@dataclass(slots=True)
class RoutingTrial:
    """One seed with one policy."""

    seed: int
    policy: Policy
    world: TrialWorld
    plan: TrialPlan = TrialPlan()
    maker: BrokerMaker = RoutingBroker
    network: Network = field(init=False)
    chance: Random = field(init=False)
    sizes: list[int] = field(default_factory=list)
    """The entries of all tables, at each rest: for I6."""
    _keys: int = 0
    _brokers: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.network = self._network(self.chance.random())
        topology = self._topology(self.chance.randint(*self.plan.brokers))
        self._brokers = len(topology.brokers)
        self.network.build(topology)

    def run(self) -> Findings:
        """All of it; what was wrong."""
        kinds = dict([*self.plan.weights, *(self.plan.failing if self.plan.failures else ())])
        self._rest()
        for kind in self.chance.choices(list(kinds), weights=list(kinds.values()), k=self.plan.acts):
            getattr(self, f"_{kind}")()
        self._repair()
        self._rest()
        self._compare_with_fresh()
        self._take_all_back()
        return self.network.findings

    def _topology(self, brokers: int) -> Topology:
        return Topology.tree(brokers, self.chance)

    def _network(self, seed: float) -> Network:
        def make(name: str) -> BrokerDoor:
            return self.maker(name, self.policy, self.world.pool)

        conditions = LinkConditions(delay_s=(0.001, 0.01), loss=0.05, resend_s=0.01, notice_s=(0.0, 0.02))
        return Network(make, Random(seed), self.world.pool, self.world.space, conditions=conditions)

    # What clients do

    def _subscribe(self) -> None:
        self._hold(Topic.SUBSCRIPTIONS)

    def _advertise(self) -> None:
        self._hold(Topic.ADVERTISEMENTS)

    def _hold(self, topic: Topic) -> None:
        clients = list(self.network.truth.homes)
        client = f"c{self._keys}"
        if clients and self.chance.random() < 0.4:
            client = self.chance.choice(clients)
        broker = self.network.truth.homes.get(client) or self._live()
        self._keys += 1
        self.network.hold(broker, topic, client, self._keys, self._filter(topic))

    def _filter(self, topic: Topic) -> str:
        """Often one that somebody has already."""
        known = [wish.text for wish in self.network.truth.every(topic)]
        return self.chance.choice(known) if known and self.chance.random() < 0.3 else self.world.filter(self.chance)

    def _unsubscribe(self) -> None:
        self._release(Topic.SUBSCRIPTIONS)

    def _unadvertise(self) -> None:
        self._release(Topic.ADVERTISEMENTS)

    def _release(self, topic: Topic) -> None:
        wishes = list(self.network.truth.every(topic))
        if wishes:
            wish = self.chance.choice(wishes)
            self.network.release(topic, wish.client, wish.key)

    def _leave(self) -> None:
        clients = list(self.network.truth.homes)
        if clients:
            self.network.leave(self.chance.choice(clients))

    def _publish(self) -> None:
        """A few events, one shortly after the other, so that they meet changes on their way."""
        for _ in range(self.chance.randint(1, 4)):
            self._publish_one()
            self.network.advance(self.chance.uniform(0, 0.002))

    def _swap(self) -> None:
        """The broadest subscription comes or goes, which may hide what others want, while events are on their way."""
        wishes = list(self.network.truth.every(Topic.SUBSCRIPTIONS))
        self._publish()
        if wishes and self.chance.random() < 0.7:
            broadest = max(wishes, key=lambda wish: self.world.space.of(wish.text).bit_count())
            self.network.release(Topic.SUBSCRIPTIONS, broadest.client, broadest.key)
        else:
            self._subscribe()
        for _ in range(5):
            self._publish()

    def _publish_one(self) -> None:
        event = self.chance.randrange(len(self.world.space.records))
        offers = list(self.network.truth.every(Topic.ADVERTISEMENTS))
        if self.policy.advertisements and offers:
            offer = self.chance.choice(offers)
            matching = self.world.space.of(offer.text)
            events = [number for number in range(len(self.world.space.records)) if matching >> number & 1]
            self.network.publish(
                self.network.truth.homes[offer.client], offer.client, self.chance.choice(events or [event])
            )
            return
        broker = self._live()
        self.network.publish(broker, f"publisher at {broker}", event)

    # Time

    def _wait(self) -> None:
        self.network.advance(self.chance.uniform(0, 0.02))

    def _rest(self) -> None:
        self.network.settle(_MOST_STEPS)
        self._check()
        self.sizes.append(sum(map(len, tables(self.network).values())))

    def _check(self) -> None:
        check_at_rest(self.network)

    # What breaks

    def _live(self) -> str:
        return self.chance.choice(list(self.network.live))

    def _cut(self) -> None:
        up = [link for link, wire in self.network.wires.items() if wire.is_up]
        if up:
            self.network.cut(*self.chance.choice(up))

    def _mend(self) -> None:
        down = [link for link, wire in self.network.wires.items() if not wire.is_up]
        if down:
            self.network.mend(*self.chance.choice(down))

    def _crash(self) -> None:
        if len(self.network.live) > 1:
            name = self._live()
            self.network.crash(name)
            self.network.advance(self.chance.uniform(0, 0.05))
            self.network.restart(name)

    def _join(self) -> None:
        name, other = f"b{self._brokers}", self._live()
        self._brokers += 1
        self.network.join(name, other)

    def _quit(self) -> None:
        if len(self.network.stations) > 2:
            self._repair()
            self.network.quit(self._live())

    def _repair(self) -> None:
        for name in self.network.stations.keys() - self.network.live.keys():
            self.network.restart(name)
        for link in list(self.network.wires):
            self.network.mend(*link)

    # The end

    def _compare_with_fresh(self) -> None:
        """I9: a network that had failures has the tables of one that had none.

        Which filters are merged may depend on the order in which they came, what they let pass may not.
        """
        fresh = self._network(0.5)
        fresh.truth = self.network.truth
        links = [link for link, wire in self.network.wires.items() if wire.is_up]
        fresh.build(Topology.of(links, self.network.stations))
        fresh.settle()
        before, after = tables(self.network), tables(fresh)
        for place in sorted(before.keys() | after.keys(), key=str):
            one, other = before.get(place, ()), after.get(place, ())
            if self._as_compared(one) != self._as_compared(other):
                broker, neighbour, topic = place
                text = f"{broker} of {neighbour}: {len(one)} {topic.value}, {len(other)} in a network without failures"
                self.network.findings.add("I9", text)

    def _as_compared(self, sets: tuple[int, ...]) -> object:
        if self.policy.strategy is Strategy.MERGING:
            union = 0
            for one in sets:
                union |= one
            return union
        return None if self.policy.strategy is Strategy.IMPERFECT else sets

    def _take_all_back(self) -> None:
        """I7: what is no longer wanted leaves nothing behind."""
        for topic in Topic:
            for wish in list(self.network.truth.every(topic)):
                self.network.release(topic, wish.client, wish.key)
        self._rest()
        for (broker, neighbour, topic), entries in tables(self.network).items():
            if entries:
                self.network.findings.add("I7", f"{broker} still has {topic.value} of {neighbour}")
