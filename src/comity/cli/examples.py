"""`comity examples`: the federations that come with Comity, to look at and to change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from comity.cli.options import argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse, Place

EXAMPLE = "Example:  comity examples two_houses"

EXAMPLES = Path(__file__).parents[1] / "examples"
"""They are part of the package; in a source tree this is a link to its folder of examples."""


def examples(
    name: Annotated[str | None, argument("[NAME]", "One of them.")] = None,
    to: Annotated[Path | None, option("DIR", "Where its copy goes; default: examples/NAME.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """List the example federations, or write a copy of one, with its events, to work on."""
    if name is not None:
        target = write_example(name, to or Path("examples") / name)
        console().print(f"{name} is in {target}; next:  comity run {target} --events {target / 'events'} --out results")
    elif format is Format.JSON:
        write_json([{"name": each, "about": about} for each, about in described_examples().items()])
    else:
        for each, about in described_examples().items():
            console().print(f"{each:<14} {about}")


def write_example(name: str, target: Path) -> Path:
    """Copy an example into a folder that is not there yet."""
    if name not in described_examples():
        known = ", ".join(described_examples())
        raise Misuse(f"there is no example {name!r}", code="unknown-example", hint=f"there are {known}")
    if target.exists():
        hint = "name another folder with --to"
        raise Misuse("this is there already", code="not-empty", place=Place(str(target)), hint=hint)
    try:
        shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        place = Place(str(target))
        raise Misuse(f"cannot be written: {error.strerror}", code="unwritable-folder", place=place) from error
    return target


def described_examples() -> dict[str, str]:
    """Their names, each with what its federation says of itself."""
    from comity.document import read_document

    files = {file.parent.name: file for file in sorted(EXAMPLES.glob("*/federation.yaml"))}
    return {name: str(read_document(file).data["description"]) for name, file in files.items()}
