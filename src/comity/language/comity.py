"""Comity's own language: another Comity, or anything that evaluates our expressions, can be asked for all of it."""

from __future__ import annotations

from comity.expression.render import render
from comity.language.capability import EVERYTHING
from comity.language.language import Language

COMITY = Language(EVERYTHING, render)
