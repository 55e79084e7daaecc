"""The index over many profiles: which of them match each event of an Arrow batch, or one event."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.event.kinds import Kind
from comity.event.scan.lanes import LaneGroup
from comity.event.types import AttributeType
from comity.expression.evaluate import AttributeReader
from comity.expression.tree import Expression
from comity.match.buckets import NEVER
from comity.match.channels import Ints, Path
from comity.match.columns import column_at
from comity.match.finish import finish, targets_of
from comity.match.kernels.arrays import ONCE, Conditions, Postings
from comity.match.lanes import rank_lanes
from comity.match.pace import Rest, no_rest
from comity.match.postings import build_postings
from comity.match.predicates import Predicates, kept, read_predicates
from comity.match.ranks import Ranking
from comity.match.residual import BatchRows, Tests, declared_kind
from comity.match.selectivity import Sample
from comity.match.single import SingleEvents, SingleWays
from comity.match.workspace import Workspace

_TIMES = (Kind.TIMESTAMP, Kind.DURATION)


class Matches(NamedTuple):
    """The profiles of event e are `ids[offsets[e]:offsets[e + 1]]`, each once, in no particular order."""

    offsets: npt.NDArray[np.int64]
    ids: Ints

    def of(self, event: int) -> list[int]:
        """The profiles of one event, in ascending order."""
        found: list[int] = np.sort(self.ids[self.offsets[event] : self.offsets[event + 1]]).tolist()
        return found


@dataclass(slots=True)
class ProfileIndex:
    """Many bound filters, ready to be matched; a profile is named by its position, or by the id given for it.

    The columns of a batch are named by the dotted paths of attributes (`heat`, `device.serial`, `event.type`); a null
    is a missing value.

    >>> from comity.expression.bind import bind_text
    >>> from comity.expression.scope import Scope
    >>> texts = ["heat > 40", "heat > 20 and room = 'attic'", "not exists heat or room ends with 'ic'"]
    >>> index = ProfileIndex.build([bind_text(text, Scope()) for text in texts])
    >>> batch = pa.RecordBatch.from_pydict({"heat": [50.0, 30.0, None], "room": ["cellar", "attic", None]})
    >>> matches = index.match(batch)
    >>> [matches.of(event) for event in range(3)]
    [[0], [1, 2], [2]]
    """

    rankings: list[Ranking]
    postings: Postings
    conditions: Conditions
    tests: Tests
    declared: Mapping[Path, AttributeType] = field(default_factory=dict)
    _places: tuple[Ints, Ints] | None = None
    match_one: Callable[[AttributeReader], list[int]] = field(init=False, repr=False, compare=False)
    """Gives the profiles that match one event, in no particular order; the way for a broker, without Arrow."""
    ids_of: Callable[[AttributeReader], Ints] = field(init=False, repr=False, compare=False)
    """Gives the same as an array, which is faster when many of them match."""
    _local: threading.local = field(default_factory=threading.local)

    @classmethod
    def build(
        cls,
        profiles: Sequence[Expression],
        attributes: Mapping[Path, AttributeType] | None = None,
        sample: pa.RecordBatch | None = None,
        *,
        ids: Sequence[int] | Ints | None = None,
    ) -> ProfileIndex:
        """The index over bound filters.

        `attributes` declares the kinds of attributes that have one (the envelope's are known). A `sample` of events
        makes matching faster, never different. `ids` are the numbers to report, not below zero, instead of the
        positions.
        """
        numbers = None if ids is None else np.asarray(ids, np.int32)
        return cls.over(read_predicates(profiles, attributes), attributes, sample, ids=numbers)

    @classmethod
    def over(
        cls,
        table: Predicates,
        attributes: Mapping[Path, AttributeType] | None = None,
        sample: pa.RecordBatch | None = None,
        *,
        ids: Ints | None = None,
        rest: Rest = no_rest,
    ) -> ProfileIndex:
        """The index over a table of predicates; the work rests between its steps."""
        rankings: list[Ranking] = []
        for layout in table.layouts:
            rankings.append(Ranking(layout))
            rest()
        first, targets, conditions = targets_of(table, ids)
        rest()
        table = kept(table, first == np.arange(len(first)))
        ranks = None if sample is None else rank_batch(rankings, sample, attributes or {})
        rest()
        postings = build_postings(table, targets, Sample([ranking.size for ranking in rankings], ranks), rest)
        return cls(rankings, postings, conditions, Tests(table.tests), attributes or {})

    @property
    def nbytes(self) -> int:
        """The size of the index, in bytes, without the tests."""
        rankings = sum(ranking.nbytes for ranking in self.rankings)
        return self.postings.nbytes + self.conditions.nbytes + rankings

    def match(self, batch: pa.RecordBatch) -> Matches:
        """The profiles that match each event of a batch."""
        return self.match_ranks(rank_batch(self.rankings, batch, self.declared), lambda: batch)

    def match_lanes(self, group: LaneGroup) -> Matches:
        """The same for events that were just scanned; nothing is declared of their attributes."""
        return self.match_ranks(rank_lanes(self.rankings, group), group.batch)

    def match_ranks(self, ranks: Ints, batch: Callable[[], pa.RecordBatch]) -> Matches:
        """The same for events whose ranks are known; of most no columns are needed then."""
        offsets, targets = self._workspace().match(self.postings, ranks)
        rows: list[BatchRows] = []

        def batch_rows() -> BatchRows:
            if not rows:
                rows.append(BatchRows(batch(), self.declared))
            return rows[0]

        return Matches(*finish(offsets, targets, self.conditions, self.tests, batch_rows))

    def remove(self, ids: Sequence[int]) -> None:
        """Makes profiles match nothing from now on; matches that are running may still report them."""
        if not len(ids):
            return
        owners, places = self._places or self.prepare_removal()
        for number in ids:
            begin, end = np.searchsorted(owners, np.array([number, number + 1], np.int32))
            own = places[begin:end]
            self.postings.atoms0[own[own >= 0]] = NEVER
            self._remove_members(-1 - own[own < 0])

    def _remove_members(self, members: Ints) -> None:
        """Marks their entries before anything is missing there."""
        conditions = self.conditions
        entries = np.searchsorted(conditions.member_start, members, "right") - 1
        conditions.kind[entries] = np.maximum(conditions.kind[entries], ONCE)
        conditions.profile[members] = -1

    def prepare_removal(self) -> tuple[Ints, Ints]:
        """Finds out where each profile stands, so that the first removal is as fast as the others.

        That is in records, and below zero among the members of an entry; an entry of one takes its records along.
        """
        target, conditions = self.postings.target[: self.postings.record_count], self.conditions
        records, entry = np.flatnonzero(target >= 0), -1 - target
        is_single = np.diff(conditions.member_start) == 1
        single = np.flatnonzero(target < 0)
        single = single[is_single[entry[single]]]
        owner = [target[records], conditions.profile[conditions.member_start[entry[single]]], conditions.profile]
        places = np.concatenate([records, single, -1 - np.arange(len(conditions.profile))]).astype(np.int32)
        owners = np.concatenate(owner)
        order = np.argsort(owners, kind="stable")
        self._places = owners[order], places[order]
        return self._places

    def _workspace(self) -> Workspace:
        found: Workspace | None = getattr(self._local, "workspace", None)
        if found is None:
            found = self._local.workspace = Workspace(len(self.rankings))
        return found

    def __getattr__(self, name: str) -> Any:
        """The functions for single events, which are made when they are first asked for, and are there from then on."""
        if name not in SingleWays._fields:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        single = SingleEvents(self.rankings, self.postings, self.conditions, self.tests)
        self.match_one, self.ids_of = single.ways()
        return getattr(self, name)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.rankings, self.postings, self.conditions, self.tests, self.declared

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)  # type: ignore[misc]


def rank_batch(rankings: list[Ranking], batch: pa.RecordBatch, declared: Mapping[Path, AttributeType]) -> Ints:
    """The ranks of a batch, by channel, then event."""
    ranks = np.empty((len(rankings), batch.num_rows), np.int32)
    for ranking, out in zip(rankings, ranks, strict=True):
        if not ranking.path:
            ranking.of_column(None, out)
            continue
        is_time = declared_kind(ranking.path, declared) in _TIMES
        ranking.of_column(column_at(batch, ranking.path), out, is_time)
    return ranks
