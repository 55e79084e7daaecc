"""How the cost of `comity contract check` grows with the tables of a contract: seconds of processor time.

python benchmarks/contract_check.py [--rows 1000 32000 100000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from comity.contract.properties import properties
from comity.federation import Federation, load

_T = TypeVar("_T")
DOMAIN = "domain: {name}\ntypes: {{Item: {{attributes: {{code: string, size: int}}}}}}\n"
CONTRACT = """\
contract: items
types: {Item: {attributes: {code: string, size: int}}}
members:
  shop: {type: Item, map: {code: "lookup('codes', code)", size: size}}
  store: {type: Item, map: same}
tables: {codes: {file: codes.csv, key: local, value: common}}
"""


def write_federation(folder: Path, rows: int) -> Path:
    """A contract with a table of so many rows."""
    for name in ("shop", "store"):
        (folder / f"{name}.yaml").write_text(DOMAIN.format(name=name))
    (folder / "codes.csv").write_text("local,common\n" + "".join(f"l{one:07},c{one:07}\n" for one in range(rows)))
    (folder / "contract.yaml").write_text(CONTRACT)
    return folder


def check(federation: Federation) -> None:
    """What the command does, beside printing."""
    for contract in federation.contracts.values():
        for mapping in (one for given in contract.members.values() for one in given):
            properties(mapping)


def timed(work: Callable[[], _T]) -> tuple[_T, float]:
    started = time.process_time()
    done = work()
    return done, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 32_000, 100_000])
    parser.add_argument("--quick", action="store_true", help="a first look")
    given = parser.parse_args()
    print(f"{'rows':>9}  {'load s':>7}  {'check s':>7}  {'µs a row':>8}")
    for rows in given.rows[:2] if given.quick else given.rows:
        with TemporaryDirectory() as folder:
            root = write_federation(Path(folder), rows)
            federation, loading = timed(lambda root=root: load(root))  # type: ignore[misc]
            _, checking = timed(lambda federation=federation: check(federation))  # type: ignore[misc]
        print(f"{rows:>9,}  {loading:>7.2f}  {checking:>7.2f}  {1e6 * (loading + checking) / rows:>8.1f}")


if __name__ == "__main__":
    main()
