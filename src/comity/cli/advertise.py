"""`comity advertise`: say what will be published."""

from __future__ import annotations

import asyncio
import math
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
from comity.cli.options import argument
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from comity.client import Connecting

EXAMPLE = "Example:  comity advertise comity://127.0.0.1:7470 'symbol = \"XY\"'"


def advertise(
    url: UrlArgument,
    filters: Annotated[list[str], argument("FILTER…", "What the events will fit.")],
    token: TokenOption = None,
    authorities: AuthoritiesOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    broker: BrokerOption = None,
    timeout: TimeoutOption = TIMEOUT_S,
    format: FormatOption = Format.TEXT,
) -> None:
    """Advertise that events which fit a filter will be published here, until Ctrl-C.

    In a network with advertisements, subscriptions go towards what is advertised only. Events are published under an
    advertisement of the same client: `comity pub --advertise FILTER` does both.
    """
    tls = (authorities, certificate, key, broker)
    door = connecting(url, format, token=token, tls=tls, timeout_s=timeout, patience_s=math.inf)
    asyncio.run(_hold(door, filters, format))


async def _hold(door: Connecting, filters: Sequence[str], format: Format) -> None:
    async with door as node:
        for filter in filters:
            await node.advertise(filter)
            if format is Format.JSON:
                write_json({"advertised": filter, "broker": node.broker})
            else:
                console().print(f"advertised at {node.broker}: {filter}")
        await node.ended()
