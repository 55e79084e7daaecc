"""What the languages of sources can say, and how a filter is split between a source and us."""

from comity.language.capability import EVERYTHING, NOTHING, LanguageCapability, MissingPolicy
from comity.language.language import Language
from comity.language.reasons import Reason
from comity.language.split import Split, split

__all__ = ["EVERYTHING", "NOTHING", "Language", "LanguageCapability", "MissingPolicy", "Reason", "Split", "split"]
