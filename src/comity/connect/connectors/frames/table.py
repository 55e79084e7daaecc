"""`table`, on Spark: a table of a catalogue, or files at a path that Spark can read in some format."""

from __future__ import annotations

from pydantic import model_validator

from comity.connect.frames import CAPABILITY, FrameOptions, FrameSource, Text, as_read
from comity.connect.port import Connector, Setting
from comity.storage.place import is_address


class TableOptions(FrameOptions):
    """Which table."""

    name: Text | None = None
    """In a catalogue of Spark's."""
    path: Text | None = None
    """A folder, or an address such as `s3a://bucket/readings`, in place of a name."""
    format: Text = "parquet"
    """Of what is at the path: `parquet`, `orc`, `delta`, or whatever Spark knows."""

    @model_validator(mode="after")
    def _check_table(self) -> TableOptions:
        if (self.name is None) == (self.path is None):
            raise ValueError("one of `name` and `path` is needed")
        return self


def _source(given: TableOptions, setting: Setting) -> FrameSource:
    common = as_read(given, setting)
    if given.name is not None:
        return FrameSource(**common, format="", table=given.name, about=f"table {given.name}, by the executors")
    path = given.path or ""
    at = path if is_address(path) else str((setting.base / path).resolve())
    about = f"{given.format} at {path}, by the executors"
    return FrameSource(**common, format=given.format, at=at, about=about)


CONNECTOR = Connector(kind="table", capability=CAPABILITY, options=TableOptions, main_option="name", frames=_source)
