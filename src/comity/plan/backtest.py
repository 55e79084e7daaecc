"""What one profile would have sent over stored events: the plan for it, and the report of what came out."""

from __future__ import annotations

import json
from bisect import insort
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

from comity.errors import Misuse
from comity.event.reasons import ReasonCounts
from comity.event.times import format_timestamp, parse_duration, parse_timestamp
from comity.plan.explain import explain
from comity.plan.period import Period, route_during
from comity.plan.stages import Plan, Route

_STEPS_S = (1, 10, 60, 600, 3_600, 21_600, 86_400, 604_800, 2_419_200)
"""Lengths of buckets to choose from; each divides the next, so that buckets can be joined."""
_MOST_BUCKETS = 2_000
_EXAMPLES = 3
_DAY, _SHORTEST = timedelta(days=1), timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BLOCKS = " ▁▂▃▄▅▆▇█"
_LINES = 5


def read_bucket(text: str) -> int:
    """The seconds of a bucket.

    >>> read_bucket("1h"), read_bucket("15 min")
    (3600, 900)
    """
    found = parse_duration(text)
    if found is None or found < timedelta(seconds=1) or found % timedelta(seconds=1):
        hint = "write whole seconds or more: 30 s, 15 min, 1 h, 1 d"
        raise Misuse(f"{text[:60]!r} is no length of an interval", code="bad-duration", hint=hint)
    return found // timedelta(seconds=1)


def backtest_plan(plan: Plan, profile: str, period: Period) -> Plan:
    """The plan for one profile and one period. Each way has a name of its own (`way_name`), to be told apart after.

    Of a composite profile the ways lead to its operands, whose names stay.
    """
    found = explain(plan, profile)  # raises what there is to say about a profile that has no route
    planned = plan.pattern(profile)
    if planned is None:
        routes = tuple(_on_way(route, number, profile) for number, route in enumerate(found.routes))
    else:
        routes = found.routes
    patterns = () if planned is None else (planned,)
    narrowed = tuple(route_during(route, period) for route in routes)
    return replace(plan, routes=narrowed, patterns=patterns, seen=(period.since, period.until))


def _on_way(route: Route, number: int, profile: str) -> Route:
    own = [replace(one, profile=way_name(profile, number)) for one in route.deliveries]
    return replace(route, deliveries=tuple(own))


def way_name(profile: str, number: int) -> str:
    """What a profile is called on one way; no profile can have such a name."""
    return f"{profile}@{number}"


