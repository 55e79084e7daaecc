"""The times that events may have: an event from the future is a mistake of some clock.

So is one that is decades old, on a stream, which has to remember what it delivered for as long as such an event may
come again. Stored events may be of any age.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, encode, rejected
from comity.event.times import format_timestamp
from comity.event.validate import Fault
from comity.limits import limits

_HOUR = timedelta(hours=1)
_DAYS_OF_ALL_YEARS = datetime.max.toordinal()


@dataclass(frozen=True, slots=True)
class Window:
    """From the earliest to the latest time that is believed, both included.

    >>> window = Window.around(datetime(2026, 1, 1, tzinfo=UTC))
    >>> window.fault(Event("1", "/a", "T", time=datetime(1970, 1, 1, tzinfo=UTC))).code
    'too-old'
    """

    earliest: datetime
    latest: datetime

    @classmethod
    def around(cls, now: datetime) -> Window:
        """What a stream takes: the limits `max_age_days` and `max_future_s`.

        In whole hours, so that runs have it in common.
        """
        return cls.within(now, _days(limits().max_age_days))

    @classmethod
    def of_history(cls, now: datetime) -> Window:
        """What a run over stored events takes: the limits `max_history_days` and `max_future_s`."""
        return cls.within(now, _days(limits().max_history_days))

    @classmethod
    def within(cls, now: datetime, age: timedelta) -> Window:
        """What is not older than an age, and not too far in the future."""
        now = now.replace(minute=0, second=0, microsecond=0)
        ahead = timedelta(seconds=limits().max_future_s) + _HOUR
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        return cls(now - age if now - first > age else first, now + ahead if last - now > ahead else last)

    def fault(self, event: Event) -> Fault | None:
        """Why the event's time is not believed; None if it is, or if it has none."""
        if event.time is None or self.earliest <= event.time <= self.latest:
            return None
        value = format_timestamp(event.time)
        if event.time < self.earliest:
            return Fault("event.time", value, f"is before {format_timestamp(self.earliest)}", "too-old")
        return Fault("event.time", value, f"is after {format_timestamp(self.latest)}", "from-the-future")

    def check(self, event: Event | Rejected) -> Event | Rejected:
        """The event, or its rejection; whoever reads it from a file lets `decode` check it, which knows the place."""
        found = self.fault(event) if isinstance(event, Event) else None
        if found is None or isinstance(event, Rejected):
            return event
        return rejected(encode(event), [found], None, None)


def _days(count: int) -> timedelta:
    return timedelta(days=min(count, _DAYS_OF_ALL_YEARS))
