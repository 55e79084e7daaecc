"""The languages that there are, by the name under which a connector says that it understands one."""

from __future__ import annotations

from collections.abc import Mapping

from comity.document import did_you_mean
from comity.errors import Misuse
from comity.language.comity import COMITY
from comity.language.language import NONE, Language
from comity.language.parquet import PARQUET

LANGUAGES: Mapping[str, Language] = {one.name: one for one in (NONE, COMITY, PARQUET)}


def language(name: str) -> Language:
    """The language of a name; raises `Misuse` when there is none.

    >>> language("parquet").capability.negation
    False
    """
    found = LANGUAGES.get(name)
    if found is None:
        hint = did_you_mean(name, LANGUAGES) or f"known: {', '.join(sorted(LANGUAGES))}"
        raise Misuse(f"there is no language of filters `{name}`", code="unknown-language", hint=hint)
    return found
