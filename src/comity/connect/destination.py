"""Where results go: a folder, or tables in it or at an address of a store; and what cannot be."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from comity.connect.folder import Results
from comity.connect.topics.place import Topics, is_topic_address
from comity.errors import Misuse, Place
from comity.storage.access import StorageAccess
from comity.storage.place import LocalStorage, Storage, is_address, local_path, storage_at


@dataclass(frozen=True, slots=True)
class Destination:
    """A folder, and tables if results go into such: in this folder, or at an address of a store."""

    folder: Path
    """Of results; of what a run keeps beside them, where these are in a store."""
    tables: Storage | None = None
    is_typed: bool = False
    is_passing: bool = False
    """Whether the folder is removed after the run."""
    topics: Topics | None = None
    """In place of both, topics."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether the folder has only what is kept beside the results."""
        return self.tables is not None or self.topics is not None

    @classmethod
    def of(
        cls,
        out: str,
        results: Results,
        access: StorageAccess,
        *,
        typed: bool = False,
        state: Path | None = None,
        is_stream: bool = False,
        kafka: Mapping[str, str] | None = None,
    ) -> Destination:
        """Where results go that are to be written in this form to a path or an address."""
        is_delta = results is Results.DELTA
        if typed and results in (Results.JSONL, Results.KAFKA):
            hint = "say --results parquet or --results delta, or leave out --typed"
            raise Misuse("lines of JSON have no types", code="not-typed", hint=hint)
        if results is Results.KAFKA or is_topic_address(out):
            return cls._of_topics(Topics.at(out, kafka), results, state, is_stream)
        if kafka:
            hint = "leave out --kafka-config, or say --results kafka"
            raise Misuse("the results are no topics", code="bad-usage", hint=hint)
        if not is_address(out):
            if state is not None:
                hint = "leave out --state, which is for tables in an object store"
                raise Misuse("a folder holds its own state", code="needless-state", place=Place(out), hint=hint)
            folder = local_path(out).resolve()
            return cls(folder, LocalStorage(folder) if is_delta else None, typed)
        tables = storage_at(out, access)
        if not is_delta:
            reason = f"{results.value} files are published by renaming, which object stores do not have"
            raise Misuse(reason, code="no-renaming", place=Place(tables.address), hint="say --results delta")
        if state is None and is_stream:
            hint = "name a folder for it (--state DIR, or state=… in Python), the same one each time"
            reason = "a stream into tables of a store keeps its position in a folder of its own"
            raise Misuse(reason, code="no-state", place=Place(tables.address), hint=hint)
        return cls(_folder(state), tables, typed, is_passing=state is None)

    @classmethod
    def _of_topics(cls, topics: Topics, results: Results, state: Path | None, is_stream: bool) -> Destination:
        if results is not Results.KAFKA:
            raise Misuse("this is an address of topics", code="bad-usage", hint="say --results kafka")
        if state is None and is_stream:
            hint = "name a folder for it (--state DIR, or state=… in Python), the same one each time"
            reason = "a stream into topics keeps its position in a folder of its own"
            raise Misuse(reason, code="no-state", place=Place(topics.address), hint=hint)
        return cls(_folder(state), is_passing=state is None, topics=topics)


def _folder(state: Path | None) -> Path:
    """What a run keeps beside its results is removed after it, unless somebody says where it is to be."""
    return Path(tempfile.mkdtemp(prefix="comity-run-")) if state is None else state.resolve()


def check_delta() -> None:
    """Raise `Misuse` if the package for Delta tables is not there."""
    try:
        import deltalake  # noqa: F401
    except ImportError:
        hint = "pip install 'comity[delta]'"
        raise Misuse("Delta tables need a package that is not installed", code="no-delta", hint=hint) from None
