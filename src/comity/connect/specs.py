"""What a domain says about its sources and sinks: names, kinds and options, as the files write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source of a domain, as in `sensors: {files: events/house_a.jsonl}`.

    >>> SourceSpec("sensors", "house_a", "files", {"path": "events"}).kind
    'files'
    """

    name: str
    domain: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)  # they may hold a secret


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Where notifications of a domain go, as in `control_room: {webhook: {url: "http://…"}}`.

    >>> SinkSpec("screen", "house_a", "stdout").options
    {}
    """

    name: str
    domain: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)  # they may hold a secret
