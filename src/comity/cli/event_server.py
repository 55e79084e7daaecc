"""`comity serve DIR`: the event server of a domain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.output import console, write_json
from comity.cli.session import Format

if TYPE_CHECKING:
    from comity.node.serve import ServedNode


def serve_domain(folder: Path, listen: str | None, store: str | None, format: Format) -> None:
    """Serve the domain of a folder until it is stopped."""
    from comity.node.serve import run_event_server
    from comity.node.settings import read_settings
    from comity.server.settings import Address

    settings = read_settings(folder, None if listen is None else Address.read(listen), store)
    run_event_server(settings, lambda node: _ready(node, format))


def _ready(node: ServedNode, format: Format) -> None:
    """The line by which whoever started us knows that we are there."""
    domain = node.server.settings.taxonomy.namespace
    if format is Format.JSON:
        write_json({"domain": domain, "url": node.url})
    else:
        console().print(f"the event server of {domain} listens on {node.url}")
