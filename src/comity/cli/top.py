"""`comity top`: a network at work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.failure import FAILED
from comity.cli.network import (
    TIMEOUT_S,
    AuthoritiesOption,
    BrokerOption,
    CertificateOption,
    KeyOption,
    TimeoutOption,
    TokenOption,
    connecting,
)
from comity.cli.options import argument
from comity.cli.output import console, write_json
from comity.cli.progress import is_shown, short
from comity.cli.session import Format, FormatOption
from comity.visible import visible

if TYPE_CHECKING:
    from comity.client.overview import BrokerRates, BrokersSeen, NetworkOverview
    from comity.wire import LinkStatus, NodeStatus
    from comity.wire.status import TypeStatus

EXAMPLE = "Example:  comity top comity://127.0.0.1:7470 --once"

_BROKERS = ("broker", "strategy", "clients", "filters", "in/s", "out/s", "unwanted", "dropped", "stored", "CPU", "MB")
_LINKS = (
    "link",
    "",
    "filters from",
    "filters to",
    "events in",
    "events out",
    "unwanted",
    "waiting KB",
    "to acknowledge",
)


_TYPES = ("type", "rendezvous", "in its tree", "filters", "kept by")


def top(
    urls: Annotated[
        list[str], argument("URL…", "Brokers: comity://HOST:PORT. Those that they are linked to are found.")
    ],
    once: Annotated[bool, typer.Option("--once", help="Look once, and end; rates are those since the start.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.2, help="How long to wait until the next look.")
    ] = 2.0,
    token: TokenOption = None,
    authorities: AuthoritiesOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT_S,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show the brokers of a network, their links and rates, again and again until Ctrl-C.

    Filters are the entries of tables, by which events are forwarded. Unwanted are events that came over a link though
    nobody there or behind wants them. The types of an overlay are shown with their rendezvous. With `--format json`
    there is a line for each look.
    """
    from comity.client.overview import NetworkOverview

    tls = (authorities, certificate, key, broker)
    doors = [connecting(url, format, token=token, tls=tls, timeout_s=timeout, patience_s=0.0) for url in urls]
    asyncio.run(_watch(NetworkOverview([door.settings for door in doors]), once, interval, format))


async def _watch(overview: NetworkOverview, once: bool, interval_s: float, format: Format) -> None:
    try:
        view = await overview.look()
        if once or not is_shown(format, console()):
            await _print_on(overview, view, once, interval_s, format)
        else:
            await _move_on(overview, view, interval_s)
    finally:
        await overview.close()
    if not view.brokers:
        raise typer.Exit(FAILED)


async def _print_on(
    overview: NetworkOverview, view: BrokersSeen, once: bool, interval_s: float, format: Format
) -> None:
    before = None
    while True:
        _print(view, before, format)
        if once:
            return
        await asyncio.sleep(interval_s)
        before, view = view, await overview.look()


async def _move_on(overview: NetworkOverview, view: BrokersSeen, interval_s: float) -> None:
    from rich.live import Live
    from rich.text import Text

    before = None
    with Live(Text(_shown(view, before)), console=console(), auto_refresh=False, screen=True) as live:
        while True:
            await asyncio.sleep(interval_s)
            before, view = view, await overview.look()
            live.update(Text(_shown(view, before)), refresh=True)


def _print(view: BrokersSeen, before: BrokersSeen | None, format: Format) -> None:
    if format is Format.JSON:
        write_json(_json(view, before))
        return
    console().print(_shown(view, before), lines=True)


def _json(view: BrokersSeen, before: BrokersSeen | None) -> dict[str, Any]:
    import msgspec

    rates = view.rates(before)
    told = {name: msgspec.to_builtins(status) | {"rates": asdict(rates[name])} for name, status in view.brokers.items()}
    return {"brokers": told, "unreached": view.unreached}


def _shown(view: BrokersSeen, before: BrokersSeen | None) -> str:
    rates = view.rates(before)
    names = sorted(view.brokers)
    brokers = [_broker(view.brokers[name], rates[name]) for name in names]
    links = [_link(name, link) for name in names for link in view.brokers[name].links]
    lines = [*_table(_BROKERS, brokers)] if brokers else []
    lines += ["", *_table(_LINKS, links)] if links else []
    types = [*_types(view.brokers)]
    lines += ["", *_table(_TYPES, types)] if types else []
    return "\n".join([*lines, *(visible(f"{url}: {why}") for url, why in view.unreached.items())])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with the columns below each other: the first two begin at the left, numbers end at the right."""
    shown = [heads, *([visible(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*shown)]
    for row in shown:
        cells = [f"{cell:<{width}}" for cell, width in zip(row[:2], widths)]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:])]
        yield "  ".join(cells).rstrip()


def _broker(status: NodeStatus, rates: BrokerRates) -> list[str]:
    entries = sum(link.subscriptions for link in status.links) + sum(one.subscriptions for one in status.clients)
    dropped = sum(link.dropped for link in status.links) + sum(one.dropped for one in status.clients)
    also = " adv" if status.advertisements else ""
    return [
        status.name,
        f"{status.strategy}{also}",
        f"{status.clients_here:,}",
        f"{entries:,}",
        short(rates.events_in_s),
        short(rates.events_out_s),
        f"{rates.unwanted:.1%}",
        f"{dropped:,}",
        f"{status.stored_events:,}",
        f"{rates.processor:.0%}",
        f"{status.memory_bytes / 1e6:,.0f}",
    ]


def _types(brokers: Mapping[str, NodeStatus]) -> Iterator[list[str]]:
    """The types of an overlay, as all brokers together have them; what they do not agree on is all named."""
    told: dict[str, dict[str, TypeStatus]] = {}
    for broker, status in brokers.items():
        for type in () if status.overlay is None else status.overlay.types:
            told.setdefault(type.name, {})[broker] = type
    for name, by_broker in sorted(told.items()):
        rendezvous = sorted({type.rendezvous for type in by_broker.values()})
        kept = sorted(broker for broker, type in by_broker.items() if type.role != "absent")
        taking_part = [type for type in by_broker.values() if type.takes_part]
        entries = sum(type.subscriptions for type in taking_part)
        yield [name, ", ".join(rendezvous), f"{len(taking_part):,}", f"{entries:,}", ", ".join(kept)]


def _link(name: str, link: LinkStatus) -> list[str]:
    state = "" if link.is_up else f"down: {link.why_down}"
    return [
        f"{name} ← {link.name or link.address or '?'}",
        state,
        f"{link.subscriptions:,}",
        f"{link.subscriptions_told:,}",
        f"{link.events_in:,}",
        f"{link.events_out:,}",
        f"{link.unwanted:,}",
        f"{link.queued_bytes / 1e3:,.0f}",
        f"{link.unacknowledged:,}",
    ]
