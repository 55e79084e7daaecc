"""The file of a simulation: which network, who wants what, what is published, and what breaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from comity.document import Document, read_document, validate
from comity.errors import ComityError, Faults, Misuse
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.filter.statistics import Statistics
from comity.limits import limits
from comity.route.policy import Policy, Strategy
from comity.simulate.links import LinkConditions
from comity.simulate.topology import Topology

Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Milliseconds = Annotated[float, Field(ge=0, le=3_600_000)]
Seconds = Annotated[float, Field(ge=0, le=1_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class TopologyPart(_Strict):
    """A shape and a size, or the links."""

    shape: Literal["line", "star", "tree", "balanced"] = "tree"
    brokers: Annotated[int, Field(ge=2)] | None = None
    degree: Annotated[int, Field(ge=1, le=1000)] = 3
    links: list[Annotated[list[str], Field(min_length=2, max_length=2)]] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> TopologyPart:
        if (self.brokers is None) == (self.links is None):
            raise ValueError("one of `brokers` and `links` is needed")
        if (self.brokers or len(self.links or ())) > limits().max_simulated_brokers:
            raise ValueError(f"these are more than {limits().max_simulated_brokers} brokers (max_simulated_brokers)")
        if not self.made(Random(0)).is_tree:
            raise ValueError("the links are no tree: there must be exactly one way between any two brokers")
        return self

    def made(self, chance: Random) -> Topology:
        """The brokers and their links."""
        if self.links is not None:
            return Topology.of([(one, other) for one, other in self.links])
        size = self.brokers or 2
        match self.shape:
            case "line":
                return Topology.line(size)
            case "star":
                return Topology.star(size)
            case "balanced":
                return Topology.balanced(size, self.degree)
            case _:
                return Topology.tree(size, chance)


class LinksPart(_Strict):
    """How links are."""

    delay_ms: Annotated[list[Milliseconds], Field(min_length=2, max_length=2)] = [1, 5]
    loss: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    resend_ms: Milliseconds = 200
    notice_ms: Annotated[list[Milliseconds], Field(min_length=2, max_length=2)] = [0, 500]

    def conditions(self) -> LinkConditions:
        """The same in seconds."""
        delay, notice = sorted(self.delay_ms), sorted(self.notice_ms)
        return LinkConditions(
            (delay[0] / 1e3, delay[1] / 1e3), self.loss, self.resend_ms / 1e3, (notice[0] / 1e3, notice[1] / 1e3)
        )


class ClientPart(_Strict):
    """Somebody with a name."""

    at: str
    subscribe: str | list[str] = []
    advertise: str | list[str] = []

    def subscribes(self) -> list[str]:
        """The filters."""
        return [self.subscribe] if isinstance(self.subscribe, str) else self.subscribe

    def advertises(self) -> list[str]:
        """The filters."""
        return [self.advertise] if isinstance(self.advertise, str) else self.advertise


class EventPart(_Strict):
    """An event, or several that are equal."""

    by: str
    data: dict[str, str | int | float | bool]
    times: Positive = 1


class MarketPart(_Strict):
    """Stock trading, generated."""

    symbols: Annotated[int, Field(ge=1, le=10_000)] = 50
    quotes: str | None = None
    subscriptions: Positive = 100
    publishers: Positive = 4
    events: Positive = 1000
    zipf: Annotated[float, Field(ge=0, le=5)] = 1.0
    locality: Share = 0.5
    steps: Annotated[int, Field(ge=2, le=1000)] = 20
    churn: Share = 0.1


class FaultPart(_Strict):
    """Something that happens at a time; exactly one thing."""

    at_s: Seconds
    for_s: Seconds | None = None
    crash: str | None = None
    cut: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None
    partition: list[str] | None = None
    join: str | None = None
    to: str | None = None
    leave: str | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> FaultPart:
        named = [name for name in ("crash", "cut", "partition", "join", "leave") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError("one of `crash`, `cut`, `partition`, `join` and `leave` is needed")
        if (self.join is None) != (self.to is None):
            raise ValueError("`join` needs `to`, the broker to which it is linked")
        if self.for_s is not None and named[0] in ("join", "leave"):
            raise ValueError(f"`for_s` does not go with `{named[0]}`")
        return self

    def named(self) -> Iterator[tuple[str, str]]:
        """The brokers that it names, with their keys; one that joins is new."""
        for key in ("crash", "to", "leave"):
            if getattr(self, key) is not None:
                yield key, getattr(self, key)
        for key, brokers in (("cut", self.cut), ("partition", self.partition)):
            yield from ((key, name) for name in brokers or ())


class ScenarioFile(_Strict):
    """`simulation: NAME` with all its parts."""

    simulation: str
    description: str | None = None
    seed: int = 1
    topology: TopologyPart
    links: LinksPart = LinksPart()
    strategies: list[Strategy] = [one for one in Strategy if one is not Strategy.IMPERFECT]
    loss: Annotated[float, Field(ge=0, lt=1)] = 0.1
    advertisements: bool | Literal["both"] = "both"
    lease_s: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    clients: dict[str, ClientPart] = Field(default_factory=dict)
    events: list[EventPart] = Field(default_factory=list)
    market: MarketPart | None = None
    lasts_s: Annotated[float, Field(gt=0, le=1_000_000)] = 10.0
    faults: list[FaultPart] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> ScenarioFile:
        if self.market is None and not self.clients:
            raise ValueError("`clients` or a `market` is needed: nobody wants anything")
        events = sum(event.times for event in self.events) + (self.market.events if self.market else 0)
        if max(events, self.market.subscriptions if self.market else 0) > limits().max_simulated_events:
            raise ValueError(f"more than {limits().max_simulated_events} events or wishes (max_simulated_events)")
        return self

    def policies(self, statistics: Statistics) -> Iterator[Policy]:
        """The policies to compare. Advertisements change nothing for who floods."""
        for strategy in dict.fromkeys(self.strategies):
            both = (False,) if strategy is Strategy.FLOODING else (False, True)
            for advertisements in both if self.advertisements == "both" else (self.advertisements,):
                loss = self.loss if strategy is Strategy.IMPERFECT else 0.0
                yield Policy(strategy, bool(advertisements), loss, statistics, self.lease_s)


def read_scenario(path: Path) -> ScenarioFile:
    """The scenario of a YAML file, checked; raises `Faults` with all that is wrong in it."""
    document = read_document(path)
    scenario = validate(document, ScenarioFile)
    faults = [*_unknown_brokers(document, scenario), *_bad_filters(document, scenario)]
    if faults:
        raise Faults(faults)
    return scenario


def _unknown_brokers(document: Document, scenario: ScenarioFile) -> Iterator[ComityError]:
    known = {*scenario.topology.made(Random(0)).brokers, *(one.join for one in scenario.faults if one.join)}
    named: list[tuple[tuple[str | int, ...], str]] = [
        (("clients", name, "at"), client.at) for name, client in scenario.clients.items()
    ]
    named += [(("faults", at, key), name) for at, fault in enumerate(scenario.faults) for key, name in fault.named()]
    for path, name in named:
        if name not in known:
            yield document.fault(f"there is no broker `{name}`", path, code="unknown-broker", hint=_some(known))
    for at, event in enumerate(scenario.events):
        if event.by not in scenario.clients:
            yield document.fault(f"there is no client `{event.by}`", ("events", at, "by"), code="unknown-client")


def _some(names: set[str]) -> str:
    shown = sorted(names, key=lambda name: (len(name), name))
    return f"known: {', '.join(shown[:8])}{', …' if len(shown) > 8 else ''}"


def _bad_filters(document: Document, scenario: ScenarioFile) -> Iterator[ComityError]:
    for name, client in scenario.clients.items():
        for key, value in (("subscribe", client.subscribe), ("advertise", client.advertise)):
            for at, text in enumerate([value] if isinstance(value, str) else value):
                try:
                    bind_text(text, Scope())
                except Misuse as error:
                    path: tuple[Any, ...] = ("clients", name, key)
                    yield document.locate(error, path if isinstance(value, str) else (*path, at))
