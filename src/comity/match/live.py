"""An index that changes while it matches.

Most profiles stand in a large part that never changes, later ones in a small part, and the latest in a tiny one that
is built again with every addition. A removed profile is made unmatchable where it stands. Readers take the parts as
they find them; nothing waits for them. A profile is read once (`reading.py`), however often parts are built, and both
rest while matching goes on (`pace.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from math import isqrt
from time import monotonic

import numpy as np
import pyarrow as pa

from comity.errors import Misuse
from comity.event.scan.lanes import LaneGroup
from comity.event.types import AttributeType
from comity.expression.evaluate import AttributeReader
from comity.expression.tree import Expression
from comity.match.channels import Ints, Path
from comity.match.index import Matches, ProfileIndex
from comity.match.kernels.results import join
from comity.match.pace import MatchingPace, Rest, no_rest
from comity.match.reading import Flags, ReadProfiles
from comity.match.rebuild import Ingredients, build

MAX_LATEST = 64
"""Profiles of the tiny part from which on they move to the small one, if they come one by one."""
MAX_CHANGED_SHARE = 0.5
"""Changes, as a share of all profiles, from which on it is time to compact."""


class LiveIndex:
    """Profiles that come and go; each has a number that is never used again.

    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.scope import Scope
    >>> index = LiveIndex([bind_text("heat > 40", Scope())])
    >>> attic = index.add(bind_text("room = 'attic'", Scope()))
    >>> event = {("heat",): 50, ("room",): "attic"}
    >>> sorted(index.match_one(event))
    [0, 1]
    >>> index.remove(0)
    >>> index.match_one(event)
    [1]
    """

    def __init__(
        self,
        profiles: Iterable[Expression] = (),
        attributes: Mapping[Path, AttributeType] | None = None,
        sample: pa.RecordBatch | None = None,
        *,
        is_shared: bool = True,
    ) -> None:
        self._is_shared = is_shared
        """Whether other threads match while one changes; then changes leave them most of the time."""
        self._attributes = attributes
        self._sample = sample
        self._reading = ReadProfiles(attributes)
        self._alive = bytearray()
        """Whether each number has a profile."""
        self._count = self._removed = 0
        """Profiles, and those that were removed since the large part was built."""
        self._recent_from = self._latest_from = 0
        """Profiles below the first stand in the large part, those from the second on in the tiny one."""
        self._writing = threading.RLock()
        """Who holds it may change what was read; readers and `remove` do without it."""
        self._lock = threading.Lock()
        """Who holds it may change which profiles there are, and the parts."""
        self._merging: threading.Thread | None = None
        self._compacting: threading.Thread | None = None
        self._matched_at = -1.0
        self._parts = (_nothing(), _nothing(), _nothing())
        self._shown: tuple[ProfileIndex, ...] = ()
        """The parts that have profiles."""
        self._read(list(profiles), no_rest)
        self.compact()

    def __len__(self) -> int:
        return self._count

    @property
    def wants_compaction(self) -> bool:
        """Whether so much has come and gone since the last `compact` that another one costs each change little."""
        return len(self._alive) - self._recent_from + self._removed > max(MAX_LATEST, MAX_CHANGED_SHARE * self._count)

    # Matching

    def match(self, batch: pa.RecordBatch) -> Matches:
        """The profiles that match each event of a batch, as they are when the call begins."""
        return self._match(lambda part: part.match(batch), batch.num_rows)

    def match_lanes(self, group: LaneGroup) -> Matches:
        """The same for events that were just scanned."""
        return self._match(lambda part: part.match_lanes(group), len(group.rows))

    def _match(self, match: Callable[[ProfileIndex], Matches], events: int) -> Matches:
        self._matched_at = monotonic()
        found = [match(part) for part in self._shown]
        self._matched_at = monotonic()
        if not found:
            return Matches(np.zeros(events + 1, np.int64), np.zeros(0, np.int32))
        whole = found[0]
        for more in found[1:]:
            whole = joined(whole, more)
        return whole

    def match_one(self, record: AttributeReader) -> list[int]:
        """The profiles that match one event."""
        self._matched_at = monotonic()
        shown = self._shown
        found = shown[0].match_one(record) if shown else []
        for part in shown[1:]:
            found += part.match_one(record)
        return found

    def ids_of(self, record: AttributeReader) -> Ints:
        """The same as an array, which is faster when many of them match."""
        self._matched_at = monotonic()
        found = [part.ids_of(record) for part in self._shown]
        return found[0] if len(found) == 1 else np.concatenate([_NONE, *found])

    # Changing

    def add(self, profile: Expression) -> int:
        """Adds a bound filter; calls of `match` that begin after this one see it. Gives its number."""
        return self.add_all([profile])[0]

    def add_all(self, profiles: Iterable[Expression]) -> list[int]:
        """Adds several at once, which is faster than one by one. Gives their numbers.

        When the call returns, all of them are seen by calls of `match` that begin after it, and none of them before.
        While another thread matches, the call takes its time: it works a ninth of it.
        """
        pace = self._pace()
        with self._writing:
            added = self._read(list(profiles), pace)
            most = self._most_latest(len(added))
            if len(self._alive) - self._latest_from <= most or len(added) == 1:
                self._show_latest(pace)
            else:
                self._show_recent(pace)
            if len(self._alive) - self._latest_from > most and self._merging is None:
                self._merging = threading.Thread(target=self._merge_latest, name="comity-match-merge", daemon=True)
                self._merging.start()
            return list(added)

    def remove(self, number: int) -> None:
        """Removes a profile; calls of `match` that begin after this one do not see it."""
        with self._lock:
            if not 0 <= number < len(self._alive) or not self._alive[number]:
                raise Misuse(f"there is no profile {number}", code="unknown-profile")
            self._alive[number] = 0
            self._count -= 1
            self._removed += 1
            self._parts[(number >= self._recent_from) + (number >= self._latest_from)].remove([number])

    def compact(self) -> None:
        """Builds the large part again from all profiles, in the time of the caller; matching goes on."""
        self._compact(self._pace())

    def compact_beside(self) -> threading.Thread:
        """The same in a thread of its own, which it gives; if one is at it already, that one."""
        if self._compacting is None or not self._compacting.is_alive():
            work = (self._pace_beside(),)
            self._compacting = threading.Thread(
                target=self._compact, args=work, name="comity-match-compact", daemon=True
            )
            self._compacting.start()
        return self._compacting

    def _compact(self, rest: Rest) -> None:
        ingredients, alive = self._from(0)
        self._replace_main(build(ingredients, rest), alive)

    # Building

    def _most_latest(self, added: int) -> int:
        """Profiles of the tiny part from which on they move to the small one, when so many come at once.

        The tiny part is built with every addition, the small one each time that it takes in the tiny one: with this
        size both cost the same, and a profile is built again as seldom as can be.
        """
        return max(MAX_LATEST, isqrt(added * (self._latest_from - self._recent_from)))

    def _read(self, profiles: list[Expression], rest: Rest) -> range:
        """Reads profiles, which no part shows yet."""
        first = len(self._alive)
        self._alive.extend(bytes(len(profiles)))  # without profiles, should one of them be unreadable
        self._reading.read(profiles, first, rest)
        with self._lock:
            self._alive[first:] = b"\1" * len(profiles)
            self._count += len(profiles)
        return range(first, len(self._alive))

    def _from(self, first: int) -> tuple[Ingredients, Flags]:
        """What the part of all profiles from a number on is built from, and which numbers had profiles then."""
        with self._writing:
            alive = np.frombuffer(bytes(self._alive), np.bool_)
            rows = self._reading.rows(first, len(alive)).of(alive)
            # Ranking the sample takes longer than building a tiny part.
            sample = self._sample if len(rows.profile) > MAX_LATEST else None
            channels, tests = list(self._reading.channels), self._reading.tests
            return Ingredients(rows, channels, tests, self._attributes, sample), alive

    def _show_latest(self, rest: Rest) -> None:
        ingredients, alive = self._from(self._latest_from)
        latest = build(ingredients, rest)
        self._show((*self._parts[:2], latest), alive, self._recent_from, self._latest_from)

    def _show_recent(self, rest: Rest) -> None:
        """Builds the small part with the latest profiles in it."""
        ingredients, alive = self._from(self._recent_from)
        recent = build(ingredients, rest)
        self._show((self._parts[0], recent, _nothing()), alive, self._recent_from, len(alive))

    def _merge_latest(self) -> None:
        """Moves the latest profiles into the small part."""
        with self._writing:
            ingredients, alive = self._from(self._recent_from)
            begin, replaced = self._recent_from, self._parts[1]
        recent = build(ingredients, self._pace_beside())
        with self._writing:
            self._merging = None
            if self._parts[1] is replaced and self._recent_from == begin:  # else somebody else was faster
                later, _ = self._from(len(alive))
                self._show((self._parts[0], recent, build(later)), alive, begin, len(alive))

    def _replace_main(self, main: ProfileIndex, alive: Flags) -> None:
        """Shows a large part that was built when these numbers had profiles, and what came later beside it."""
        with self._writing:
            later, _ = self._from(len(alive))
            self._show((main, build(later), _nothing()), alive, len(alive), len(self._alive))
            with self._lock:
                now = np.frombuffer(bytes(self._alive), np.bool_)[: len(alive)]
                self._removed = int(np.count_nonzero(alive & ~now))
            kept = np.frombuffer(bytes(self._alive), np.bool_)
            if 2 * len(self._reading.rows(0, len(kept)).of(kept).profile) < len(self._reading):
                self._reading.forget(kept)

    def _show(
        self, parts: tuple[ProfileIndex, ProfileIndex, ProfileIndex], alive: Flags, recent_from: int, latest_from: int
    ) -> None:
        """Puts parts in place of those that are there, without what was removed since they were begun."""
        with self._lock:
            now = np.frombuffer(bytes(self._alive), np.bool_)[: len(alive)]
            gone = np.flatnonzero(alive & ~now).tolist()
            for part in parts:
                part.remove(gone)
            self._recent_from, self._latest_from = recent_from, latest_from
            self._parts = parts
            self._shown = tuple(part for part in parts if part.postings.record_count)

    def _pace(self) -> Rest:
        """For work in the thread of the caller."""
        return self._pace_beside() if self._is_shared else no_rest

    def _pace_beside(self) -> Rest:
        """For work in a thread of its own."""
        return MatchingPace(lambda: self._matched_at)


_NONE = np.zeros(0, np.int32)


def _nothing() -> ProfileIndex:
    return ProfileIndex.build([])


def joined(one: Matches, other: Matches) -> Matches:
    """The matches of both, event by event."""
    if len(other.ids) == 0:
        return one
    offsets, ids = one.offsets + other.offsets, np.empty(len(one.ids) + len(other.ids), np.int32)
    join(one.offsets, one.ids, other.offsets, other.ids, ids)
    return Matches(offsets, ids)
