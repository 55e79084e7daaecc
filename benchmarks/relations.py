"""How long it takes to find, among many filters, those that cover one, are covered by it, or overlap it.

`python benchmarks/relations.py [--sizes 1000,10000,100000] [--out FILE]`

The index is compared with testing the filters one after the other, in two ways. *boxes* has a box per filter at hand
and compares set with set, which is as fast as pairs get; it is measured on some of the queries, each against all
filters, and its results are compared with those of the index. *generic* is `comity.filter.relations`, which takes any
filter; it is measured on a sample of pairs and scaled to the size of the set. A look-up by the index starts from the
tree of a filter that is not in the set, and gives the set of keys: *prepared* is the part of that time that goes into
the box of the filter, which *boxes* has at hand, and *listed* is a look-up with all keys put in a list. Times are
processor time.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import tracemalloc
from collections.abc import Callable, Iterator, Set
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from time import process_time

from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.filter import relations
from comity.filter.conjunctive import Box, as_box
from comity.filter.formula import formula
from comity.filter.index.filter_set import FilterSet
from comity.filter.index.shape import shape_of
from comity.filter.space import Space

from workload import Workload, event_type, text_of, tree_of  # isort: skip

QUERIES = 200
PAIRED_QUERIES = 20
"""Queries that are also answered pair by pair."""
SAMPLED_GENERIC_PAIRS = 300
MEASURED_MEMORY = 10_000
"""Filters of which the memory is measured at most, since measuring is slow. Larger sets share more."""

SCOPE = Scope(type=event_type())
SPACE = Space(event_type())

Test = Callable[[Box, Box], bool]


def box_covers(outer: Box, inner: Box) -> bool:
    """Whether one box covers the other."""
    for path, values in outer.items():
        other = inner.get(path)
        if other is None or not values.covers(other):
            return False
    return True


def box_is_covered(inner: Box, outer: Box) -> bool:
    """Whether the other box covers this one."""
    return box_covers(outer, inner)


def box_overlaps(left: Box, right: Box) -> bool:
    """Whether two boxes have something in common."""
    for path, values in left.items():
        other = right.get(path)
        if other is not None and not values.overlaps(other):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Relation:
    """One question, asked of the index and of pairs; `box` takes a filter of the set and then the query."""

    name: str
    index: Callable[[FilterSet, Expression], Set[int]]
    box: Test
    generic: Callable[[Expression, Expression], object]


RELATIONS = (
    Relation("covering", FilterSet.covering, box_covers, lambda one, asked: relations.covers(one, asked, SCOPE)),
    Relation(
        "covered by", FilterSet.covered_by, box_is_covered, lambda one, asked: relations.covers(asked, one, SCOPE)
    ),
    Relation(
        "overlapping", FilterSet.overlapping, box_overlaps, lambda one, asked: relations.overlaps(one, asked, SCOPE)
    ),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured for one relation and one size; the generic time is scaled from a sample of pairs."""

    size: int
    relation: str
    build_s: float
    bytes_each: int
    results: float
    lookup_us: float
    listed_us: float
    prepared_us: float
    boxes_us: float
    generic_us: float
    speedup: float
    speedup_generic: float


def box_of(tree: Expression) -> Box:
    """The box of a filter of the workload, which has one."""
    box = as_box(formula(tree, SPACE), SPACE)
    assert box is not None, "the workload has no contradictions"
    return box


def built(trees: list[Expression]) -> FilterSet:
    """An index of the filters, numbered from 0."""
    filters = FilterSet(SCOPE)
    for key, tree in enumerate(trees):
        filters.add(key, tree)
    return filters


def bytes_each(trees: list[Expression]) -> int:
    """Memory that the index takes for a filter, beside the filter's tree."""
    sample = trees[:MEASURED_MEMORY]
    tracemalloc.start()
    filters = built(sample)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken // len(filters)


def mean_us(run: Callable[[Expression], object], trees: list[Expression]) -> float:
    """Microseconds for one of them."""
    start = process_time()
    for tree in trees:
        run(tree)
    return (process_time() - start) / len(trees) * 1e6


