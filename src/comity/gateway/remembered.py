"""Which messages were taken: one that comes again has no effect again, and an old one cannot be played back."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from comity.errors import Misuse
from comity.limits import limits


class TakenMessages(Struct, frozen=True):
    """By domain and id, until when a message is good. What expired is refused by its time, and need not be known."""

    until: dict[str, dict[str, datetime]] = {}

    def knows(self, domain: str, id: str) -> bool:
        """Whether the message was taken."""
        return id in self.until.get(domain, {})

    def with_message(self, domain: str, id: str, expires: datetime, now: datetime) -> TakenMessages:
        """With one more. Raises `Misuse` if its domain sent too many, so that none has to be forgotten too early."""
        kept = {one: until for one, until in self.until.get(domain, {}).items() if until > now}
        if len(kept) >= limits().max_remembered_messages:
            reason = f"{domain} sent more than {limits().max_remembered_messages:,} messages that are still good"
            raise Misuse(reason, code="too-many-messages", hint="let them expire, or send some with an earlier end")
        return TakenMessages({**self.until, domain: {**kept, id: expires}})
