"""A federation for the chaos test: what is sent to it in each round, and what must come of it.

What must come is worked out here, in a few lines of plain Python that know nothing of Comity's engine.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from comity.event import Event
from comity.event.formats.avro import write_avro_events
from comity.event.formats.xml.write import HEAD, TAIL, encode_xml
from comity.federation import load
from comity.testing.poison import parquet_with_broken_page, truncated, truncated_gzip

BEGIN = datetime(2026, 1, 10, tzinfo=UTC)
ROUND_S, BUSY_S = 100, 50
LATENESS_S = 60
"""Rounds are so far apart that much is decided by the next one, and so close that nothing of one is late in it."""
WITHIN_S, ANSWER_S = 3, 5
PROFILES = f"""\
profiles:
  high: {{domain: plant, on: Sensed, where: level > 2}}
  rising:
    domain: plant
    on: Sensed a ; Sensed b within {WITHIN_S} s
    where: a.machine = b.machine and b.level > a.level + 4
  unanswered:
    domain: plant
    on: Sensed s ; not Cleared c within {ANSWER_S} s
    where: s.level > 6 and s.machine = c.machine
"""
PLANT = """\
domain: plant
types:
  Sensed: {{attributes: {{machine: string, level: float}}}}
  Cleared: {{attributes: {{machine: string}}}}
sources:
  folder: {{files: ../events}}
  door: {{webhook: {{port: {port}}}}}
deliver:
  office: {{webhook: {{url: "{url}"}}}}
"""

Told = tuple[str, tuple[str, ...]]
"""A profile, and the ids of the events that it is told of."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An event as it is sent."""

    id: str
    type: str
    at_s: int
    machine: str
    level: float | None = None

    def event(self) -> Event:
        data = {"machine": self.machine} | ({} if self.level is None else {"level": self.level})
        return Event(self.id, "plant/line", f"plant.{self.type}", BEGIN + timedelta(seconds=self.at_s), data)

    def as_json(self) -> dict[str, Any]:
        one = self.event()
        assert one.time is not None
        time = one.time.isoformat().replace("+00:00", "Z")
        named = {"specversion": "1.0", "id": one.id, "source": one.source, "type": one.type, "time": time}
        return {**named, "data": dict(one.data)}


def expected(sent: Iterable[Sent]) -> Counter[Told]:
    """What the profiles are told of these events, each once."""
    events = {one.id: one for one in sent}.values()
    sensed = [one for one in events if one.level is not None]
    cleared = [one for one in events if one.level is None]
    told: Counter[Told] = Counter()
    for one in sensed:
        assert one.level is not None
        if one.level > 2:
            told["high", (one.id,)] += 1
        answers = (each for each in cleared if each.machine == one.machine and 0 < each.at_s - one.at_s <= ANSWER_S)
        if one.level > 6 and not any(answers):
            told["unanswered", (one.id,)] += 1
        for other in sensed:
            assert other.level is not None
            is_next = other.machine == one.machine and 0 < other.at_s - one.at_s <= WITHIN_S
            if is_next and other.level > one.level + 4:
                told["rising", (one.id, other.id)] += 1
    return told


def told_by(lines: Iterable[dict[str, Any]]) -> Counter[Told]:
    """What lines of notifications tell."""
    told: Counter[Told] = Counter()
    for line in lines:
        parts = line["data"].get("events")
        ids = (line["id"],) if parts is None else tuple(parts[name]["id"] for name in sorted(parts))
        told[line["profile"], ids] += 1
    return told


def differences(wanted: Counter[Told], found: Counter[Told]) -> list[str]:
    """What is missing, and what is there too often."""
    lost = [f"lost: {one}" for one in (wanted - found).elements()]
    return lost + [f"too much: {one}" for one in (found - wanted).elements()]


