"""Building an index from profiles that were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from comity.event.types import AttributeType
from comity.expression.tree import Expression
from comity.match.channels import Channel, Path
from comity.match.index import ProfileIndex
from comity.match.pace import Rest, no_rest
from comity.match.predicates import settled
from comity.match.reading import PredicateRows


class Ingredients(NamedTuple):
    """What an index is built from: rows of profiles that were read, and what their numbers mean."""

    rows: PredicateRows
    channels: list[Channel]
    tests: list[Expression]
    attributes: Mapping[Path, AttributeType] | None = None
    sample: pa.RecordBatch | None = None


def build(ingredients: Ingredients, rest: Rest = no_rest) -> ProfileIndex:
    """The index over rows, ready for removals."""
    rows, channels, tests, attributes, sample = ingredients
    index = ProfileIndex.over(settled(rows, channels, tests, rest), attributes, sample, rest=rest)
    index.prepare_removal()
    return index
