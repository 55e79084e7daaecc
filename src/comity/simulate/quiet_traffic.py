"""Events through a tree of brokers at rest, all at once.

At rest no table changes while an event is on its way, so where it goes follows from the tables alone. An event is
matched once, against all filters of the network; whether a broker sends it on is then a bit, and a whole batch goes
over a link in one operation. The brokers' own `route` gives the same event by event, which tests compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.errors import Misuse
from comity.expression.tree import Expression
from comity.match.index import Matches, ProfileIndex
from comity.route.messages import Topic
from comity.simulate.counters import Counters, Way
from comity.simulate.kernels.spread import spread
from comity.simulate.network import Network
from comity.simulate.space import Record

Bits = npt.NDArray[np.bool_]
"""One for each event of a batch."""

_BATCH_BYTES = 64_000_000
"""Of answers, one for each event and table, that are at hand at a time."""


def as_batch(records: Sequence[Record]) -> pa.RecordBatch:
    """Events as columns, named by the dotted paths of attributes."""
    paths = dict.fromkeys(path for record in records for path in record)
    columns = {".".join(path): pa.array([record.get(path) for record in records]) for path in paths}
    return pa.RecordBatch.from_pydict(columns)


@dataclass(slots=True)
class _Broker:
    """A broker's place in the tree, and its rows among the answers."""

    name: str
    parent: int
    local: int
    """The row of what its own clients want."""
    out: dict[int, int] = field(default_factory=dict)
    """By neighbour, the row of the table by which events go there."""


