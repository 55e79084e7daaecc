"""`rate`, on Spark: rows that Spark makes up, so many in a second, to try a federation under a load."""

from __future__ import annotations

from pydantic import Field

from comity.connect.frames import FrameOptions, FrameSource, as_read
from comity.connect.port import Capability, Connector, Setting


class RateOptions(FrameOptions):
    """How many."""

    rows_per_second: int = Field(default=1, ge=1, le=100_000_000)


def _source(given: RateOptions, setting: Setting) -> FrameSource:
    common = as_read(given, setting)
    return FrameSource(
        **common | {"options": {**common["options"], "rowsPerSecond": str(given.rows_per_second)}},
        format="rate",
        is_stored=False,
        about=f"{given.rows_per_second:,} rows `timestamp`, `value` a second, made up by the executors",
    )


CONNECTOR = Connector(
    kind="rate",
    capability=Capability(can_replay=True, live=True),
    options=RateOptions,
    main_option="rows_per_second",
    frames=_source,
)
