"""Files of profiles, in whatever language: the one door through which profiles come in as text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

from comity.document import read_text
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.taxonomy import Taxonomy
from comity.language.comity import COMITY, is_yaml
from comity.language.language import Language, Reading, Types
from comity.language.languages import languages
from comity.pattern.bound import BoundPattern
from comity.profile.patterns import bind_patterns
from comity.profile.profile import Profile, check_name
from comity.profile.text import has_blocks


def read_profiles(path: str | Path, types: Types | None = None) -> list[Profile]:
    """The profiles of a file, in their order; raises `Faults` with everything that is wrong, each with its place."""
    profiles, faults = scan_profiles(path, types)
    if faults:
        raise Faults(faults)
    return profiles


def scan_profiles(path: str | Path, types: Types | None = None) -> Reading:
    """The good profiles of a file, and what is wrong with the others, for whoever has more to check."""
    return parse_profiles(read_text(path), str(path), types)


def parse_profiles(text: str, file: str, types: Types | None = None) -> Reading:
    """The same for a text at hand; the name of the file tells its language, and where it does not, how it begins.

    >>> profiles, faults = parse_profiles("hot: heat > 40\\ncold: heat <", "profiles.txt")
    >>> [profile.name for profile in profiles], [str(fault.place) for fault in faults]
    (['hot'], ['profiles.txt:2:13'])
    """
    read = language_of_text(text, file).read
    assert read is not None, "only a language that is read is chosen"
    profiles, faults = read(text, file, types)
    by_name, misnamed = _by_name(profiles)
    return list(by_name.values()), sorted([*misnamed, *faults], key=line_of)


def language_of_text(text: str, file: str) -> Language:
    """The language that profiles are written in.

    >>> language_of_text("rule hot onEvent Heat h", "rules.txt").name
    'rdl'
    """
    known = [one for one in languages().values() if one.read is not None]
    named = (one for one in known if PurePath(file).suffix in one.suffixes)
    return next(named, None) or next((one for one in known if one.recognises(text)), COMITY)


def is_text_form(text: str, file: str) -> bool:
    """Whether a text holds profiles in a form that has no place for the domain that subscribes.

    >>> is_text_form("profile hot on Heat h", "new"), is_text_form("profiles: {}", "new")
    (True, False)
    """
    return language_of_text(text, file) is not COMITY or (not is_yaml(text, file) and has_blocks(text))


def _by_name(profiles: Iterable[Profile]) -> tuple[dict[str, Profile], list[ComityError]]:
    """The first profile of each name, and what is wrong with the names."""
    found: dict[str, Profile] = {}
    faults: list[ComityError] = []
    for profile in profiles:
        first = found.setdefault(profile.name, profile)
        try:
            check_name(profile.name)
        except Misuse as error:
            faults.append(Misuse(error.message, code=error.code, place=profile.place, hint=error.hint))
        else:
            faults += [] if first is profile else [_duplicate(first, profile.place)]
    return found, faults


def _duplicate(first: Profile, place: Place | None) -> Misuse:
    line = first.place.line if first.place else None
    hint = f"the first one is in line {line}" if line else None
    return Misuse(f"there are two profiles {first.name!r}", code="duplicate-profile", place=place, hint=hint)


def read_bound_patterns(
    path: str | Path, taxonomy: Taxonomy | None = None, *, composite_only: bool = False
) -> list[BoundPattern]:
    """The profiles of a file as patterns, or only the composite ones; raises `Faults` with all that is wrong."""
    profiles, faults = scan_profiles(path, types_of(taxonomy))
    wanted = (one for one in profiles if one.composite is not None or not composite_only)
    bound, more = bind_patterns(wanted, taxonomy)
    if faults or more:
        raise Faults(sorted([*faults, *more], key=line_of))
    return bound


def types_of(taxonomy: Taxonomy | None) -> Types | None:
    """The types of a taxonomy by the names that a profile has in `on`."""
    return None if taxonomy is None else {one.name: one for one in taxonomy.types}


def line_of(error: ComityError) -> int:
    """Where faults of one file are sorted by."""
    return (error.place.line if error.place else None) or 0