class QuietTraffic:
    """The tables of a network as they are now, ready for events."""

    def __init__(self, network: Network) -> None:
        self._counters = network.counters
        self._findings = network.findings
        self._clients: dict[int, list[str]] = {}
        """By filter, whoever subscribed it."""
        self._filters: dict[Expression, int] = {}
        self._members: list[list[int]] = []
        """By row, the filters of that table."""
        self._brokers = self._placed(network)
        self._several = self._anyone_has_several()
        self._index = ProfileIndex.build(list(self._filters))
        self._places = self._packed()

    def carry(self, events: pa.RecordBatch, publishers: Sequence[str]) -> None:
        """Publish events at brokers, and count where they go."""
        matches = self._index.match(events)
        numbers = {broker.name: number for number, broker in enumerate(self._brokers)}
        origins = np.array([numbers[name] for name in publishers], np.int64)
        most = max(64, _BATCH_BYTES // max(len(self._members), 1))
        for first in range(0, events.num_rows, most):
            answers = self._answers(matches, first, min(most, events.num_rows - first))
            self._flow(answers, origins[first : first + most])
        self._counters.published += events.num_rows
        self._counters.delivered += self._delivered(matches)

    # How it is made

    def _placed(self, network: Network) -> list[_Broker]:
        """All brokers, each after its parent."""
        live = network.live
        wires = [wire for wire in network.wires.values() if not wire.is_gone]
        if not all(wire.is_up for wire in wires) or len(wires) != len(live) - 1:
            raise Misuse("events can go all at once through a tree only, of which all links are up", code="no-tree")
        order = {name: number for number, name in enumerate(_outwards(network))}
        local = self._wanted_locally(network)
        brokers: list[_Broker] = []
        for name, number in order.items():
            near = live[name].neighbours
            parent = min((order[one] for one in near), default=-1)
            broker = _Broker(name, parent if parent < number else -1, self._row(local.get(name, ())))
            for neighbour in near:
                entries = live[name].table(neighbour, Topic.SUBSCRIPTIONS)
                broker.out[order[neighbour]] = self._row(entry.filter.tree for entry in entries)
            brokers.append(broker)
        return brokers

    def _wanted_locally(self, network: Network) -> Mapping[str, list[Expression]]:
        found: dict[str, list[Expression]] = {}
        for wish in network.truth.every(Topic.SUBSCRIPTIONS):
            tree = network.pool.read(wish.text).tree
            found.setdefault(network.truth.homes[wish.client], []).append(tree)
            self._clients.setdefault(self._number(tree), []).append(wish.client)
        return found

    def _row(self, trees: Iterable[Expression]) -> int:
        self._members.append([self._number(tree) for tree in trees])
        return len(self._members) - 1

    def _number(self, tree: Expression) -> int:
        return self._filters.setdefault(tree, len(self._filters))

    def _anyone_has_several(self) -> bool:
        clients = [client for own in self._clients.values() for client in own]
        return len(clients) != len(set(clients))

    def _packed(self) -> npt.NDArray[np.uint64]:
        packed = np.zeros((max(len(self._filters), 1), max(1, -(-len(self._members) // 64))), np.uint64)
        for row, members in enumerate(self._members):
            packed[np.unique(np.array(members, np.int64)), row >> 6] |= np.uint64(1 << (row & 63))
        return packed

    # How events go

    def _answers(self, matches: Matches, first: int, count: int) -> npt.NDArray[np.bool_]:
        """By table and event, whether the table wants the event."""
        words = np.zeros((count, self._places.shape[1]), np.uint64)
        spread(matches.offsets, matches.ids, self._places, first, words)
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=len(self._members), bitorder="little")
        return np.ascontiguousarray(bits.T).view(np.bool_)

    def _flow(self, wants: npt.NDArray[np.bool_], origins: npt.NDArray[np.int64]) -> None:
        """From the leaves to the root, and back: what goes over each link, and who had no use for it."""
        sent: dict[tuple[int, int], Bits] = {}
        published = {number: origins == number for number in np.unique(origins).tolist()}
        for number in range(len(self._brokers) - 1, 0, -1):
            broker = self._brokers[number]
            here = self._here(number, published, sent, without=broker.parent)
            sent[number, broker.parent] = here & wants[broker.out[broker.parent]]
        for number, broker in enumerate(self._brokers):
            children = [other for other in broker.out if other != broker.parent]
            for child, here in self._beside(number, children, published, sent):
                sent[number, child] = here & wants[broker.out[child]]
        for number in range(len(self._brokers)):
            self._count(number, published, sent, wants)

    def _here(
        self, number: int, published: Mapping[int, Bits], sent: Mapping[tuple[int, int], Bits], without: int
    ) -> Bits:
        """The events that are at a broker, but for those from one neighbour."""
        here: Bits | None = published.get(number)
        for other in self._brokers[number].out:
            if other != without and (other, number) in sent:
                here = sent[other, number] if here is None else here | sent[other, number]
        return np.False_ if here is None else here  # type: ignore[return-value]

    def _beside(
        self,
        number: int,
        children: list[int],
        published: Mapping[int, Bits],
        sent: Mapping[tuple[int, int], Bits],
    ) -> Iterator[tuple[int, Bits]]:
        """For each child what is at the broker but did not come from it; in two passes, however many there are."""
        parent = self._brokers[number].parent
        start = published.get(number, np.False_)
        if parent >= 0:
            start = start | sent[parent, number]
        after: list[Bits] = [np.False_]  # type: ignore[list-item]
        for child in reversed(children):
            after.append(after[-1] | sent[child, number])
        for at, child in enumerate(children):
            yield child, start | after[len(children) - 1 - at]
            start = start | sent[child, number]

    def _count(
        self,
        number: int,
        published: Mapping[int, Bits],
        sent: Mapping[tuple[int, int], Bits],
        wants: npt.NDArray[np.bool_],
    ) -> None:
        broker = self._brokers[number]
        local = wants[broker.local]
        onward = local.copy()
        for other in broker.out:
            onward |= sent[number, other]
        reached = np.array(published.get(number, False)) | np.zeros(len(local), bool)
        for other in broker.out:
            came = sent[other, number]
            reached |= came
            self._passed((self._brokers[other].name, broker.name), int(came.sum()), int((came & ~onward).sum()))
        if (local & ~reached).any():
            self._findings.add("I1", f"{int((local & ~reached).sum())} events never reached {broker.name}")

    def _passed(self, way: Way, events: int, unwanted: int) -> None:
        if events:
            self._counters.events[way] += events
        if unwanted:
            self._counters.unwanted[way] += unwanted

    def _delivered(self, matches: Matches) -> int:
        """Events handed to clients, each once however many of its subscriptions match."""
        counts = np.zeros(max(len(self._filters), 1), np.int64)
        for filter, clients in self._clients.items():
            counts[filter] = len(clients)
        if not self._several:
            return int(counts[matches.ids].sum())
        return sum(
            len({client for filter in matches.of(event) for client in self._clients.get(filter, ())})
            for event in range(len(matches.offsets) - 1)
        )


def _outwards(network: Network) -> list[str]:
    """The brokers of a tree, each after the one by which it hangs on the first."""
    live = network.live
    found = dict.fromkeys(list(live)[:1])
    for name in (waiting := list(found)):
        new = [one for one in live[name].neighbours if one not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def totals(counters: Counters) -> tuple[int, int]:
    """Events over all links, and those of them that the receiver had no use for."""
    return sum(counters.events.values()), sum(counters.unwanted.values())
