"""Ranks of events as the scanner has them: straight from its lanes, where that can be."""

from __future__ import annotations

import numpy as np

from comity.event.kinds import Kind
from comity.event.scan.lanes import LaneGroup
from comity.event.types import ENVELOPE_NAME
from comity.match.channels import Ints, View
from comity.match.columns import column_at
from comity.match.kernels.lanes import rank_lane_numbers, rank_lane_texts
from comity.match.ranks import Ranking

_TYPE = (ENVELOPE_NAME, "type")


def rank_lanes(rankings: list[Ranking], group: LaneGroup) -> Ints:
    """The ranks of the events of a group, by channel, then event; the same as those of its columns."""
    ranks = np.empty((len(rankings), len(group.rows)), np.int32)
    for ranking, out in zip(rankings, ranks, strict=True):
        _rank(ranking, group, out)
    return ranks


def _rank(ranking: Ranking, group: LaneGroup, out: Ints) -> None:
    path = ranking.path
    if path == _TYPE:
        out[:] = ranking.of_value(group.type_name)
        return
    column = group.known.columns.get(path)
    kind = None if column is None else column.attribute.kind
    if column is not None and kind is Kind.FLOAT and ranking.view is View.VALUE:
        rank_lane_numbers(*group.floats(column), ranking.float_scale, out)
    elif column is not None and kind is Kind.STRING and ranking.view in (View.VALUE, View.TYPE):
        rank_lane_texts(*group.spans(column), *group.texts, ranking.texts, out)
    else:  # rare: times, truths, whether there is a struct, the envelope
        ranking.of_column(column_at(group.batch(), path) if path else None, out)
