"""The stages of a plan. Both runners, the engine and Spark, read these and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from comity.contract.mapping import Mapping
from comity.event.reasons import ReasonCounts, RejectedRecord
from comity.event.types import EventType
from comity.expression.tree import Expression, disjunction
from comity.federation.model import OPERAND
from comity.keyed import Keyed
from comity.pattern.bound import BoundPattern


@dataclass(frozen=True, slots=True)
class Delivery(Keyed):
    """For one profile: which events of the route it takes, and how the subscriber sees them."""

    profile: str
    subscriber: str
    condition: Expression
    """Over the type on which the route's events meet the profile."""
    observe: Mapping | None
    """From that type into the subscriber's; None when the subscriber sees the event as it is."""
    wanted: Expression
    """The condition in the terms of the route's source: substituted, and simplified."""
    priority: int = 0
    """Of notifications that wait for a sink together, those of a higher one go first."""


@dataclass(frozen=True, slots=True)
class Failure(Keyed):
    """A step of mediation that can leave something mandatory missing. Routes with the same steps share it."""

    mediate: Mapping
    """The steps up to this one."""
    condition: Expression
    """Over the source: whether this step is the first to fail."""


@dataclass(frozen=True, slots=True)
class Route(Keyed):
    """What happens to the events of one concrete local type on one way: mediate, match, observe, deliver."""

    source: EventType
    contract: str | None
    """The contract that it goes through, or contracts in their order; None on the way within its own domain."""
    mediate: Mapping | None
    deliveries: tuple[Delivery, ...]
    failures: tuple[Failure, ...] = ()
    """The steps of `mediate` that can leave a mandatory attribute missing, so that the event is rejected."""

    @property
    def incomplete(self) -> Expression:
        """Over the source: whether the event is rejected on this way."""
        return disjunction([failure.condition for failure in self.failures])

    @property
    def meeting_type(self) -> EventType:
        """The type on which events and profiles meet: the contract's, or the local one."""
        return self.mediate.target if self.mediate else self.source


def profile_of(delivery: str) -> str:
    """The profile that a delivery is for: its own name, or that of the composite profile whose operand it serves.

    >>> profile_of("hot"), profile_of("hot/h")
    ('hot', 'hot')
    """
    return delivery.partition(OPERAND)[0]


def operand_of(delivery: str) -> str | None:
    """The operand that a delivery serves; None when it is that of a simple profile.

    >>> operand_of("hot/h")
    'h'
    """
    return delivery.partition(OPERAND)[2] or None


@dataclass(frozen=True, slots=True)
class PlannedPattern(Keyed):
    """A composite profile: its pattern, over events that the deliveries named `profile/operand` take."""

    bound: BoundPattern
    subscriber: str

    def delivery(self, operand: str) -> str:
        """The name of the deliveries of an operand."""
        return f"{self.bound.name}{OPERAND}{operand}"


@dataclass(frozen=True, slots=True)
class Plan(Keyed):
    """All routes of a federation."""

    federation: str
    types: tuple[EventType, ...]
    """The concrete local types: what sources may send."""
    routes: tuple[Route, ...]
    abstract_types: tuple[EventType, ...] = ()
    """Those that have no events of their own, which an event is told that names one."""
    patterns: tuple[PlannedPattern, ...] = ()
    seen: tuple[datetime | None, datetime | None] = (None, None)
    """From when, and until before when, events count for silences, which begin with the first and end with the last."""

    @property
    def subscribers(self) -> tuple[str, ...]:
        """Everyone to whom something can be delivered."""
        found = {delivery.subscriber for route in self.routes for delivery in route.deliveries}
        return tuple(sorted(found | {planned.subscriber for planned in self.patterns}))

    def subscriber_of(self) -> dict[str, str]:
        """By profile, who it is for."""
        found = {one.profile: one.subscriber for route in self.routes for one in route.deliveries}
        return found | {planned.bound.name: planned.subscriber for planned in self.patterns}

    @property
    def profiles(self) -> tuple[str, ...]:
        """Every profile that has a route, and every composite one: a silence is reported without any event."""
        found = {one.profile for route in self.routes for one in route.deliveries if OPERAND not in one.profile}
        return tuple(sorted(found | {planned.bound.name for planned in self.patterns}))

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """What events are tested for: profiles that have a route, and operands (`profile/operand`)."""
        return tuple(sorted({delivery.profile for route in self.routes for delivery in route.deliveries}))

    def pattern(self, profile: str) -> PlannedPattern | None:
        """The composite profile of a name; None when it has a filter, or is not there."""
        return next((planned for planned in self.patterns if planned.bound.name == profile), None)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did: records read, records rejected, notifications by profile."""

    records: int
    rejected: int
    delivered: dict[str, int] = field(default_factory=dict)
    late: int = 0
    """Events older than the newest one seen before by more than `late_after_s`; delivered like any other."""
    matched: int = 0
    """Events that some profile wanted; one that came again counts again."""
    rejected_by_code: dict[str, int] = field(default_factory=dict)
    rejected_examples: dict[str, RejectedRecord] = field(default_factory=dict)
    """By code one of the records that were rejected."""
    dead: dict[str, int] = field(default_factory=dict)
    """Notifications that a sink did not take, by sink."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""
    lag_s: float | None = None
    """Of a batch of a stream: how old its oldest file was when the batch was done."""

    @property
    def reasons(self) -> ReasonCounts:
        """Why records were rejected."""
        found = ReasonCounts()
        found.add(self.rejected_by_code, self.rejected_examples)
        return found

    @property
    def is_all_rejected(self) -> bool:
        """Whether there were records, and every one was rejected, by its type or by a contract."""
        return 0 < self.records <= self.rejected and not self.matched
