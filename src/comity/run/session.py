"""A federation that lives in this process, for programs that push events and take what comes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any

from comity.engine import LiveEngine
from comity.engine.live import PlanChange
from comity.engine.outcome import Outcome
from comity.errors import Misuse
from comity.federation import Federation
from comity.federation.files import with_profiles
from comity.plan import Plan
from comity.plan.compile import PlanCompiler
from comity.plan.period import read_instant
from comity.profile.profile import Profile
from comity.run.sources import Given
from comity.run.stored import pushed


class LiveSession:
    """What `comity.open` gives. An event that does not fit is an outcome, too: `Rejected`, with its reasons.

    It is for one thread at a time, has no clock, and sends nothing: time is what it is told, and outcomes are for the
    one who pushes. Its end decides nothing; `finish` does, where nothing more will come.
    """

    def __init__(
        self, engine: LiveEngine, federation: Federation | None = None, compiler: PlanCompiler | None = None
    ) -> None:
        self.engine = engine
        self._compiler = compiler or PlanCompiler()
        self.federation = federation
        """The federation as it is now; None when the session was opened with a plan."""
        self._is_open = True

    # Events and time

    def push(self, *records: Given, now: datetime | str | None = None) -> list[Outcome]:
        """What comes of events, each an `Event`, a dict of CloudEvents, or JSON; together, none makes another late."""
        return self._engine.push_all(pushed(records), _instant(now))

    def push_all(self, records: Iterable[Given], now: datetime | str | None = None) -> list[Outcome]:
        """The same for many."""
        return self._engine.push_all(pushed(records), _instant(now))

    def advance(self, now: datetime | str) -> list[Outcome]:
        """What is decided because a time has come."""
        instant = _instant(now)
        assert instant is not None
        return self._engine.advance(instant)

    def finish(self) -> list[Outcome]:
        """What closes when nothing more comes."""
        return self._engine.finish()

    # Profiles

    def add(self, profiles: Mapping[str, Any] | Iterable[Profile]) -> PlanChange:
        """Take up profiles, as a federation says them; one that there is changes. All of them, or none."""
        return self._change(added=profiles)

    def remove(self, *names: str) -> PlanChange:
        """Go on without some profiles."""
        return self._change(removed=names)

    def change(self, federation: Federation | Plan) -> PlanChange:
        """Go on with another federation, or plan. What stays keeps what it remembers."""
        engine = self._engine
        self.federation = federation if isinstance(federation, Federation) else None
        return engine.change(self._compiler.compile(federation) if isinstance(federation, Federation) else federation)

    def _change(self, added: Mapping[str, Any] | Iterable[Profile] = (), removed: Iterable[str] = ()) -> PlanChange:
        if self.federation is None:
            hint = "open the federation, or `change` to another plan"
            raise Misuse("a plan has no profiles to add to", code="bad-usage", hint=hint)
        return self.change(with_profiles(self.federation, added, removed))

    # State

    def snapshot(self) -> bytes:
        """Everything that `comity.open(…, snapshot=…)` needs to go on from here."""
        return self._engine.snapshot()

    def close(self) -> None:
        """End it; it takes nothing more."""
        self._is_open = False

    def __enter__(self) -> LiveSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _engine(self) -> LiveEngine:
        if not self._is_open:
            raise Misuse("the session is closed", code="session-closed", hint="open another one, with its snapshot")
        return self.engine


def _instant(given: datetime | str | None) -> datetime | None:
    return read_instant(given) if isinstance(given, str) else given
