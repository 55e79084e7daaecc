"""What a run was asked to do, whichever way it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from comity.connect.claim import RUN_FILE
from comity.connect.folder import Results
from comity.connect.private import open_private
from comity.storage.place import Storage

if TYPE_CHECKING:
    from comity.connect.topics.place import Topics
    from comity.federation import Federation
    from comity.run.sources import EventSources


class Engine(StrEnum):
    """What runs the plan."""

    SPARK = "spark"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How Spark is started."""

    master: str | None = None
    """Without one, on this machine."""
    config: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False
    """Whether Spark's log goes to standard error."""


HERE = SparkOptions()


@dataclass(frozen=True, slots=True)
class StreamPace:
    """How a stream is cut into batches, and when it ends."""

    trigger_s: float = 1.0
    until_empty: bool = False
    files_per_batch: int = 100


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A federation, its events, and where the results go."""

    folder: Path
    """Where the paths that the federation's connectors name begin."""
    federation: Federation
    sources: EventSources
    out: Path
    overwrite: bool = False
    """Whether results of an earlier run are replaced."""
    results: Results = Results.JSONL
    print_lines: bool = False
    """Whether notifications go to standard output, too."""
    spark: SparkOptions = HERE
    tables: Storage | None = None
    """Where tables go if results are such; `out` holds what is kept beside them."""
    is_typed: bool = False
    """Whether each profile has a table with types."""
    is_passing: bool = False
    """Whether nothing of `out` is kept."""
    topics: Topics | None = None
    """Where results go if they go into topics; `out` is then as for tables."""

    @property
    def shown(self) -> str:
        """Where the results are."""
        if self.topics is not None:
            return self.topics.address
        return str(self.out) if self.tables is None else self.tables.address

    @property
    def is_remote(self) -> bool:
        """Whether the results are in a store, or in topics."""
        return self.topics is not None or (self.tables is not None and not self.tables.is_local)

    @property
    def target_is_no_folder(self) -> bool:
        """Whether results go into tables or topics."""
        return self.tables is not None or self.topics is not None

    def remember(self) -> None:
        """Note in the results folder which federation has the sinks, for `comity replay`."""
        with open_private(self.out / RUN_FILE, "wb") as stream:
            named = self.federation.address or str(self.folder.resolve())
            stream.write(json.dumps({"federation": named}).encode() + b"\n")
