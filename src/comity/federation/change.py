"""Changes of a federation's profiles, checked as a whole before anybody can see them.

A change is prepared on texts, loaded together with all other files, and only then written: hidden, flushed, renamed. A
stream that watches the folder sees the old file or the new one, never half of one. A lock in the folder keeps two
changes apart, so that neither loses the other.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from comity.document import Document, did_you_mean, parse_document, read_document, read_text
from comity.errors import ComityError, Faults, Misuse, Place, Retryable
from comity.federation.costs import check_costs, cost_of
from comity.federation.files import federation_files, load_files
from comity.federation.layout import PROFILES, with_fields, with_profiles, without_profile
from comity.federation.model import CompositeSubscription, Federation, Subscription
from comity.federation.nested import FEDERATION_NAMES
from comity.federation.new_profile import NewProfile
from comity.federation.text_profiles import text_profiles
from comity.limits import limits
from comity.pattern.text.clauses import PARAMETERS
from comity.profile.entries import scan_entries
from comity.profile.profile import Profile
from comity.profile.terms import TERMS
from comity.storage.durable import sync, sync_stream

if TYPE_CHECKING:
    from comity.match.cost import ProfileCost

FOLDER = "profiles"
LOCK = ".comity.lock"
_POLL_S = 0.05
_SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"\w[\w.\-]*")


@dataclass(frozen=True, slots=True)
class ListedProfile:
    """A profile of a federation, where it stands, how it is written there, and what it can cost."""

    profile: Subscription | CompositeSubscription
    place: Place
    written: NewProfile
    cost: ProfileCost


@dataclass(frozen=True, slots=True)
class Change:
    """What a change does to files. Nothing is written before `apply`."""

    root: Path
    texts: Mapping[Path, str]
    """The new text of each file that changes."""
    federation: Federation
    """As it is with the change."""
    costs: Mapping[str, ProfileCost] = field(default_factory=dict)
    """Of the profiles that were added or replaced."""

    def diff(self) -> str:
        """The change in the form of `diff -u`."""
        return "".join(line for path in self.texts for line in self._diff_of(path))

    def _diff_of(self, path: Path) -> Iterator[str]:
        old = _text(path).splitlines(keepends=True)
        name = path.relative_to(self.root).as_posix()
        before = f"a/{name}" if path.exists() else os.devnull
        for line in unified_diff(old, self.texts[path].splitlines(keepends=True), before, f"b/{name}"):
            yield line if line.endswith("\n") else line + "\n"

    def apply(self) -> None:
        """Write the files. Each appears at once; if one cannot be written, those before it are put back."""
        done: list[tuple[Path, bytes | None]] = []
        try:
            for path, text in self.texts.items():
                before = path.read_bytes() if path.exists() else None
                replace_file(path, _as_it_was(text, before))
                done.append((path, before))
        except OSError as error:
            for path, before in reversed(done):
                _put_back(path, before)
            reason = f"cannot be written: {error.strerror}"
            raise Misuse(reason, code="unwritable-file", place=Place(str(path))) from error


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Nobody else changes the federation inside the block; waits for others up to `profile_lock_timeout_ms`."""
    federation_files(root)
    try:
        stream = (root / LOCK).open("ab")
    except OSError as error:
        reason = f"the folder cannot be written: {error.strerror}"
        raise Misuse(reason, code="unwritable-folder", place=Place(str(root))) from error
    with stream:
        _wait_for(stream.fileno(), root)
        yield


def _wait_for(descriptor: int, root: Path) -> None:
    until = time.monotonic() + limits().profile_lock_timeout_ms / 1_000
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() >= until:
                hint = "try again, or see who holds the file .comity.lock in it"
                message = "another process is changing this federation"
                raise Retryable(message, code="federation-locked", place=Place(str(root)), hint=hint) from None
        time.sleep(_POLL_S)


def listed(root: Path, federation: Federation) -> list[ListedProfile]:
    """The profiles of a federation, in the order of the files."""
    known: dict[str, Subscription | CompositeSubscription] = {**federation.profiles, **federation.composites}
    return [
        ListedProfile(known[one.name], one.place or Place(), _as_written(one, known), cost_of(known[one.name]))
        for one in profiles_in(root)
        if one.name in known
    ]


def profiles_in(root: Path) -> list[Profile]:
    """The profiles of a federation's files, as far as they can be read: those of YAML files first."""
    documents = {str(document.file): document for document in _homes(federation_files(root)).values()}
    return [profile for one in documents.values() for profile in scan_entries(one)[0]] + text_profiles(root)


def _as_written(profile: Profile, known: Mapping[str, Subscription | CompositeSubscription]) -> NewProfile:
    return NewProfile.of(replace(profile, domain=known[profile.name].domain))


def written(root: Path, name: str) -> NewProfile | None:
    """A profile as it is written in the files of a federation; None when it is not there."""
    document = _homes(federation_files(root)).get(name)
    entries = [] if document is None else scan_entries(document)[0]
    return next((NewProfile.of(one) for one in entries if one.name == name), None)


