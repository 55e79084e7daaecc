"""UCUM, the unified code for units of measure: which texts are codes, and what they convert into, exactly."""

from comity.meaning.ucum.convert import LinearUnit, convert, dimension, linear
from comity.meaning.ucum.parse import check, is_ucum, parse
from comity.meaning.ucum.table import Atom

__all__ = ["Atom", "LinearUnit", "check", "convert", "dimension", "is_ucum", "linear", "parse"]
