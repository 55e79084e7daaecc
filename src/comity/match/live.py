"""An index that changes while it matches.

Most profiles stand in a large part that never changes, later ones in a small part, and the latest in a tiny one that
is built again with every addition. A removed profile is made unmatchable where it stands. Readers take the parts as
they find them; nothing waits for them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future

import numpy as np
import pyarrow as pa

from comity.errors import Misuse
from comity.event.types import AttributeType
from comity.expression.evaluate import Record
from comity.expression.tree import Expression
from comity.match.channels import Path
from comity.match.index import Matches, ProfileIndex
from comity.match.kernels.results import join
from comity.match.rebuild import build_elsewhere

MAX_LATEST = 64
"""Profiles of the tiny part from which on they move to the small one."""
MAX_RECENT_SHARE = 0.05
"""The share of all profiles that the small part should not exceed; then it is time to compact."""


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
    ) -> None:
        self._attributes = attributes
        self._sample = sample
        self._profiles = dict(enumerate(profiles))
        self._next = len(self._profiles)
        self._recent_from = self._latest_from = self._next
        """Profiles below the first stand in the large part, those from the second on in the tiny one."""
        self._lock = threading.RLock()
        self._merging: threading.Thread | None = None
        nothing = self._built([])
        self._parts = (self._built(list(self._profiles)), nothing, nothing)

    def __len__(self) -> int:
        return len(self._profiles)

    @property
    def wants_compaction(self) -> bool:
        """Whether matching would gain from `compact`."""
        return self._next - self._recent_from > max(MAX_LATEST, MAX_RECENT_SHARE * len(self._profiles))

    # Matching

    def match(self, batch: pa.RecordBatch) -> Matches:
        """The profiles that match each event of a batch, as they are when the call begins."""
        found = [part.match(batch) for part in self._parts if part.postings.record_count]
        if not found:
            return Matches(np.zeros(batch.num_rows + 1, np.int64), np.zeros(0, np.int32))
        whole = found[0]
        for more in found[1:]:
            whole = joined(whole, more)
        return whole

    def match_one(self, record: Record) -> list[int]:
        """The profiles that match one event."""
        return [number for part in self._parts if part.postings.record_count for number in part.match_one(record)]

    # Changing

    def add(self, profile: Expression) -> int:
        """Adds a bound filter; calls of `match` that begin after this one see it. Gives its number."""
        return self.add_all([profile])[0]

    def add_all(self, profiles: Iterable[Expression]) -> list[int]:
        """Adds several at once, which is faster than one by one. Gives their numbers."""
        with self._lock:
            first = self._next
            for profile in profiles:
                self._profiles[self._next] = profile
                self._next += 1
            self._rebuild_latest()
            if self._next - self._latest_from > MAX_LATEST and self._merging is None:
                self._merging = threading.Thread(target=self._merge_latest, name="comity-match-merge", daemon=True)
                self._merging.start()
            return list(range(first, self._next))

    def remove(self, number: int) -> None:
        """Removes a profile; calls of `match` that begin after this one do not see it."""
        with self._lock:
            if self._profiles.pop(number, None) is None:
                raise Misuse(f"there is no profile {number}", code="unknown-profile")
            if number >= self._latest_from:
                self._rebuild_latest()
            else:
                self._parts[number >= self._recent_from].remove([number])

    def compact(self) -> None:
        """Builds the large part again from all profiles, in the time of the caller; matching goes on."""
        with self._lock:
            numbers, until = list(self._profiles), self._next
        self._replace_main(self._built(numbers), numbers, until)

    def compact_in_background(self) -> Future[None]:
        """The same in another process, so that matching does not even slow down; the result says when it is done."""
        with self._lock:
            numbers, until = list(self._profiles), self._next
            profiles = [self._profiles[number] for number in numbers]
        done: Future[None] = Future()

        def run() -> None:
            try:
                part = build_elsewhere(profiles, self._attributes, self._sample, numbers)
                self._replace_main(part, numbers, until)
                done.set_result(None)
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=run, name="comity-match-compact", daemon=True).start()
        return done

    def _replace_main(self, part: ProfileIndex, numbers: list[int], until: int) -> None:
        with self._lock:
            part.remove([number for number in numbers if number not in self._profiles])
            self._recent_from = self._latest_from = until
            nothing = self._built([])
            self._parts = (part, nothing, nothing)
            self._rebuild_latest()

    def _merge_latest(self) -> None:
        """Moves the latest profiles into the small part."""
        with self._lock:
            begin, until = self._recent_from, self._next
            numbers = [number for number in range(begin, until) if number in self._profiles]
        part = self._built(numbers)
        with self._lock:
            self._merging = None
            if begin != self._recent_from:  # compacted in the meantime
                return
            part.remove([number for number in numbers if number not in self._profiles])
            self._latest_from = until
            self._parts = (self._parts[0], part, self._parts[2])
            self._rebuild_latest()

    def _rebuild_latest(self) -> None:
        latest = self._built([number for number in range(self._latest_from, self._next) if number in self._profiles])
        self._parts = (*self._parts[:2], latest)

    def _built(self, numbers: list[int]) -> ProfileIndex:
        profiles = [found for number in numbers if (found := self._profiles.get(number)) is not None]
        kept = [number for number in numbers if number in self._profiles] if len(profiles) < len(numbers) else numbers
        sample = (
            self._sample if len(profiles) > MAX_LATEST else None
        )  # ranking the sample would take longer than the rest
        index = ProfileIndex.build(profiles, self._attributes, sample, ids=kept)
        index.prepare_removal()
        return index


def joined(one: Matches, other: Matches) -> Matches:
    """The matches of both, event by event."""
    if len(other.ids) == 0:
        return one
    offsets, ids = one.offsets + other.offsets, np.empty(len(one.ids) + len(other.ids), np.int32)
    join(one.offsets, one.ids, other.offsets, other.ids, ids)
    return Matches(offsets, ids)