@dataclass(slots=True)
class Tally:
    """Takes the notifications of a backtest, as lines; gives them back under the profile's own name, each once.

    Those of a composite profile are reports, which come on no way of their own.
    """

    plan: Plan
    """The one that `backtest_plan` made."""
    profile: str
    bucket_s: int | None = None
    """None chooses one that fits."""
    until: datetime | None = None
    """Reports of a composite profile from then on are left out: the events that could speak against them are."""
    sent: int = 0
    by_way: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    buckets: Counter[int] = field(default_factory=Counter)
    _earliest: list[tuple[datetime, str, str, dict[str, Any]]] = field(default_factory=list)
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _step: int = 0
    _ways_cross: bool = field(init=False)
    """Whether an event can come on two ways: if not, there is no need to remember any."""

    def __post_init__(self) -> None:
        self._ways_cross = len({route.source.qualified_name for route in self.plan.routes}) < len(self.plan.routes)

    def take(self, line: bytes) -> bytes | None:
        """Count a notification; gives the line as the profile would send it, None if another way has sent it."""
        record = json.loads(line)
        if self.plan.patterns:
            return self._take_report(line, record)
        way = record["profile"]
        self.by_way[way] += 1
        if self._ways_cross:
            identity = record["source"], record["id"]
            if identity in self._seen:
                return None
            self._seen.add(identity)
        record["profile"] = self.profile
        self._count(record)
        return line.replace(_member(way), _member(self.profile), 1)

    def _take_report(self, line: bytes, record: dict[str, Any]) -> bytes | None:
        at = parse_timestamp(record["time"])
        if self.until is not None and at is not None and at >= self.until:
            return None
        self._count(record)
        return line

    def _count(self, record: dict[str, Any]) -> None:
        self.sent += 1
        at = parse_timestamp(record["time"])
        assert at is not None  # both runners require the time of an event
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        self._take_example(at, record)
        step = self.bucket_s or _STEPS_S[self._step]
        self.buckets[(at - _EPOCH) // timedelta(seconds=step)] += 1
        if self.bucket_s is None and len(self.buckets) > _MOST_BUCKETS:
            self._widen()

    def _take_example(self, at: datetime, record: dict[str, Any]) -> None:
        """Keep it if it is among the earliest, so that it does not matter in which order they come."""
        insort(self._earliest, (at, record["source"], record["id"], record), key=itemgetter(0, 1, 2))
        del self._earliest[_EXAMPLES:]

    @property
    def examples(self) -> list[dict[str, Any]]:
        """The earliest notifications."""
        return [record for *_, record in self._earliest]

    def _widen(self) -> None:
        if self._step + 1 < len(_STEPS_S):
            factor = _STEPS_S[self._step + 1] // _STEPS_S[self._step]
            self.buckets = _joined(self.buckets, factor)
            self._step += 1

    def report(self, *, records: int, reasons: ReasonCounts, period: Period, columns: int = 60) -> BacktestReport:
        """What was counted; buckets of a length that was left open become so long that they fit into columns."""
        if self.bucket_s is None:
            while self._step + 1 < len(_STEPS_S) and _span(self.buckets) > columns:
                self._widen()
        step = self.bucket_s or _STEPS_S[self._step]
        buckets = {_moment(_EPOCH, step * at): count for at, count in sorted(self.buckets.items())}
        ways = tuple(
            WayCount(route.source.qualified_name, route.contract, self.by_way[way_name(self.profile, number)])
            for number, route in enumerate(() if self.plan.patterns else self.plan.routes)
        )
        return BacktestReport(
            self.profile,
            records,
            reasons,
            self.sent,
            self.first,
            self.last,
            ways,
            step,
            buckets,
            self.examples,
            period,
        )


def _member(profile: str) -> bytes:
    return b'"profile":' + json.dumps(profile, ensure_ascii=False).encode()


def _joined(buckets: Counter[int], factor: int) -> Counter[int]:
    joined: Counter[int] = Counter()
    for at, count in buckets.items():
        joined[at // factor] += count
    return joined


def _span(buckets: Counter[int]) -> int:
    return max(buckets) - min(buckets) + 1 if buckets else 0


@dataclass(frozen=True, slots=True)
class WayCount:
    """Events of one source type that came through one contract, or none, to the profile."""

    source: str
    contract: str | None
    sent: int


@dataclass(frozen=True, slots=True)
class BacktestReport:
    """What a profile would have sent."""

    profile: str
    records: int
    reasons: ReasonCounts
    """Why records were rejected."""
    sent: int
    first: datetime | None
    last: datetime | None
    ways: tuple[WayCount, ...]
    bucket_s: int
    buckets: dict[datetime, int]
    """By their beginning; those with nothing in them are left out."""
    examples: list[dict[str, Any]]
    period: Period

    @property
    def rejected(self) -> int:
        return self.reasons.total

    @property
    def share(self) -> float:
        """Of the records that were read, how many would have been sent."""
        return self.sent / self.records if self.records else 0.0

    @property
    def per_day(self) -> float | None:
        """The mean, over the period, or where that is open from the first to the last; None for less than an hour."""
        if self.first is None or self.last is None:
            return None
        span = (self.period.until or self.last) - (self.period.since or self.first)
        return self.sent / (span / _DAY) if span >= _SHORTEST else None

    @property
    def busiest(self) -> tuple[datetime, int] | None:
        """The bucket with the most, and how many; the first of them."""
        return max(self.buckets.items(), key=lambda one: one[1], default=None)

    def as_dict(self) -> dict[str, Any]:
        """The report for programs."""
        busiest = self.busiest
        return {
            "profile": self.profile,
            "from": _shown(self.period.since),
            "to": _shown(self.period.until),
            "records": self.records,
            "rejected": self.rejected,
            "reasons": self.reasons.as_list(),
            "sent": self.sent,
            "share": self.share,
            "first": _shown(self.first),
            "last": _shown(self.last),
            "per_day": self.per_day,
            "busiest": {"from": _shown(busiest[0]), "sent": busiest[1]} if busiest else None,
            "ways": [{"source": way.source, "contract": way.contract, "sent": way.sent} for way in self.ways],
            "bucket_s": self.bucket_s,
            "buckets": [{"from": _shown(begin), "sent": count} for begin, count in self.buckets.items()],
            "examples": self.examples,
        }

    def chart(self, columns: int, blocks: str = BLOCKS) -> Iterator[str]:
        """Lines of bars over time, at most so wide, with the beginning and the end below them."""
        if not self.buckets:
            return
        bars, each = self._bars(columns)
        top = max(bars)
        for line in reversed(range(_LINES)):
            yield "".join(_block(count, top, line, blocks) for count in bars).rstrip()
        begin = min(self.buckets)
        left = format_timestamp(begin)
        right = format_timestamp(_moment(begin, self.bucket_s * each * len(bars)))
        gap = len(bars) - len(left) - len(right)
        yield f"{left}{' ' * gap}{right}" if gap > 0 else f"{left} to {right}"
        yield f"highest bar {top:,}, each {length(self.bucket_s * each)}"

    def _bars(self, columns: int) -> tuple[list[int], int]:
        """Sums of as many buckets as it takes to fit, and how many that is."""
        step = timedelta(seconds=self.bucket_s)
        begin = min(self.buckets)
        span = (max(self.buckets) - begin) // step + 1
        each = -(-span // columns)
        bars = [0] * -(-span // each)
        for at, count in self.buckets.items():
            bars[(at - begin) // step // each] += count
        return bars, each


def _moment(begin: datetime, seconds: int) -> datetime:
    """So many seconds later, or earlier; a bucket may begin before the first time that there is, or end after the last.

    >>> _moment(datetime(2, 1, 1, tzinfo=UTC), -10**9).year
    1
    """
    try:
        return begin + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


def _block(count: int, top: int, line: int, blocks: str) -> str:
    """The part of a bar that stands in a line; what is not zero is seen."""
    full = len(blocks) - 1
    height = max(1, round(count / top * full * _LINES)) if count else 0
    return blocks[min(max(height - line * full, 0), full)]


def length(seconds: int) -> str:
    """A length of time in the largest unit that fits.

    >>> length(3600), length(90), length(604800)
    ('1 h', '90 s', '7 d')
    """
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _shown(instant: datetime | None) -> str | None:
    return None if instant is None else format_timestamp(instant)
