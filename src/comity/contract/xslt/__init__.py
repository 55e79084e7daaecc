"""Mappings and XSLT: a mapping printed as a stylesheet, and a stylesheet read as a mapping."""

from comity.contract.xslt.read import ReadStylesheet, examine_stylesheet, read_stylesheet
from comity.contract.xslt.run import FUNCTIONS_URI, Stylesheet
from comity.contract.xslt.write import to_xslt

__all__ = ["FUNCTIONS_URI", "ReadStylesheet", "Stylesheet", "examine_stylesheet", "read_stylesheet", "to_xslt"]
