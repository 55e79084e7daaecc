"""What the languages of sources can say, and how a filter is split between a source and us."""

from comity.language.capability import EVERYTHING, NOTHING, Capability, Missing
from comity.language.language import Language
from comity.language.reasons import Reason
from comity.language.split import Split, split

__all__ = ["EVERYTHING", "NOTHING", "Capability", "Language", "Missing", "Reason", "Split", "split"]
