"""Matching in-process: which profiles want this event?

Without types, all profiles share one open scope, so that an attribute has one meaning (and one unit) in all of them,
and `on` is the name that `event.type` must have. With types, `on` is a type: the profile is about events of it and of
its subtypes. A profile without `on` is then about every event; it may use the envelope, and the attributes that are
declared alike by all the types that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from comity.bulk import collection_paused
from comity.errors import ComityError, Faults, Misuse
from comity.event.event import Event
from comity.event.kinds import Kind, Value
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT
from comity.expression.compile import compile_filter
from comity.expression.scope import Scope
from comity.expression.tree import Expression, IsType, attributes, conjunction
from comity.language.files import line_of, scan_profiles, types_of
from comity.pattern.scope import OpenNames
from comity.profile.patterns import as_simple
from comity.profile.profile import Profile

TYPE_PATH = ("event", "type")

_Values = dict[tuple[str, ...], Value | None]
_Test = Callable[[_Values], bool]


@dataclass(frozen=True, slots=True)
class BoundProfile:
    """A profile's name, its bound filter, and the types that its events can have (None: any)."""

    name: str
    tree: Expression
    types: frozenset[str] | None


class Matcher:
    """Finds the profiles that match an event.

    >>> profiles = [Profile.of("hot", "heat > 40"), Profile.of("attic", "room = 'attic'")]
    >>> Matcher(profiles).match(Event("1", "/house", "Fire", data={"heat": 50, "room": "attic"}))
    ['hot', 'attic']
    """

    def __init__(self, profiles: Iterable[Profile], taxonomy: Taxonomy | None = None) -> None:
        self._prepare(bind_profiles(profiles, taxonomy))

    @classmethod
    def of(cls, profiles: Iterable[BoundProfile]) -> Matcher:
        """A matcher for profiles that were bound already, perhaps in another process."""
        matcher = cls(())
        matcher._prepare(list(profiles))
        return matcher

    def _prepare(self, profiles: list[BoundProfile]) -> None:
        self.profiles = profiles
        self._tests: _OneByOne | _Indexed = _Indexed(profiles) if len(profiles) >= INDEXED else _OneByOne(profiles)

    def match(self, event: Event) -> list[str]:
        """The names of the profiles that want the event, in the order of the profiles."""
        return self._tests.match(event)


INDEXED = 1_000
"""From so many profiles on, an index pays for the seconds that its kernels take to load."""

_MANY_NAMES = 64
"""Names from which on they are ordered and looked up as an array, which takes longer for a few."""


class _Indexed:
    """Many profiles: only those that can match are looked at."""

    def __init__(self, profiles: list[BoundProfile]) -> None:
        # The kernels are compiled code that takes seconds to load, and few profiles do without it.
        import numpy as np

        from comity.match.index import ProfileIndex

        self._names = [profile.name for profile in profiles]
        self._names_at_once = np.array(self._names, object)
        self._index = ProfileIndex.build([_of_its_types(profile) for profile in profiles])

    def match(self, event: Event) -> list[str]:
        found = self._index.ids_of(event)
        if len(found) < _MANY_NAMES:
            return [self._names[at] for at in sorted(found.tolist())]
        found.sort()
        names: list[str] = self._names_at_once[found].tolist()
        return names


def _of_its_types(profile: BoundProfile) -> Expression:
    """The filter with the condition that the event is of a type that the profile is about."""
    if profile.types is None:
        return profile.tree
    return conjunction([IsType("", tuple(sorted(profile.types))), profile.tree])


class _OneByOne:
    """A few profiles: each is tested, by compiled closures."""

    def __init__(self, profiles: list[BoundProfile]) -> None:
        self._paths = {TYPE_PATH}.union(*(attributes(profile.tree) for profile in profiles))
        tests = [(profile, compile_filter(profile.tree)) for profile in profiles]
        named = {name for profile in profiles for name in profile.types or ()}
        self._by_type = {name: _about(name, tests) for name in named}
        self._about_any = _about(None, tests)

    def match(self, event: Event) -> list[str]:
        get = event.get
        values: _Values = {path: get(path) for path in self._paths}  # read once, however many profiles ask
        tests = self._by_type.get(event.type, self._about_any)
        return [name for name, test in tests if test(values)]


@collection_paused()
def read_bound_profiles(path: str | Path, taxonomy: Taxonomy | None = None) -> list[Profile]:
    """The profiles of a file; raises `Faults` with all that cannot be read or bound, in the order of the file."""
    profiles, faults = scan_profiles(path, types_of(taxonomy))
    faults += _bind(profiles, taxonomy)[1]
    if faults:
        raise Faults(sorted(faults, key=line_of))
    return profiles


