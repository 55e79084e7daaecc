"""What makes later starts quick: an archive of the classes that Spark loads, made by a short run of everything."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity.federation import load
from comity.run.observer import Observer
from comity.run.request import Engine, RunRequest, StreamPace
from comity.run.sources import event_sources
from comity.run.stored import run_stored
from comity.run.stream import run_stream

_EXAMPLES = Path(__file__).parents[1] / "examples"
_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What there is now."""

    archive: Path
    is_new: bool


def warm_up(observer: Observer, *, again: bool = False) -> WarmUp:
    """Make the archive of classes for this Java and this Spark, if it is not there."""
    from comity.pipeline.class_archive import DUMP_TIMEOUT_S, archive_being_made, archive_of
    from comity.pipeline.java import find_java
    from comity.pipeline.session import spark_session, stop_session

    java = find_java()
    archive = archive_of(java)
    if archive is not None and archive.exists() and not again:
        return WarmUp(archive, is_new=False)
    with archive_being_made(java) as options, tempfile.TemporaryDirectory(prefix="comity-warm-up-") as folder:
        config = {"spark.driver.extraJavaOptions": " ".join(f'"{option}"' for option in options)}
        with observer.working("starting Spark"):
            spark = spark_session(config=config, brief=True, patience_s=DUMP_TIMEOUT_S)
        try:
            with observer.working("running examples"):
                _run_everything(Path(folder), spark)
        finally:
            with observer.working("writing the archive of classes"):
                stop_session(spark)
    archive = archive_of(java)
    assert archive is not None, "it was made"
    return WarmUp(archive, is_new=True)


def _run_everything(folder: Path, spark: Any) -> None:
    """Stored events and a stream with patterns, lines and rows: what is loaded for them is in the archive."""
    run_stored(_example("two_houses", folder), Engine.SPARK)
    run_stream(_example("active_city", folder), StreamPace(0, until_empty=True))
    rows = str(folder / "rows")
    spark.range(_ROWS).selectExpr("id", "cast(id % 7 as string) as name").write.parquet(rows)
    spark.read.parquet(rows).where("id > 10").groupBy("name").count().orderBy("name").collect()


def _example(name: str, folder: Path) -> RunRequest:
    federation = load(_EXAMPLES / name)
    sources = event_sources(federation, _EXAMPLES / name, [str(_EXAMPLES / name / "events")])
    return RunRequest(_EXAMPLES / name, federation, sources, folder / name)
