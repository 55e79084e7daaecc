"""The shapes of federation files, beside the types in them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MappingFile(_Strict):
    """One type of a domain, and an expression for each attribute of the target."""

    type: str
    map: dict[str, str]


class ContractFile(_Strict):
    """`contract: NAME` with its type, its members and its observers."""

    contract: str
    description: str | None = None
    types: dict[str, object] = Field(min_length=1, max_length=1)
    members: dict[str, MappingFile | list[MappingFile]] = Field(min_length=1)
    observers: dict[str, MappingFile | list[MappingFile]] = Field(default_factory=dict)
    tables: dict[str, dict[str, str | int | float | bool]] = Field(default_factory=dict)


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

    @property
    def clauses(self) -> dict[str, str]:
        """What a composite profile says, by the words of its text form."""
        given = {
            name: getattr(self, name) for name in ("on", "where", "duplicates", "consume", "limit", "ties", "version")
        }
        return {name: str(value) for name, value in given.items() if value is not None}


class ProfilesFile(_Strict):
    profiles: dict[str, ProfileFile]


class FederationFile(_Strict):
    federation: str
    description: str | None = None


DOMAIN_KEYS = ("description", "sources", "deliver")
CONTRACT_KEYS = ("description", "members", "observers", "tables")
