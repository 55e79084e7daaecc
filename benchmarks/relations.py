"""How long it takes to find, among many filters, those that cover one, are covered by it, or overlap it.

`python benchmarks/relations.py [--sizes 1000,10000,100000] [--out FILE]`

The index is compared with testing the filters one after the other, in two ways: *boxes* has a box per filter at hand and
compares set with set, which is as fast as pairs get; *generic* is `comity.filter.relations`, which takes any filter. Both
are measured on a sample of pairs and scaled to the size of the set. A look-up by the index starts from the tree of a
filter that is not in the set; *prepared* is the part of that time that goes into its box, which *boxes* has at hand.
Times are processor time.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import tracemalloc
from collections.abc import Callable, Iterator
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
from comity.filter.index import FilterSet
from comity.filter.index_shape import shape_of
from comity.filter.space import Space

from workload import Workload, event_type, text_of, tree_of  # isort: skip

QUERIES = 200
SAMPLED_BOX_PAIRS = 40_000
SAMPLED_GENERIC_PAIRS = 300
VERIFIED = {1_000: 60, 10_000: 8}
"""Queries whose results are compared with those of all pairs, by the size of the set."""
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
    index: Callable[[FilterSet, Expression], frozenset[int]]
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
    """What was measured for one relation and one size; the two pairwise times are scaled from samples."""

    size: int
    relation: str
    build_s: float
    bytes_each: int
    results: float
    lookup_us: float
    prepared_us: float
    boxes_us: float
    generic_us: float
    speedup: float
    speedup_generic: float
    verified: int


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


def box_pair_us(test: Test, boxes: list[Box], asked: list[Box]) -> float:
    """Microseconds for one pair of boxes, over a sample: each query against a run of filters."""
    per_query = SAMPLED_BOX_PAIRS // len(asked)
    chance = random.Random(1)
    runs = [chance.choices(boxes, k=per_query) for _ in asked]
    start = process_time()
    for query, run in zip(asked, runs, strict=True):
        [at for at, box in enumerate(run) if test(box, query)]
    return (process_time() - start) / (per_query * len(asked)) * 1e6


def generic_pair_us(relation: Relation, trees: list[Expression], asked: list[Expression]) -> float:
    """Microseconds for one pair of trees, over a sample."""
    chance = random.Random(2)
    pairs = [(chance.choice(trees), chance.choice(asked)) for _ in range(SAMPLED_GENERIC_PAIRS)]
    start = process_time()
    for one, other in pairs:
        relation.generic(one, other)
    return (process_time() - start) / len(pairs) * 1e6


def verify(filters: FilterSet, relation: Relation, boxes: list[Box], asked: list[Expression]) -> int:
    """Compare the results of queries with those of all pairs of boxes; how many were compared."""
    for tree in asked:
        query = box_of(tree)
        expected = {key for key, box in enumerate(boxes) if relation.box(box, query)}
        assert relation.index(filters, tree) == expected, f"{relation.name} differs from pairs: {tree}"
    return len(asked)


def measure(size: int, trees: list[Expression], boxes: list[Box], asked: list[Expression]) -> Iterator[Row]:
    """One row for each relation."""
    trees, boxes = trees[:size], boxes[:size]
    memory = bytes_each(trees)
    start = process_time()
    filters = built(trees)
    build_s = process_time() - start
    asked_boxes = list(map(box_of, asked))
    prepared = mean_us(lambda tree: shape_of(tree, SPACE), asked)
    for relation in RELATIONS:
        results = mean(len(relation.index(filters, tree)) for tree in asked)
        lookup = mean_us(lambda tree, ask=relation.index: ask(filters, tree), asked)  # type: ignore[misc]
        in_boxes = box_pair_us(relation.box, boxes, asked_boxes) * size
        generic = generic_pair_us(relation, trees, asked) * size
        checked = verify(filters, relation, boxes, asked[: VERIFIED.get(size, 0)])
        speedups = in_boxes / lookup, generic / lookup
        yield Row(
            size, relation.name, build_s, memory, results, lookup, prepared, in_boxes, generic, *speedups, checked
        )


HEADINGS = (
    f"{'filters':>8} {'relation':<12} {'build s':>8} {'bytes':>6} {'results':>9} {'look-up µs':>11} {'prepared':>9}"
    f" {'boxes µs':>11} {'generic µs':>13} {'× boxes':>8} {'× generic':>10} {'verified':>9}"
)


def shown(row: Row) -> str:
    """The row of the table."""
    return (
        f"{row.size:>8,} {row.relation:<12} {row.build_s:>8.2f} {row.bytes_each:>6,} {row.results:>9,.1f}"
        f" {row.lookup_us:>11,.0f} {row.prepared_us:>9,.0f} {row.boxes_us:>11,.0f} {row.generic_us:>13,.0f}"
        f" {row.speedup:>8,.0f} {row.speedup_generic:>10,.0f} {row.verified:>9}"
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
    print(
        f"{QUERIES} queries. Pairs are measured on samples and scaled: {SAMPLED_BOX_PAIRS:,} pairs of boxes,"
        f" {SAMPLED_GENERIC_PAIRS} generic ones."
    )
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
