"""The one-to-one assignment with the highest sum."""

from __future__ import annotations

from collections.abc import Sequence

from comity.limits import limits

Scores = Sequence[Sequence[float]]


def assign(scores: Scores, at_least: float) -> list[tuple[int, int]]:
    """Pairs of a row and a column, each in one pair at most, of scores of `at_least` or more.

    Up to `max_assigned_attributes` rows and columns the sum of the scores is the highest that there is; beyond, the
    highest score goes first, which gives at least half of it.

    >>> assign([[90, 80], [85, 10]], at_least=40)
    [(0, 1), (1, 0)]
    """
    rows, columns = len(scores), len(scores[0]) if scores else 0
    useful = [[score if score >= at_least else 0.0 for score in row] for row in scores]
    best = _best if max(rows, columns) <= limits().max_assigned_attributes else _greedy
    return sorted((row, column) for row, column in best(useful) if useful[row][column] > 0)


def _greedy(scores: Scores) -> list[tuple[int, int]]:
    order = sorted(
        ((score, row, column) for row, line in enumerate(scores) for column, score in enumerate(line)),
        key=lambda one: (-one[0], one[1], one[2]),
    )
    rows: set[int] = set()
    columns: set[int] = set()
    found: list[tuple[int, int]] = []
    for _, row, column in order:
        if row not in rows and column not in columns:
            rows.add(row)
            columns.add(column)
            found.append((row, column))
    return found


def _best(scores: Scores) -> list[tuple[int, int]]:
    """Rows are taken in one after the other; each finds the cheapest way to rearrange those before it."""
    if not scores or not scores[0]:
        return []
    size = max(len(scores), len(scores[0]))
    cost = [[0.0] * size for _ in range(size)]
    for row, line in enumerate(scores):
        for column, score in enumerate(line):
            cost[row][column] = -score
    owner = _owners(cost, size)
    pairs = ((owner[column], column) for column in range(size))
    return [(row, column) for row, column in pairs if row < len(scores) and column < len(scores[0])]


def _owners(cost: list[list[float]], size: int) -> list[int]:
    """The row of each column, by the Hungarian method with potentials, in cubic time."""
    row_price, column_price = [0.0] * size, [0.0] * (size + 1)
    owner = [-1] * (size + 1)  # the last column is the place where a new row waits
    for row in range(size):
        owner[size] = row
        slack, before, seen = [float("inf")] * size, [size] * size, [False] * (size + 1)
        at = size
        while owner[at] != -1:
            seen[at] = True
            _relax(cost[owner[at]], row_price[owner[at]], column_price, slack, before, seen, at)
            following = min((one for one in range(size) if not seen[one]), key=slack.__getitem__)
            _shift(slack[following], row_price, column_price, slack, owner, seen)
            at = following
        while at != size:
            owner[at] = owner[before[at]]
            at = before[at]
    return owner[:size]


def _relax(
    cost: list[float],
    price: float,
    column_price: list[float],
    slack: list[float],
    before: list[int],
    seen: list[bool],
    at: int,
) -> None:
    """Note for each column that is not seen yet what it would cost more to come there from here."""
    for column, one in enumerate(cost):
        reduced = one - price - column_price[column]
        if not seen[column] and reduced < slack[column]:
            slack[column], before[column] = reduced, at


def _shift(
    step: float,
    row_price: list[float],
    column_price: list[float],
    slack: list[float],
    owner: list[int],
    seen: list[bool],
) -> None:
    """Move the prices so that the next column costs nothing more."""
    for column, done in enumerate(seen):
        if done:
            row_price[owner[column]] += step
            column_price[column] -= step
        elif column < len(slack):
            slack[column] -= step