def add(
    root: Path,
    added: Sequence[NewProfile],
    *,
    file: Path | None = None,
    replacing: bool = False,
    source: tuple[str, str] | None = None,
) -> Change:
    """The change that adds profiles, all of them or none; raises `Faults` or `Misuse` when they do not fit.

    New ones go into `profiles/DOMAIN.yaml`, or into `file`; with `replacing`, one that is there is changed in its
    place. `source` is the name and the text that they were read from: faults then point into it.
    """
    _check_names(added)
    homes = _homes(federation_files(root))
    taken = [profile for profile in added if profile.name in homes]
    if taken and not replacing:
        raise Faults([_taken(homes[profile.name], profile.name) for profile in taken])
    texts = _with_added(root, added, homes, file)
    try:
        federation = staged(root, texts)
    except ComityError:
        if source is not None:
            _check_source(root, added, [profile.name for profile in taken], source)
        raise
    return Change(root, texts, federation, check_costs(federation, [profile.name for profile in added]))


def check(root: Path, profile: NewProfile) -> list[ComityError]:
    """What the federation has against a profile, apart from its name, which may be that of another one."""
    path, taken = _federation_of(root, profile.domain) / _NEW_FILE, _homes(federation_files(root))
    name = next(name for number in count() if (name := f"{profile.name}_{number}") not in taken)
    try:
        staged(root, {path: with_profiles("", str(path), {name: profile.fields})})
    except ComityError as error:
        return list(error.errors) if isinstance(error, Faults) else [error]
    return []


def _with_added(root: Path, added: Sequence[NewProfile], homes: Mapping[str, Document], file: Path | None) -> _Texts:
    texts = _Texts()
    fresh: dict[Path, dict[str, dict[str, str | int]]] = {}
    for profile in added:
        if profile.name in homes:
            path = Path(str(homes[profile.name].file))
            texts[path] = with_fields(texts[path], str(path), profile.name, profile.fields, (*PARAMETERS, *TERMS))
        else:
            fresh.setdefault(_home_of(root, profile, file), {})[profile.name] = profile.fields
    for path, entries in fresh.items():
        texts[path] = with_profiles(texts[path], str(path), entries)
    return texts


def _check_source(root: Path, added: Sequence[NewProfile], taken: Iterable[str], source: tuple[str, str]) -> None:
    """Read the new profiles from where they come as if that were a file of the federation: faults are placed there.

    Those of a federation inside are read as if the file stood there, where their domain is known.
    """
    name, text = source
    homes = {profile.name: _federation_of(root, profile.domain) for profile in added}
    others = _without(root, taken)
    for folder in dict.fromkeys(homes.values()):
        try:
            staged(root, {**others, folder / _NEW_FILE: text}, shown=name)
        except ComityError as error:
            found = error.errors if isinstance(error, Faults) else [error]
            own = [one for one in found if homes.get(_profile_at(text, one.place, name) or "", folder) == folder]
            if own:
                raise Faults(own) from None


_NEW_FILE = ".comity-new-profiles.yaml"
"""A file that no federation has."""


def _profile_at(text: str, place: Place | None, file: str) -> str | None:
    """The profile of a text that a place is in."""
    if place is None or place.file != file or place.line is None:
        return None
    document = parse_document(text, file)
    starts = {name: document.place((PROFILES, name), key=True) for name in document.data[PROFILES]}
    at = (place.line, place.column or 0)
    before = [name for name, start in starts.items() if (start.line or 0, start.column or 0) <= at]
    return before[-1] if before else None


def _without(root: Path, names: Iterable[str]) -> _Texts:
    homes, texts = _homes(federation_files(root)), _Texts()
    for name in names:
        path = Path(str(homes[name].file))
        texts[path] = without_profile(texts[path], str(path), name)
    return texts


def remove(root: Path, names: Iterable[str]) -> Change:
    """The change that takes profiles away, all of them or none."""
    homes = _homes(federation_files(root))
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in homes]
    if unknown:
        raise Faults([_not_here(root, name, homes) for name in unknown])
    texts = _without(root, wanted)
    return Change(root, texts, staged(root, texts))


def staged(root: Path, texts: Mapping[Path, str], *, shown: str | None = None) -> Federation:
    """The federation as it would be with other texts of some files; faults are placed in those files.

    `shown` is what the last of them is called in faults.
    """
    with tempfile.TemporaryDirectory(prefix="comity-profiles-") as folder:
        instead = {path: Path(folder) / f"{number}{path.suffix}" for number, path in enumerate(texts)}
        for path, copy in instead.items():
            copy.write_text(texts[path], encoding="utf-8")
        paths = sorted({*federation_files(root), *instead})
        try:
            return load_files(paths, name=root.resolve().name, folder=root, instead=instead)
        except ComityError as error:
            names = {path: str(path) for path in instead}
            if shown is not None:
                names[next(reversed(instead))] = shown
            _relocate(error, {str(copy): (names[path], texts[path]) for path, copy in instead.items()})
            raise