@dataclass(slots=True)
class Plant:
    """The federation on the disk, and all that was sent to it."""

    root: Path
    chance: Random
    sent: list[Sent] = field(default_factory=list)
    poison: dict[str, str] = field(default_factory=dict)
    """By the name of a broken file, the code of its fault."""
    broken_lines: int = 0
    _files: int = 0

    @property
    def events(self) -> Path:
        return self.root / "events"

    @property
    def federation(self) -> Path:
        return self.root / "federation"

    @property
    def out(self) -> Path:
        return self.root / "out"

    def set_up(self, port: int, url: str) -> None:
        """Write the files of the federation."""
        self.federation.mkdir(parents=True)
        self.events.mkdir()
        (self.federation / "plant.yaml").write_text(PLANT.format(port=port, url=url))
        (self.federation / "profiles.yaml").write_text(PROFILES)

    def draw(self, round: int, name: str, count: int) -> list[Sent]:
        """Events of a round."""
        found = []
        for number in range(count):
            at_s = ROUND_S * round + self.chance.randint(0, BUSY_S)
            is_cleared = self.chance.random() < 0.2
            machine, level = f"m{self.chance.randint(0, 3)}", round_to_half(self.chance.uniform(0, 10))
            type = "Cleared" if is_cleared else "Sensed"
            found.append(Sent(f"{round}-{name}-{number}", type, at_s, machine, None if is_cleared else level))
        self.sent += found
        return found

    def write_round(self, round: int) -> list[Sent]:
        """Write files of every format, one of them broken; gives what is to be posted, the first of it is in a file."""
        for form in self.chance.sample(("jsonl", "parquet", "xml", "avro"), 4):
            self._write(form, self.draw(round, form, 6))
        self._write_poison(round)
        posted = self.draw(round, "post", 4)
        self._write("jsonl", posted[:1])
        return posted

    def _write(self, form: str, some: Sequence[Sent]) -> None:
        content = encoded(form, some, load(self.federation))
        if form == "jsonl":
            content += b"{broken\n"
            self.broken_lines += 1
        self._put(form, content)

    def _write_poison(self, round: int) -> None:
        """A file that cannot be read to its end. Nobody wants its events, so it does not matter how far it is read."""
        dull = [Sent(f"{round}-dull-{number}", "Sensed", ROUND_S * round, "m9", 0.0) for number in range(5)]
        kind = self.chance.choice(("page", "footer", "gzip", "avro", "xml"))
        federation = load(self.federation)
        rows = encoded_rows(dull)
        content, suffix, code = {
            "page": lambda: (parquet_with_broken_page(rows, "machine"), "parquet", "broken-parquet"),
            "footer": lambda: (truncated(encoded("parquet", dull, federation)), "parquet", "broken-parquet"),
            "gzip": lambda: (truncated_gzip(encoded("jsonl", dull, federation)), "jsonl.gz", "broken-gzip"),
            "avro": lambda: (truncated(encoded("avro", dull, federation)), "avro", "broken-avro"),
            "xml": lambda: (truncated(encoded("xml", dull, federation)), "xml", "broken-xml"),
        }[kind]()
        self.poison[self._put(suffix, content)] = code

    def _put(self, suffix: str, content: bytes) -> str:
        self._files += 1
        name = f"{self._files:05d}.{suffix}"
        partial = self.events / f".{name}"
        partial.write_bytes(content)
        partial.rename(self.events / name)
        return name


def round_to_half(value: float) -> float:
    return round(value * 2) / 2


def encoded(form: str, some: Sequence[Sent], federation: Any) -> bytes:
    """A file of events."""
    stream = io.BytesIO()
    if form == "jsonl":
        stream.write(b"".join(json.dumps(one.as_json()).encode() + b"\n" for one in some))
    elif form == "parquet":
        parquet.write_table(pa.Table.from_pylist(encoded_rows(some), schema=_ROWS), stream)
    else:
        types = list(federation.domains["plant"].taxonomy.types)
        declared = {one.qualified_name: one for one in types}
        events = [one.event() for one in some]
        if form == "avro":
            write_avro_events(events, types, stream)
        else:
            stream.write(HEAD + b"\n".join(encode_xml(one, declared[one.type]) for one in events) + TAIL)
    return stream.getvalue()


def encoded_rows(some: Sequence[Sent]) -> list[dict[str, Any]]:
    lines = [one.as_json() for one in some]
    return [
        {name: line[name] for name in ("id", "source", "type", "time")} | {"level": None, **line["data"]}
        for line in lines
    ]


_ROWS = pa.schema(
    [*((name, pa.string()) for name in ("id", "source", "type", "time", "machine")), ("level", pa.float64())]
)
