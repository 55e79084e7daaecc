"""RDL, the Rule Definition Language of RUBCES: rules are read as composite profiles. See docs/reference/rdl.md."""

from comity.language.language import Language, Reading, Types
from comity.language.rdl.read import is_rdl, scan_rdl


def _read(text: str, file: str, types: Types | None) -> Reading:
    return scan_rdl(text, file)


RDL = Language.of_profiles("rdl", read=_read, suffixes=(".rdl",), recognises=is_rdl)
