"""The shapes of federation files, beside the types in them."""

from __future__ import annotations

from datetime import datetime, time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Scalar = str | int | float | bool


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MappingFile(_Strict):
    """One type of a member or observer, and how it is made: an expression for each attribute of the target.

    `same` takes every attribute of the target from the source attribute of its name, `inverse` turns the domain's own
    member mapping round, and `xslt` names a stylesheet.
    """

    type: str
    map: dict[str, str] | Literal["same", "inverse"] | None = None
    xslt: str | None = None
    version: int | None = None
    """The version of the contract that it keeps to; the current one by default."""

    @model_validator(mode="after")
    def _one_way(self) -> MappingFile:
        if (self.map is None) == (self.xslt is None):
            raise ValueError("one of `map` and `xslt` is needed")
        return self


Mappings = MappingFile | list[MappingFile]


class FunctionFile(_Strict):
    """Extension functions in a Python file beside the contract."""

    file: str


class EarlierFile(_Strict):
    """An earlier version of a contract: its type, and how its events become those of the next version, and back."""

    version: Annotated[int, Field(ge=1)]
    types: dict[str, object] = Field(min_length=1, max_length=1)
    upgrade: dict[str, str] | Literal["same"] = "same"
    downgrade: dict[str, str] | Literal["same", "inverse"] | None = None


class ContractFile(_Strict):
    """`contract: NAME` with its type, its members and its observers."""

    contract: str
    description: str | None = None
    version: Annotated[int, Field(ge=1)] = 1
    authority: str | None = None
    founders: list[str] = Field(default_factory=list)
    types: dict[str, object] = Field(min_length=1, max_length=1)
    members: dict[str, Mappings] = Field(default_factory=dict)
    observers: dict[str, Mappings] = Field(default_factory=dict)
    tables: dict[str, dict[str, Scalar]] = Field(default_factory=dict)
    functions: dict[str, FunctionFile] = Field(default_factory=dict)
    earlier: list[EarlierFile] = Field(default_factory=list)


def _time_of_day(value: Any) -> Any:
    """YAML reads 18:00 as a number of minutes in base 60; people write 8:00 as well as 08:00."""
    if type(value) is int and 0 <= value < 24 * 60:
        return time(value // 60, value % 60)
    return f"0{value}" if isinstance(value, str) and value[1:2] == ":" else value


TimeOfDay = Annotated[time, BeforeValidator(_time_of_day)]


class ActiveFile(_Strict):
    """The part of each day, in UTC, in which a profile is registered."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    begin: TimeOfDay = Field(default=time(0), alias="from")
    until: TimeOfDay | None = None
    """The end, which is not part of it; midnight by default."""


class ProfileFile(_Strict):
    """A subscription of a domain: a type that it can see, or a pattern over such types, and a condition."""

    domain: str
    on: str
    where: str = "true"
    description: str | None = None
    duplicates: str | int | None = None
    consume: str | None = None
    limit: int | None = None
    ties: str | None = None
    version: int | None = None
    deliver: dict[str, str | int | float] = Field(default_factory=dict)
    """The context in which the subscriber wants values, for example `{unit: degC}`."""
    active: ActiveFile | None = None
    expires: datetime | None = None
    scope: list[str] = Field(default_factory=list)
    """The domains, or federations, whose events are wanted; all of them by default."""
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0

    @property
    def clauses(self) -> dict[str, str]:
        """What a composite profile says, by the words of its text form."""
        given = {
            name: getattr(self, name) for name in ("on", "where", "duplicates", "consume", "limit", "ties", "version")
        }
        return {name: str(value) for name, value in given.items() if value is not None}


TERMS = ("deliver", "active", "expires", "scope", "priority")
"""How a profile is registered and delivered."""


class ProfilesFile(_Strict):
    profiles: dict[str, ProfileFile]


class FederationFile(_Strict):
    """`federation: NAME`; a boundary makes it a domain of the federation around it."""

    federation: str
    description: str | None = None
    boundary: list[str] = Field(default_factory=list)
    """The contracts whose types are visible outside."""
    ontology: str | None = None
    """A Turtle file with concepts of its own."""


class RatesFile(_Strict):
    """`rates: NAME` with exchange rates in a CSV file beside it, or as rows."""

    rates: str
    description: str | None = None
    file: str | None = None
    rows: list[dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> RatesFile:
        if (self.file is None) == (self.rows is None):
            raise ValueError("one of `file` and `rows` is needed")
        return self


class CodesFile(_Strict):
    """`codes: NAME`: a table between code systems, a column for each, in a CSV file beside it or as rows."""

    codes: str
    description: str | None = None
    file: str | None = None
    rows: list[dict[str, str]] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> CodesFile:
        if (self.file is None) == (self.rows is None):
            raise ValueError("one of `file` and `rows` is needed")
        return self


DOMAIN_KEYS = ("description", "publish", "sources", "deliver")
CONTRACT_KEYS = (
    "description",
    "version",
    "authority",
    "founders",
    "members",
    "observers",
    "tables",
    "functions",
    "earlier",
)
