"""Adaptive filtering: a link on which nearly every event passes is not filtered, for as long as that pays.

Who sends events decides to stop, since it sees what passes; who receives them asks to begin again, since only there it
is seen then what nobody wants. Between two changes some time has to pass, and the thresholds lie apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from comity.errors import Misuse
from comity.route.messages import SendEverything


@dataclass(frozen=True, slots=True)
class Adaptation:
    """When to stop filtering on a link, and when to begin again."""

    stop_above: float = 0.9
    """Share of the events that pass, above which a sender stops filtering."""
    begin_above: float = 0.3
    """Share of the events that nobody wants, above which a receiver asks for filtering."""
    window: int = 1_000
    """Events from which a share is taken."""
    dwell_s: float = 10.0
    """Seconds for which a link stays as it is at least."""

    def __post_init__(self) -> None:
        if not 0 < 1 - self.stop_above < self.begin_above < 1:
            raise Misuse(
                "the thresholds of adaptive filtering leave no room between stopping and beginning again",
                code="bad-adaptation",
                hint="begin_above has to be more than 1 - stop_above",
            )


@dataclass(slots=True)
class _Window:
    """Events that were seen, and how many of them counted."""

    seen: int = 0
    hits: int = 0

    def add(self, seen: int, hits: int) -> None:
        self.seen += seen
        self.hits += hits

    def take_share(self) -> float:
        """The share of hits; the window begins anew."""
        share = self.hits / self.seen
        self.seen = self.hits = 0
        return share


class LinkFilter:
    """Whether the events on one link are filtered, in each direction."""

    def __init__(self, adaptation: Adaptation, now: float) -> None:
        self._adaptation = adaptation
        self.sends_everything = self.gets_everything = False
        self._sent, self._received = _Window(), _Window()
        self._sends_since = self._gets_since = now

    def count_sent(self, processed: int, passed: int) -> None:
        """Events were filtered, and some of them passed."""
        if not self.sends_everything:
            self._sent.add(processed, passed)

    def count_received(self, received: int, wanted: int) -> None:
        """Events came, and some of them were wanted here or were passed on."""
        if self.gets_everything:
            self._received.add(received, received - wanted)

    def ready_at(self) -> float | None:
        """When `decide` has something to decide on."""
        times = [self._sends_since] if self._is_full(self._sent) else []
        times += [self._gets_since] if self._is_full(self._received) else []
        return min(times) + self._adaptation.dwell_s if times else None

    def decide(self, now: float) -> list[SendEverything]:
        """What the neighbour is to be told now."""
        found: list[SendEverything] = []
        if self._is_due(self._sent, self._sends_since, now) and self._sent.take_share() > self._adaptation.stop_above:
            found.append(self._send_everything(True, now))
        is_due = self._is_due(self._received, self._gets_since, now)
        if is_due and self._received.take_share() > self._adaptation.begin_above:
            self._gets_since = now
            found.append(SendEverything(False))
        return found

    def take(self, control: SendEverything, now: float) -> list[SendEverything]:
        """The neighbour told something; what it is to be told now."""
        if control.from_sender:
            self.gets_everything, self._gets_since, self._received = control.on, now, _Window()
            return []
        return [self._send_everything(control.on, now)]

    def _send_everything(self, on: bool, now: float) -> SendEverything:
        self.sends_everything, self._sends_since, self._sent = on, now, _Window()
        return SendEverything(on, from_sender=True)

    def _is_full(self, window: _Window) -> bool:
        return window.seen >= self._adaptation.window

    def _is_due(self, window: _Window, since: float, now: float) -> bool:
        return self._is_full(window) and now >= since + self._adaptation.dwell_s  # as `ready_at` has it
