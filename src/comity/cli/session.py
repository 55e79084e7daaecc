"""What all commands share: how much to say, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.options import option

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy


class Format(StrEnum):
    """The form of results and errors."""

    TEXT = "text"
    JSON = "json"


@dataclass(slots=True)
class Session:
    """One call of the program."""

    verbose: bool = False
    format: Format = Format.TEXT


def _remember(context: typer.Context, value: Format) -> Format:
    context.ensure_object(Session).format = value  # errors of the command come in this form, too
    return value


FormatOption = Annotated[
    Format, typer.Option("--format", callback=_remember, is_eager=True, help="The form of the output and of errors.")
]
TypesOption = Annotated[Path | None, option("FILE", "YAML file of event types.", "--types")]


def read_types(path: Path) -> Taxonomy:
    """The types of a file, their units checked."""
    from comity.event.taxonomy import Taxonomy
    from comity.meaning.units import check_unit

    # The file of a domain is one of types, too; where its events come from does not matter here.
    return Taxonomy.read(path, ignore=("description", "sources", "deliver"), check_unit=check_unit)