def box_pairs_us(relation: Relation, boxes: list[Box], asked: list[Expression], filters: FilterSet) -> float:
    """Microseconds for one query against all boxes; the index must give the same results."""
    queries = list(map(box_of, asked))
    start = process_time()
    found = [[key for key, box in enumerate(boxes) if relation.box(box, query)] for query in queries]
    taken = process_time() - start
    for tree, expected in zip(asked, found, strict=True):
        assert relation.index(filters, tree) == set(expected), f"{relation.name} differs from pairs: {tree}"
    return taken / len(asked) * 1e6


def generic_pair_us(relation: Relation, trees: list[Expression], asked: list[Expression]) -> float:
    """Microseconds for one pair of trees, over a sample."""
    chance = random.Random(2)
    pairs = [(chance.choice(trees), chance.choice(asked)) for _ in range(SAMPLED_GENERIC_PAIRS)]
    start = process_time()
    for one, other in pairs:
        relation.generic(one, other)
    return (process_time() - start) / len(pairs) * 1e6


def measure(size: int, trees: list[Expression], boxes: list[Box], asked: list[Expression]) -> Iterator[Row]:
    """One row for each relation."""
    trees, boxes = trees[:size], boxes[:size]
    memory = bytes_each(trees)
    start = process_time()
    filters = built(trees)
    build_s = process_time() - start
    prepared = mean_us(lambda tree: shape_of(tree, SPACE), asked)
    for relation in RELATIONS:
        results = mean(len(relation.index(filters, tree)) for tree in asked)
        lookup = mean_us(lambda tree, ask=relation.index: ask(filters, tree), asked)  # type: ignore[misc]
        listed = mean_us(lambda tree, ask=relation.index: list(ask(filters, tree)), asked)  # type: ignore[misc]
        in_boxes = box_pairs_us(relation, boxes, asked[:PAIRED_QUERIES], filters)
        generic = generic_pair_us(relation, trees, asked) * size
        times = lookup, listed, prepared, in_boxes, generic
        yield Row(size, relation.name, build_s, memory, results, *times, in_boxes / lookup, generic / lookup)


HEADINGS = (
    f"{'filters':>8} {'relation':<12} {'build s':>8} {'bytes':>6} {'results':>9} {'look-up µs':>11} {'listed':>7}"
    f" {'prepared':>9} {'boxes µs':>11} {'generic µs':>13} {'× boxes':>8} {'× generic':>10}"
)


def shown(row: Row) -> str:
    """The row of the table."""
    return (
        f"{row.size:>8,} {row.relation:<12} {row.build_s:>8.2f} {row.bytes_each:>6,} {row.results:>9,.1f}"
        f" {row.lookup_us:>11,.0f} {row.listed_us:>7,.0f} {row.prepared_us:>9,.0f} {row.boxes_us:>11,.0f}"
        f" {row.generic_us:>13,.0f} {row.speedup:>8,.0f} {row.speedup_generic:>10,.0f}"
    )


def growth(rows: list[Row]) -> Iterator[str]:
    """How the time of a look-up grows with the set."""
    for relation in RELATIONS:
        own = [row for row in rows if row.relation == relation.name]
        for small, large in pairwise(own):
            factor = large.lookup_us / small.lookup_us
            yield f"{relation.name}: {large.size / small.size:g} times the filters take {factor:.1f} times as long"


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="sizes of the set, with commas between them")
    parser.add_argument("--out", type=Path, help="write the numbers to this file as JSON")
    arguments = parser.parse_args()
    sizes = sorted(int(size) for size in arguments.sizes.split(","))
    asked = [tree_of(one) for one in Workload(seed=11).filters(QUERIES)]
    for one in Workload(seed=7).filters(50):
        assert bind_text(text_of(one), SCOPE) == tree_of(one)
    trees = [tree_of(one) for one in Workload(seed=7).filters(sizes[-1])]
    boxes = list(map(box_of, trees))
    print(f"{QUERIES} queries, {PAIRED_QUERIES} of them against all boxes too, with equal results", end="; ")
    print(f"generic: {SAMPLED_GENERIC_PAIRS} pairs, scaled")
    print(HEADINGS, flush=True)
    rows: list[Row] = []
    for size in sizes:
        for row in measure(size, trees, boxes, asked):
            rows.append(row)
            print(shown(row), flush=True)
    print(*growth(rows), sep="\n")
    if arguments.out:
        about = {"python": platform.python_version(), "machine": platform.machine(), "queries": QUERIES}
        arguments.out.write_text(json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
