"""`jdbc`, on Spark: a table of a database, or what a query gives, read in parts if it is said how to part it."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field, field_validator, model_validator

from comity.connect.frames import CAPABILITY, FrameOptions, FrameSource, Secret, Text, as_read, read_secret
from comity.connect.port import Connector, Setting

_PASSWORD = re.compile(r"password\s*=|//[^/@]*:[^/@]*@", re.IGNORECASE)


class JdbcOptions(FrameOptions):
    """Which database, and what of it."""

    url: Text
    table: Text | None = None
    query: Text | None = None
    """In place of `table`."""
    user: Text | None = None
    password: Secret | None = None
    driver: Text | None = None
    """The class of the driver, where Java does not find it by the address."""
    part_by: Text | None = None
    """A column of numbers or times by which the table is parted, for tasks that read it at once."""
    between: tuple[int, int] | tuple[str, str] | None = None
    """About the least and the greatest of it; what lies outside is read, too."""
    parts: int = Field(default=8, ge=1, le=1_000)

    @field_validator("between", mode="before")
    @classmethod
    def _take_list(cls, given: object) -> object:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("url")
    @classmethod
    def _check_url(cls, given: str) -> str:
        if not given.startswith("jdbc:"):
            raise ValueError("an address begins with jdbc:")
        if _PASSWORD.search(given):
            raise ValueError("a password does not belong into a file: write `password: {env: VARIABLE}`")
        return given

    @model_validator(mode="after")
    def _check_table(self) -> JdbcOptions:
        if (self.table is None) == (self.query is None):
            raise ValueError("one of `table` and `query` is needed")
        if (self.part_by is None) != (self.between is None):
            raise ValueError("`part_by` and `between` go together")
        if self.query is not None and self.part_by is not None:
            raise ValueError("a query is read in one part; name a table, or a view")
        return self


def _source(given: JdbcOptions, setting: Setting) -> FrameSource:
    common = as_read(given, setting)
    more: dict[str, Any] = {"url": given.url, "dbtable": given.table, "query": given.query, "user": given.user}
    more["driver"] = given.driver
    if given.part_by is not None and given.between is not None:
        least, most = map(str, given.between)
        more |= {"partitionColumn": given.part_by, "lowerBound": least, "upperBound": most}
        more["numPartitions"] = str(given.parts)
    if given.password is not None:
        more["password"] = read_secret(given.password, setting)
        common["secrets"] = (*common["secrets"], more["password"])
    options = {name: value for name, value in more.items() if value is not None}
    what = given.table or "a query"
    how = f"in {given.parts} parts by {given.part_by}" if given.part_by else "in one part"
    return FrameSource(
        **common | {"options": {**common["options"], **options}},
        format="jdbc",
        is_streamed=False,
        about=f"{what} at {_server(given.url)}, by the executors, {how}",
    )


def _server(url: str) -> str:
    """The address without the properties behind it, which may hold what nobody should see."""
    return re.split("[?;]", url, maxsplit=1)[0]


CONNECTOR = Connector(kind="jdbc", capability=CAPABILITY, options=JdbcOptions, frames=_source)
