"""Many profiles over events, without a federation: in this process or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from comity.event.files import read_events
from comity.event.formats.jsonlines import Rejected
from comity.match.match import Matcher, bind_profiles
from comity.run.ending import on_spark
from comity.run.observer import Observer
from comity.run.request import HERE, SparkOptions
from comity.run.sources import check_here, files_for_spark
from comity.run.spark import start_spark

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.profile.profile import Profile


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """Profiles, and the events that they are evaluated over."""

    profiles: list[Profile]
    events: str
    taxonomy: Taxonomy | None
    spark: SparkOptions = HERE


class EngineMatches(Protocol):
    """What an engine finds. Rejected records are handed on as they come; all of them when the last pair was taken."""

    @property
    def events(self) -> int:
        """Events that were evaluated by now, without the rejected records."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name of a profile and id of an event that it matches."""


class MatchingHere:
    """Matching in this process."""

    def __init__(self, request: MatchRequest, on_rejected: Callable[[Mapping[str, Any]], None]) -> None:
        check_here(request.events)
        self.events = 0
        self._on_rejected = on_rejected
        self._matcher = Matcher(request.profiles, request.taxonomy)
        self._records = read_events(request.events, request.taxonomy)

    def pairs(self) -> Iterator[tuple[str, str]]:
        match = self._matcher.match
        for record in self._records:
            if isinstance(record, Rejected):
                self._on_rejected(record.as_dict())
                continue
            self.events += 1
            for name in match(record):
                yield name, record.id


class MatchingOnSpark:
    """Matching on Spark, which has done all of it when the first pair comes."""

    def __init__(
        self, request: MatchRequest, on_rejected: Callable[[Mapping[str, Any]], None], observer: Observer
    ) -> None:
        from comity.pipeline.match import match_on_spark

        files = files_for_spark(request.events)
        bound = bind_profiles(request.profiles, request.taxonomy)
        self._spark = start_spark(request.spark, observer, files=files)
        self._matches = on_spark(self._spark, lambda: match_on_spark(bound, files.paths, request.taxonomy, self._spark))
        self._on_rejected = on_rejected

    @property
    def events(self) -> int:
        return self._matches.events

    def pairs(self) -> Iterator[tuple[str, str]]:
        pairs = self._matches.pairs()
        first = on_spark(self._spark, lambda: next(pairs, None))
        yield from () if first is None else chain([first], pairs)
        for record in self._matches.rejected:
            self._on_rejected(record)
