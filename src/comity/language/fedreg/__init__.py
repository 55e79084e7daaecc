"""FedReg, the registration language of the federation in the seeds: subscriptions in XML, read and printed.

The language is described in docs/reference/fedreg.md. It is read here, above profiles, because what a value in it means
is up to the type of the attribute.
"""

import re
from collections.abc import Iterable

from comity.language.language import Language, PrintedProfiles, Reading, Types
from comity.profile.profile import Profile

_START = re.compile(r"\s*(?:<\?xml[^>]*\?>\s*|<!--.*?-->\s*)*<(?:[\w.-]+:)?Subscription\b", re.S)


def is_fedreg(text: str) -> bool:
    """Whether a text is a subscription in FedReg.

    >>> is_fedreg('<xce:Subscription><xce:Template type="GPSEvent"/></xce:Subscription>'), is_fedreg("hot: x > 5")
    (True, False)
    """
    return bool(_START.match(text))


def _read(text: str, file: str, types: Types | None) -> Reading:
    from comity.language.fedreg.read import scan_fedreg  # libxml2 takes a while to load

    return scan_fedreg(text, file, types)


def _write(profiles: Iterable[Profile], types: Types) -> PrintedProfiles:
    from comity.language.fedreg.write import to_fedreg

    return to_fedreg(profiles, types)


FEDREG = Language.of_profiles("fedreg", read=_read, write=_write, suffixes=(".fedreg",), recognises=is_fedreg)
