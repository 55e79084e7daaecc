"""The ontology that comes with Comity."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from comity.meaning.ontology import Ontology
from comity.meaning.ontology_file import read_ontology

FILE = Path(__file__).parent / "builtin.yaml"


@cache
def builtin() -> Ontology:
    """Quantities, money, time, places, people and devices.

    >>> builtin().concept("Länge").name
    'Length'
    """
    return read_ontology(FILE)