def replace_file(path: Path, content: bytes) -> None:
    """Let a file hold something else, at once: who reads it sees the old content or the new one.

    Its time of change always moves on, even when the clock does not, because that is what watchers look at.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
            sync_stream(stream)
        if target.exists():
            shutil.copymode(target, partial)
            later = max(partial.stat().st_mtime_ns, target.stat().st_mtime_ns + 1)
            os.utime(partial, ns=(later, later))
        partial.replace(target)
        sync(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def _put_back(path: Path, before: bytes | None) -> None:
    if before is None:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, before)


class _Texts(dict[Path, str]):
    """Texts by file: what was put in, or else what is on the disk."""

    def __missing__(self, path: Path) -> str:
        return _text(path)


def _text(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _as_it_was(text: str, before: bytes | None) -> bytes:
    """The text in bytes, with the line ends and the byte order mark that the file had."""
    content = text.encode()
    if before is None:
        return content
    if b"\r\n" in before:
        content = content.replace(b"\n", b"\r\n")
    return b"\xef\xbb\xbf" + content if before.startswith(b"\xef\xbb\xbf") else content


def _homes(paths: Iterable[Path]) -> dict[str, Document]:
    """For each profile the document that it stands in; files that cannot be read are left to the loader."""
    homes: dict[str, Document] = {}
    for path in paths:
        try:
            document = read_document(path)
        except ComityError:
            continue
        keys = document.data if isinstance(document.data, dict) else {}
        if "domain" not in keys and "contract" not in keys and isinstance(keys.get("profiles"), dict):
            homes.update(dict.fromkeys(keys["profiles"], document))
    return homes


def _home_of(root: Path, profile: NewProfile, file: Path | None) -> Path:
    """The file that a new profile goes into."""
    if file is None:
        if not _NAME.fullmatch(profile.domain):
            raise Misuse(f"there is no domain {profile.domain[:60]!r}", code="unknown-domain")
        return _federation_of(root, profile.domain) / FOLDER / f"{profile.domain}.yaml"
    inside = (root / file).resolve()
    if inside.suffix not in _SUFFIXES or not inside.is_relative_to(root.resolve()):
        hint = f"name a .yaml file inside {root}"
        place = Place(str(file))
        raise Misuse("this file is no part of the federation", code="outside-federation", place=place, hint=hint)
    return root / inside.relative_to(root.resolve())


def _federation_of(root: Path, domain: str) -> Path:
    """The folder of the federation that a domain belongs to: this one, or one inside it."""
    says_so = re.compile(rf"""^["']?domain["']?\s*:\s*["']?{re.escape(domain)}["']?\s*(#.*)?$""", re.MULTILINE)
    homes = (path.parent for path in federation_files(root) if says_so.search(read_text(path)))
    for folder in homes:
        inside = (one for one in (folder, *folder.parents) if any((one / name).is_file() for name in FEDERATION_NAMES))
        return next((one for one in inside if root in (one, *one.parents)), root)
    return root


def _check_names(added: Sequence[NewProfile]) -> None:
    for profile in added:
        if not _NAME.fullmatch(profile.name):
            hint = "use letters, digits, underscores, dots and dashes"
            raise Misuse(f"{profile.name[:60]!r} cannot name a profile", code="bad-name", hint=hint)


def _taken(document: Document, name: str) -> Misuse:
    message, hint = f"there is a profile {name!r} already", "choose another name, or pass --replace"
    return document.fault(message, ("profiles", name), code="duplicate-profile", key=True, hint=hint)


def _not_here(root: Path, name: str, known: Iterable[str]) -> Misuse:
    """Why a profile is in no YAML file: it is in a text, which only people change, or nowhere."""
    for one in text_profiles(root):
        if one.name == name:
            message = f"{name!r} stands in a text, which is not changed from here"
            return Misuse(message, code="not-a-profile-file", place=one.place, hint="change this file in an editor")
    return _unknown(root, name, known)


def _unknown(root: Path, name: str, known: Iterable[str]) -> Misuse:
    hint = did_you_mean(name, known) or f"`comity profiles list {root}` shows what there is"
    return Misuse(f"there is no profile {name[:60]!r}", code="unknown-profile", place=Place(str(root)), hint=hint)


def _relocate(error: ComityError, originals: Mapping[str, tuple[str, str]]) -> None:
    """Let places in staged copies name the files that they stand for, and show the line as it would be."""
    for one in error.errors if isinstance(error, Faults) else [error]:
        file = one.place.file if one.place else None
        if one.place is not None and file is not None and file in originals:
            name, text = originals[file]
            one.place = replace(one.place, file=name)
            one.excerpt = one.excerpt or _excerpt(text, one.place)
    if isinstance(error, Faults):
        error.message = "\n".join(str(one) for one in error.errors)


def _excerpt(text: str, place: Place) -> str | None:
    if place.line is None:
        return None
    line = text.split("\n")[place.line - 1]
    return f"  {line}\n  {' ' * ((place.column or 1) - 1)}^"
