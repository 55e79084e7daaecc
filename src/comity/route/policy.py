"""How a network routes: what all its brokers agree on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from comity.errors import Misuse
from comity.filter.statistics import Statistics
from comity.route.adaptive import Adaptation


class Strategy(Enum):
    """How much a broker tells its neighbours of what is wanted behind it."""

    FLOODING = "flooding"
    """Nothing: every event goes everywhere."""
    SIMPLE = "simple"
    """Every subscription."""
    IDENTITY = "identity"
    """One of those that match the same events."""
    COVERING = "covering"
    """Those that no other one covers."""
    MERGING = "merging"
    """These, put together where one filter says exactly as much as several."""
    IMPERFECT = "imperfect"
    """These, put together also where one filter says a little more."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A strategy and its settings."""

    strategy: Strategy = Strategy.COVERING
    advertisements: bool = False
    """Whether publishers advertise what they publish; subscriptions then go only where something is advertised."""
    loss: float = 0.0
    """Of the events on a link, the share at most that may be wanted by nobody behind it (imperfect merging)."""
    statistics: Statistics | None = None
    """How events are distributed, without which no loss can be estimated."""
    lease_s: float | None = None
    """Seconds after which a neighbour forgets what was not refreshed."""
    adaptive: Adaptation | None = None
    """When links are not filtered, because nearly everything passes; None: never."""
    notices: bool = False
    """Whether brokers give back, as things to publish, who subscribed and advertised (`take_notices`)."""
    slice: int | None = None
    """Filters at most that a step looks at again because they lost their cover; None: all. See `has_work`."""

    def __post_init__(self) -> None:
        if not 0 <= self.loss < 1:
            raise Misuse(f"a loss of {self.loss} is no share", code="bad-loss", hint="say a number from 0 to below 1")
        if self.slice is not None and self.slice < 1:
            raise Misuse(f"a slice of {self.slice} gets nowhere", code="bad-slice")
        if self.lease_s is not None and self.lease_s <= 0:
            raise Misuse(f"a lease of {self.lease_s} s ends before it begins", code="bad-lease")
