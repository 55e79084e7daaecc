"""Files of profiles that are text and not YAML: whose they are, and which files of a folder they are.

Text and RDL have no place for the domain that subscribes. So the file itself has its name, as `profiles/NAME.rdl`, or a
folder above it, as `profiles/NAME/hot.txt`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

from comity.document import read_text
from comity.errors import ComityError, Misuse, Place
from comity.federation.model import Federation
from comity.language.comity import YAML_SUFFIXES
from comity.language.files import is_text_form, scan_profiles
from comity.language.languages import languages
from comity.profile.profile import Profile

_PERHAPS = ".txt"


def text_profile_files(root: Path) -> list[Path]:
    """The files below a folder that hold profiles as text: `.profiles`, those that end as files of a language do
    (`.rdl`, `.fedreg`), and `.txt` with blocks or rules in it.

    A `.txt` file without any is somebody's notes.
    """
    if not root.is_dir():
        return []
    found = (path for path in root.rglob("*") if is_profile_text(path) and path.is_file())
    return sorted(path for path in found if path.suffix != _PERHAPS or _holds_profiles(path))


def text_profiles(root: Path) -> list[Profile]:
    """The profiles that can be read from these files."""
    return [profile for path in text_profile_files(root) for profile in scan_profiles(path)[0]]


def is_profile_text(path: Path) -> bool:
    """Whether a file of a federation is read as text, by its name."""
    return path.suffix in _suffixes()


@cache
def _suffixes() -> frozenset[str]:
    of_languages = {suffix for one in languages().values() if one.read is not None for suffix in one.suffixes}
    return frozenset({".profiles", _PERHAPS, *of_languages} - set(YAML_SUFFIXES))


def subscriber_of(path: Path, folder: Path | None, domains: Collection[str]) -> str:
    """The domain whose profiles are in a file; raises `Misuse` when neither its name nor a folder above says so.

    >>> subscriber_of(Path("city/profiles/station/hot.rdl"), Path("city"), ["station"])
    'station'
    """
    above = [one.name for one in path.parents if folder is None or folder in one.parents]
    found = next((name for name in (path.stem, *above) if name in domains), None)
    if found is not None:
        return found
    known = ", ".join(domains)
    hint = f"call it profiles/DOMAIN{path.suffix}, or put it into a folder profiles/DOMAIN; domains: {known}"
    message = "whose profiles these are is not known: neither the file nor a folder above it has the name of a domain"
    raise Misuse(message, code="unknown-domain", place=Place(str(path)), hint=hint)


def _holds_profiles(path: Path) -> bool:
    try:
        return is_text_form(read_text(path), path.name)
    except ComityError:  # no text, or too long to be profiles
        return False


_LIKELY = (".yaml", ".yml", ".json", ".toml", ".txt", ".rdl", ".profiles", ".fedreg", ".xsl", ".xslt", ".ttl")
"""How files are named that people write for a federation, or mean to; capitals do not count."""


def unread_files(root: Path, federation: Federation) -> list[Path]:
    """The files below a federation's folder that look as if somebody meant them to be read, and that nothing reads."""
    named = {path.resolve() for path in federation.files}
    return sorted(path for path in root.rglob("*") if _is_unread(path, root, named))


def _is_unread(path: Path, root: Path, named: Collection[Path]) -> bool:
    is_hidden = any(part.startswith((".", "_")) for part in path.relative_to(root).parts)
    if is_hidden or path.suffix.lower() not in _LIKELY or path.suffix in YAML_SUFFIXES:
        return False
    return path.is_file() and path.resolve() not in named
