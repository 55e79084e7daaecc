"""The shape of `node.yaml`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from comity.errors import ComityError
from comity.pattern.text.durations import read_duration
from comity.server.settings import Address

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_LEAST_HISTORY_US = 60_000_000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


def _micros(value: Any) -> Any:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("a length of time is written as 2 s, 10 min or 7 day")
    try:
        return read_duration(*found.groups())
    except ComityError as error:
        raise ValueError(error.message) from None


def _kept(value: int) -> int:
    if value < _LEAST_HISTORY_US:
        raise ValueError("it is kept for a minute at least")
    return value


Duration = Annotated[int, BeforeValidator(_micros)]
"""Microseconds."""
Kept = Annotated[int, BeforeValidator(lambda value: _kept(_micros(value)))]
"""Microseconds that something is kept for."""


def _address(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("write HOST:PORT")
    try:
        return Address.read(value)
    except ComityError as error:
        raise ValueError(error.message) from None


class SecretFile(_Strict):
    """Where a token is: in a file beside this one, or in an environment variable."""

    file: str | None = None
    env: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> SecretFile:
        if (self.file is None) == (self.env is None):
            raise ValueError("one of `file` and `env` is needed; the token itself does not belong here")
        return self


class HistoryFile(_Strict):
    """For how long events can be asked for again."""

    default: Kept = 86_400_000_000
    types: dict[str, Kept] = Field(default_factory=dict)


class ServingTlsFile(_Strict):
    """Files in PEM, beside this one; without a key it is in the file of the certificate."""

    certificate: str
    key: str | None = None


class NodeFile(_Strict):
    """What `node.yaml` may say; all of it may be left out."""

    listen: Annotated[Address | None, BeforeValidator(_address)] = None
    store: str | None = None
    history: HistoryFile = Field(default_factory=HistoryFile)
    lateness: Duration = 2_000_000
    logins: Duration = 86_400_000_000
    """For how long a token is good that a login gives."""
    register_: Literal["anybody", "nobody"] | SecretFile = Field(default="anybody", alias="register")
    tokens: dict[str, SecretFile] = Field(default_factory=dict)
    tls: ServingTlsFile | None = None
