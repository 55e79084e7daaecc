"""`comity pub`: publish events into a network of brokers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from comity.cli.network import (
    TIMEOUT_S,
    AuthoritiesOption,
    BrokerOption,
    CertificateOption,
    KeyOption,
    TimeoutOption,
    TokenOption,
    UrlArgument,
    connecting,
)
from comity.cli.options import RejectedOption, argument, option
from comity.cli.output import console, refuse_overwriting, write_json
from comity.cli.progress import is_shown, short
from comity.cli.rejected import FailOn, FailOnOption, RejectedRecords
from comity.cli.session import Format, FormatOption, TypesOption, read_types
from comity.errors import Misuse

if TYPE_CHECKING:
    from comity.client import Connecting, EventsRefused
    from comity.event.taxonomy import Taxonomy

EXAMPLE = "Example:  comity pub comity://127.0.0.1:7470 quotes.jsonl"

_PROGRESS_EVERY_S = 0.2


def pub(
    url: UrlArgument,
    files: Annotated[
        list[str] | None,
        argument(
            "EVENTS…", "Files of events (JSON Lines, CSV, XML, Parquet, Avro), directories, or - for lines of JSON."
        ),
    ] = None,
    types: TypesOption = None,
    advertise: Annotated[
        list[str] | None,
        option("FILTER", "Say first that the events fit this, in a network with advertisements.", "--advertise"),
    ] = None,
    rejected: RejectedOption = None,
    fail_on: FailOnOption = FailOn.ALL,
    token: TokenOption = None,
    authorities: AuthoritiesOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT_S,
    format: FormatOption = Format.TEXT,
) -> None:
    """Publish events, from files or as they come on standard input.

    It ends when the broker has all of them: no durable subscription misses any. Records that are no events, and events
    that the broker does not take, are counted, and the others go on.
    """
    sources = files or ["-"]
    if "-" in sources and len(sources) > 1:
        raise Misuse("standard input comes alone", code="bad-usage", hint="name files, or -")
    refuse_overwriting(rejected, *sources)
    taxonomy = read_types(types) if types is not None else None
    tls = (authorities, certificate, key, broker)
    door = connecting(url, format, token=token, tls=tls, timeout_s=timeout)
    with RejectedRecords.into(rejected) as refused, _Progress(format) as progress:
        lines = _lines(sources, taxonomy, refused)
        name, count = asyncio.run(_publish(door, advertise or [], lines, refused, progress))
    refused.report(count, format)
    if format is Format.JSON:
        write_json({"broker": name, "published": count, "rejected": refused.count})
    else:
        console().print(f"{count:,} event{'s' * (count != 1)} published at {name}")
    refused.leave(count, fail_on)


async def _publish(
    door: Connecting, filters: Sequence[str], lines: Iterator[bytes], refused: RejectedRecords, progress: _Progress
) -> tuple[str, int]:
    from comity.client.streaming import publish_stream

    async with door as node:
        for filter in filters:
            await node.advertise(filter)

        def refuse(error: EventsRefused, together: Sequence[bytes]) -> None:
            for record in error.records(together):
                refused.add(record)

        count = await publish_stream(node, lines, refused=refuse, progress=progress.update)
        return node.broker, count


def _lines(sources: Sequence[str], taxonomy: Taxonomy | None, refused: RejectedRecords) -> Iterator[bytes]:
    from comity.event.event import Event
    from comity.event.files import read_events
    from comity.event.formats.jsonlines import line_of

    for source in sources:
        for found in read_events(source, taxonomy):
            if isinstance(found, Event):
                yield line_of(found)
            else:
                refused.add(found.as_dict())


class _Progress:
    """A line that says how far it is, where somebody looks."""

    def __init__(self, format: Format) -> None:
        self._status = console(stderr=True).status("publishing") if is_shown(format) else None
        self._started = self._shown = time.monotonic()

    def __enter__(self) -> _Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def update(self, count: int) -> None:
        """So many are published."""
        now = time.monotonic()
        if self._status is not None and now - self._shown > _PROGRESS_EVERY_S:
            self._shown = now
            self._status.update(f"{count:,} published, {short(count / (now - self._started))}/s")
