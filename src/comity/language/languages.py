"""The languages that there are: our own, and those that other packages bring under `comity.languages`.

An entry point has the name of the language and gives a `Language`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from comity.document import did_you_mean
from comity.errors import Misuse, Permanent
from comity.language.comity import COMITY
from comity.language.fedreg import FEDREG
from comity.language.language import NONE, Language
from comity.language.parquet import PARQUET
from comity.language.rdl import RDL

GROUP = "comity.languages"
"""The group of entry points of plugins."""
LANGUAGES: Mapping[str, Language] = {one.name: one for one in (NONE, COMITY, PARQUET, RDL, FEDREG)}


@cache
def languages() -> Mapping[str, Language]:
    """All languages by name, ours first.

    >>> list(languages())[:5]
    ['none', 'comity', 'parquet', 'rdl', 'fedreg']
    """
    found = dict(LANGUAGES)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            brought = point.load()
        except Exception as error:  # the code of a plugin may fail in any way
            raise _broken(point.name, f"cannot be loaded: {error}", point.value) from error
        if not isinstance(brought, Language):
            raise _broken(point.name, "gives no Language", point.value)
        found.setdefault(point.name, brought)
    return found


def language(name: str) -> Language:
    """The language of a name; raises `Misuse` when there is none.

    >>> language("parquet").capability.negation
    False
    """
    found = languages().get(name)
    if found is None:
        hint = did_you_mean(name, languages()) or f"known: {', '.join(sorted(languages()))}"
        raise Misuse(f"there is no language `{name}`", code="unknown-language", hint=hint)
    return found


def _broken(name: str, reason: str, value: str) -> Permanent:
    return Permanent(f"the plugin of language `{name}` {reason}", code="broken-language", hint=f"it is {value}")
