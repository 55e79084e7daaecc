"""The shapes of federation files, beside the types in them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from comity.visible import has_hidden

Scalar = str | int | float | bool


def _readable(name: str) -> str:
    if has_hidden(name):
        raise ValueError("a name has no line ends, control characters or others that cannot be seen")
    return name


Name = Annotated[str, AfterValidator(_readable)]
"""What people call something; it stands in logs, in metrics and on terminals."""


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
    own: bool = False
    """Of an observer: whether its own events come back to it, too."""

    @model_validator(mode="after")
    def _one_way(self) -> MappingFile:
        if (self.map is None) == (self.xslt is None):
            raise ValueError("one of `map` and `xslt` is needed; `map: same` where the attributes are the same")
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

    contract: Name
    description: str | None = None
    version: Annotated[int, Field(ge=1)] = 1
    authority: str | None = None
    founders: list[str] = Field(default_factory=list)
    types: dict[str, object] = Field(min_length=1, max_length=1)
    members: dict[str, Mappings] = Field(default_factory=dict)
    observers: dict[str, Mappings] = Field(default_factory=dict)
    tables: dict[Name, dict[str, Scalar]] = Field(default_factory=dict)
    functions: dict[Name, FunctionFile] = Field(default_factory=dict)
    earlier: list[EarlierFile] = Field(default_factory=list)


class FederationFile(_Strict):
    """`federation: NAME`; a boundary makes it a domain of the federation around it."""

    federation: Name
    description: str | None = None
    boundary: list[str] = Field(default_factory=list)
    """The contracts whose types are visible outside."""
    ontology: str | None = None
    """A Turtle file with concepts of its own."""


class RateRow(_Strict):
    """One rate, and when it is valid."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    rate: int | float | str
    valid_from: str | None = None
    valid_until: str | None = None

    @property
    def cells(self) -> tuple[object, ...]:
        """In the order of the columns of a table of rates."""
        return self.source, self.target, str(self.rate), self.valid_from, self.valid_until


class RatesFile(_Strict):
    """`rates: NAME` with exchange rates in a CSV file beside it, or as rows."""

    rates: str
    description: str | None = None
    file: str | None = None
    rows: list[RateRow] | None = None

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
