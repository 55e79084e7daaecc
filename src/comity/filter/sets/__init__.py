"""Exact sets of values, on which the relations between filters are decided."""

from comity.filter.sets.automaton import Automaton, TooLarge
from comity.filter.sets.numbers import Number, NumberSet
from comity.filter.sets.strings import StringSet
from comity.filter.sets.values import MISSING, Missing, ValueSet

__all__ = ["MISSING", "Automaton", "Missing", "Number", "NumberSet", "StringSet", "TooLarge", "ValueSet"]
