"""Comity's own language: another Comity, or anything that evaluates our expressions, can be asked for all of it.

Its profiles are text or YAML (comity.profile.text, comity.profile.entries).
"""

from __future__ import annotations

from collections.abc import Iterable

from comity.document import parse_document
from comity.expression.render import render
from comity.language.capability import EVERYTHING
from comity.language.language import Language, PrintedProfiles, Reading, Types
from comity.profile.entries import begins_entries, scan_entries, write_entries
from comity.profile.profile import Profile
from comity.profile.text import has_blocks, scan_text

YAML_SUFFIXES = (".yaml", ".yml")


def is_yaml(text: str, file: str) -> bool:
    """Whether profiles are entries of a YAML file."""
    return file.endswith(YAML_SUFFIXES) or begins_entries(text)


def _is_own(text: str) -> bool:
    return begins_entries(text) or has_blocks(text)


def _read(text: str, file: str, types: Types | None) -> Reading:
    return scan_entries(parse_document(text, file)) if is_yaml(text, file) else scan_text(text, file)


def _write(profiles: Iterable[Profile], types: Types) -> PrintedProfiles:
    return PrintedProfiles(write_entries(profiles))


COMITY = Language(
    EVERYTHING,
    render,
    read=_read,
    write=_write,
    suffixes=YAML_SUFFIXES,
    recognises=_is_own,
)
