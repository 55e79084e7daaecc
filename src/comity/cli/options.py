"""How commands, their arguments and options are declared, and the options that several have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def group(help: str) -> typer.Typer:
    """A command of commands."""
    return typer.Typer(help=help, no_args_is_help=True, rich_markup_mode=None)


def argument(metavar: str, help: str) -> Any:
    """An argument: what stands for it in the usage, and what it is. It has no default to tell."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def option(metavar: str, help: str, *names: str) -> Any:
    """An option with a value and no default to tell, named like its parameter unless `names` says otherwise."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


FederationArgument = Annotated[Path, argument("FEDERATION_DIR", "Folder of YAML files.")]
FederationPlace = Annotated[str, argument("FEDERATION_DIR", "Folder of YAML files, or its address: s3a://….")]
MasterOption = Annotated[str | None, option("URL", "Spark master; default: this machine.", "--master")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")]
RejectedOption = Annotated[Path | None, option("FILE", "Write records that are no events there.", "--rejected")]
SinceOption = Annotated[str | None, option("TIME", "Only events from this time on.", "--from")]
UntilOption = Annotated[str | None, option("TIME", "Only events before this time.", "--to")]
