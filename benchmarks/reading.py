"""How long it takes until profiles that stand in a file can be matched, in seconds of processor time.

`python benchmarks/reading.py [--sizes 10000 100000] [--workload med] [--quick] [--out FILE]`

The profiles are those of `match`, conjunctions of 2 to 6 constraints over 20 attributes, written as a text of one
`name: filter` a line, as YAML of one `name: 'filter'` a line, and as YAML with `{on: TYPE, where: FILTER}`. The stages
are those of reading them: *file* takes the text from the disk, *document* is YAML with its places, *parse* makes the
trees, *bind* gives their names a meaning, *index* builds what events are matched with. Beside them stand floors, which
do far less with the same text in the same run: *split* takes lines and words apart, *tokens* finds the words of all
filters by one regular expression, *yaml* is the data of PyYAML's compiled loader, without places.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeVar

import yaml

from comity.bulk import collection_paused
from comity.document import parse_document, read_text
from comity.expression.render import render
from comity.expression.tree import Expression
from comity.language.files import parse_profiles
from comity.limits import limited
from comity.match.index import ProfileIndex
from comity.match.match import BoundProfile, bind_profiles
from comity.profile.profile import Profile

from workload_match import WORKLOADS, World  # isort: skip

T = TypeVar("T")
FORMS: dict[str, tuple[str, str, str]] = {
    "text": ("profiles.txt", "", "p{number}: {where}\n"),
    "YAML": ("profiles.yaml", "profiles:\n", "  p{number}: {quoted}\n"),
    "YAML entries": ("profiles.yaml", "profiles:\n", "  p{number}: {{on: Trade, where: {quoted}}}\n"),
}
"""The name of a file, what it begins with, and how a profile stands in it."""
WORD = re.compile(r"\s*('(?:[^']|'')*'|[\w.]+|[<>=!]+|[^\s\w])")


@dataclass(frozen=True)
class Stages:
    """Seconds of processor time for the profiles of one file."""

    form: str
    profiles: int
    megabytes: float
    file: float
    document: float
    parse: float
    bind: float
    index: float
    total: float
    split: float
    tokens: float
    yaml: float

    @property
    def row(self) -> list[str]:
        named = [self.form, f"{self.profiles:,}", f"{self.megabytes:.1f}"]
        times = [f"{getattr(self, name):.2f}" for name in TIMES]
        return [*named, *times, f"{1e6 * self.total / self.profiles:.0f}"]


TIMES = ("file", "document", "parse", "bind", "index", "total", "split", "tokens", "yaml")
HEADS = ("form", "profiles", "MB", *TIMES, "µs each")


def written(trees: list[Expression], form: str) -> str:
    """The text of a file."""
    _, begin, line = FORMS[form]
    wheres = map(render, trees)
    lines = (
        line.format(number=number, where=where, quoted="'" + where.replace("'", "''") + "'")
        for number, where in enumerate(wheres)
    )
    return begin + "".join(lines)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = process_time()
    done = work()
    return done, process_time() - started


@collection_paused()
def measure(folder: Path, trees: list[Expression], form: str) -> Stages:
    path = folder / FORMS[form][0]
    path.write_text(written(trees, form))
    is_yaml = path.suffix == ".yaml"
    text, file = timed(lambda: read_text(path))
    document = timed(lambda: parse_document(text, str(path)))[1] if is_yaml else 0.0
    (profiles, faults), reading = timed(lambda: parse_profiles(text, str(path)))
    assert not faults, "every profile is read"
    bound, bind = timed(lambda: bound_trees(profiles))
    assert bound == trees, "what was read is what was written"
    _, index = timed(lambda: ProfileIndex.build(bound))
    return Stages(
        form,
        len(trees),
        len(text) / 1e6,
        file,
        document,
        reading - document,
        bind,
        index,
        file + reading + bind + index,
        timed(lambda: [line.partition(":")[2].split() for line in text.split("\n")])[1],
        timed(lambda: WORD.findall(text))[1],
        timed(lambda: yaml.load(text, Loader=yaml.CSafeLoader))[1] if is_yaml else 0.0,
    )


def bound_trees(profiles: list[Profile]) -> list[Expression]:
    bound: list[BoundProfile] = bind_profiles(profiles)
    return [one.tree for one in bound]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--workload", choices=list(WORKLOADS), default="med")
    parser.add_argument("--quick", action="store_true", help="a first look")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    trees = World().profiles(max(given.sizes), given.workload)
    sizes = [2_000] if given.quick else given.sizes
    ProfileIndex.build(trees[:100])  # kernels are loaded, or compiled
    print("seconds of processor time\n" + "  ".join(f"{head:>12}" for head in HEADS))
    found: list[Stages] = []
    with TemporaryDirectory() as folder, limited(max_file_bytes=1_000_000_000):
        for size in sizes:
            for form in FORMS:
                found.append(measure(Path(folder), trees[:size], form))
                print("  ".join(f"{cell:>12}" for cell in found[-1].row), flush=True)
    if given.out is not None:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "workload": given.workload}
        given.out.write_text(json.dumps({**machine, "stages": [asdict(one) for one in found]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