@collection_paused()
def read_good_profiles(path: str | Path, taxonomy: Taxonomy | None = None) -> tuple[list[Profile], list[ComityError]]:
    """The profiles of a file that can be read and bound, and what is wrong with the others, in the order of the file.

    A bad one leaves nothing behind: what its attributes are is up to the good ones.
    """
    profiles, faults = scan_profiles(path, types_of(taxonomy))
    places = {fault.place for fault in faults}
    good: list[Profile] = []
    scopes = _Scopes(taxonomy)
    for profile in (one for one in profiles if one.place not in places):
        before = scopes.open_meanings()
        fault = _fault_of(profile, scopes, taxonomy)
        if fault is None:
            good.append(profile)
        else:
            faults.append(fault)
            scopes.restore(*before)
    return good, sorted(faults, key=line_of)


def _fault_of(profile: Profile, scopes: _Scopes, taxonomy: Taxonomy | None) -> ComityError | None:
    simple = as_simple(profile)
    try:
        simple.bind(scopes.of(simple)[0])
    except ComityError as error:
        return _with_hint(error, simple, taxonomy)
    return None


@collection_paused()
def check_profiles(path: str | Path, taxonomy: Taxonomy | None = None) -> list[Profile]:
    """The profiles of a file, composite ones too; raises `Faults` with all that cannot be read or bound."""
    profiles, faults = scan_profiles(path, types_of(taxonomy))
    faults += _bind([profile for profile in profiles if profile.composite is None], taxonomy)[1]
    names = OpenNames()
    for profile in profiles:
        try:
            if profile.composite is not None:
                profile.bind_composite(taxonomy, names)
        except ComityError as error:
            faults.append(error)
    if faults:
        raise Faults(sorted(faults, key=line_of))
    return profiles


@collection_paused()
def bind_profiles(profiles: Iterable[Profile], taxonomy: Taxonomy | None = None) -> list[BoundProfile]:
    """The profiles with the meaning that the types give them; raises `Faults` with all that cannot be bound."""
    bound, faults = _bind(profiles, taxonomy)
    if faults:
        raise Faults(faults)
    return bound


def _bind(profiles: Iterable[Profile], taxonomy: Taxonomy | None) -> tuple[list[BoundProfile], list[ComityError]]:
    bound: list[BoundProfile] = []
    faults: list[ComityError] = []
    scopes = _Scopes(taxonomy)
    for profile in map(as_simple, profiles):
        try:
            scope, types = scopes.of(profile)
            bound.append(BoundProfile(profile.name, profile.bind(scope), types))
        except ComityError as error:
            faults.append(_with_hint(error, profile, taxonomy))
    return bound, faults


class _Scopes:
    """One scope for each type that profiles are on."""

    def __init__(self, taxonomy: Taxonomy | None) -> None:
        self._taxonomy = taxonomy
        self._by_type: dict[str, Scope] = {}
        self._open = Scope()

    def open_meanings(self) -> tuple[dict[tuple[str, ...], str | None], dict[tuple[str, ...], Kind]]:
        """What open attributes were found to be so far."""
        return dict(self._open.open_units), dict(self._open.open_texts)

    def restore(self, units: dict[tuple[str, ...], str | None], texts: dict[tuple[str, ...], Kind]) -> None:
        """Let open attributes be again what they were."""
        self._open = Scope(open_units=units, open_texts=texts)

    def of(self, profile: Profile) -> tuple[Scope, frozenset[str] | None]:
        """What a profile's names mean, and the types of its events."""
        if self._taxonomy is None:
            return self._open, None if profile.on is None else frozenset({profile.on})
        name = profile.on or EVENT.name
        try:
            scope = self._by_type.setdefault(name, Scope(self._taxonomy.type(name), self._taxonomy))
        except Misuse as error:
            raise profile.located(error, "on") from None
        return scope, None if profile.on is None else frozenset(scope.type_names(name))


def _with_hint(error: ComityError, profile: Profile, taxonomy: Taxonomy | None) -> ComityError:
    """The error; if a profile without a type found no attribute, with the advice to name the type."""
    if taxonomy is None or profile.on is not None or error.code != "unknown-attribute":
        return error
    path = error.place.path if error.place else None
    if path is None or path.startswith("event."):
        return error
    message = f"no type has an attribute {path!r}, or those that have it declare it differently"
    hint = "name the type: `{on: TYPE, where: FILTER}` in a YAML file"
    return Misuse(message, code=error.code, place=error.place, hint=hint, excerpt=error.excerpt)


def _about(type_name: str | None, tests: Iterable[tuple[BoundProfile, _Test]]) -> list[tuple[str, _Test]]:
    """The tests of the profiles that events of a type can match."""
    return [(one.name, test) for one, test in tests if one.types is None or type_name in one.types]
