"""What was delivered, so that an event reaches a profile once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from comity.engine.outcome import Notification

_HOUR_S = 3_600
_Key = tuple[str, str, str]


class Remembers(Protocol):
    """Remembers notifications."""

    def is_new(self, notification: Notification) -> bool:
        """Whether it was not delivered yet; from now on it was."""


class RememberedInMemory:
    """The identities of notifications in memory, forgotten by the hour of their events.

    >>> from datetime import UTC
    >>> from comity.event.event import Event
    >>> fire = Notification("police", "fires", Event("1", "/a", "house.Fire", datetime(2026, 1, 1, tzinfo=UTC)))
    >>> remembered = RememberedInMemory()
    >>> remembered.is_new(fire), remembered.is_new(fire)
    (True, False)
    >>> remembered.forget_before(datetime(2026, 1, 2, tzinfo=UTC))
    >>> remembered.is_new(fire)
    True
    """

    def __init__(self) -> None:
        self._known: set[_Key] = set()
        self._by_hour: dict[int, list[_Key]] = {}
        """The same by the hour of the event, so that nothing has to be searched to be forgotten."""

    def __len__(self) -> int:
        return len(self._known)

    def is_new(self, notification: Notification) -> bool:
        """Whether it was not delivered yet; from now on it was."""
        key = notification.key
        if key in self._known:
            return False
        self._known.add(key)
        assert notification.event.time is not None, "events without a time are rejected"
        self._by_hour.setdefault(_hour(notification.event.time), []).append(key)
        return True

    def forget_before(self, earliest: datetime) -> None:
        """Forget what is of an hour before that of a time; such events must not come any more."""
        for hour in [hour for hour in self._by_hour if hour < _hour(earliest)]:
            self._known.difference_update(self._by_hour.pop(hour))

    def save(self) -> dict[int, list[_Key]]:
        """What `restore` takes."""
        return self._by_hour

    def restore(self, saved: Iterable[tuple[int, list[_Key]]]) -> None:
        """Remember what was saved."""
        self._by_hour = {hour: list(keys) for hour, keys in saved}
        self._known = {key for keys in self._by_hour.values() for key in keys}


def _hour(moment: datetime) -> int:
    return int(moment.timestamp() // _HOUR_S)
