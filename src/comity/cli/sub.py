"""`comity sub`: the events of a network that fit a filter, as they come."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

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
from comity.cli.options import argument, option
from comity.cli.output import console, result_stream, write_json
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.client import Connecting
    from comity.event.event import Event

EXAMPLE = "Example:  comity sub comity://127.0.0.1:7470 'symbol = \"XY\" and price > 45'"


def sub(
    url: UrlArgument,
    filter: Annotated[str, argument("FILTER", "What the events must fit; everything by default.")] = "true",
    durable: Annotated[
        str | None,
        option("NAME", "What comes while nobody is there waits for this name, at a broker with --store.", "--durable"),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="End the durable subscription, and give up what waits for it.")
    ] = False,
    count: Annotated[int | None, typer.Option(metavar="N", min=1, help="End after so many events.")] = None,
    token: TokenOption = None,
    authorities: AuthoritiesOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT_S,
    format: FormatOption = Format.TEXT,
) -> None:
    """Print the events that fit a filter, until Ctrl-C.

    With `--format json` a line is the event as it was published. A connection that is lost is tried again; with
    `--durable` nothing is missed meanwhile, and the next call with that name goes on behind the last event that was
    printed.
    """
    from comity.errors import Misuse

    if forget and durable is None:
        raise Misuse("only a durable subscription can be forgotten", code="bad-usage", hint="add --durable NAME")
    tls = (authorities, certificate, key, broker)
    door = connecting(url, format, name=durable, token=token, tls=tls, timeout_s=timeout, patience_s=math.inf)
    if forget:
        asyncio.run(_forget(door, filter, durable))
        return
    with result_stream(None) as stream:

        def show(line: bytes) -> None:
            stream.write((line if format is Format.JSON else _text(line)) + b"\n")
            sys.stdout.flush()

        asyncio.run(_print(door, filter, durable, count, show, format))


async def _print(
    door: Connecting,
    filter: str,
    durable: str | None,
    count: int | None,
    show: Callable[[bytes], None],
    format: Format,
) -> None:
    async with door as node, node.subscribe(filter, durable=durable) as subscription:
        _tell_ready(node.broker, filter, format)
        shown = 0
        async for line in subscription.lines():
            show(line)
            shown += 1
            if shown == count:
                break


async def _forget(door: Connecting, filter: str, durable: str | None) -> None:
    async with door as node:
        subscription = await node.subscribe(filter, durable=durable)
        await subscription.cancel()


def _tell_ready(broker: str, filter: str, format: Format) -> None:
    """By this whoever started us knows that nothing is missed from here on."""
    if format is Format.JSON:
        write_json({"subscribed": filter, "broker": broker}, stderr=True)
    else:
        console(stderr=True).print(f"subscribed at {broker}: {filter}", style="dim")


def _text(line: bytes) -> bytes:
    """An event in one line for people."""
    from comity.event.formats.jsonlines import Rejected, decode

    event = decode(line)
    return line if isinstance(event, Rejected) else _told(event).encode()


def _told(event: Event) -> str:
    """An event in one line for people.

    >>> from comity import Event
    >>> _told(Event("7", "/desk", "stocks.Quote", data={"symbol": "XY", "price": 45.5}))
    'stocks.Quote 7: symbol XY, price 45.5'
    """
    values = ", ".join(f"{name} {value}" for name, value in event.data.items())
    return f"{event.type} {event.id}: {values}"
