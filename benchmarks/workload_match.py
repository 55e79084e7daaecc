"""The workload of `match`: events with up to 20 attributes, and profiles that are conjunctions of 2 to 6 constraints on
them.

Attributes and constants are drawn with skew, as people write them: some attributes are asked for often, popular
values are popular in profiles too. `sel`, `med` and `broad` differ in how much of the events a profile wants (about
0.01 %, 0.1 % and 1 %); `range` has mostly intervals. `text` compares texts for equality only; `alike` asks for one of a
few texts, so that many ask the same and more than a tenth of them match an event. Everything follows from the seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from comity.expression.tree import And, Attribute, Between, Compare, Exists, Expression, In, Literal, TextTest

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True)
class Spec:
    """An attribute: its kind (float, int, string, bool), how often it is there, and how its values are drawn."""

    name: str
    kind: str
    presence: float
    draw: Callable[[Random, int], npt.NDArray[np.generic]] | None = None
    words: int = 0
    skew: float = 0.0
    form: Callable[[int], str] = "w{:06d}".format


def _path(k: int) -> str:
    return f"/sec{k % 20:02d}/cat{k // 20 % 50:02d}/item{k // 1000:04d}"


SPECS = (
    Spec("type", "string", 1.0, words=40, skew=1.0, form=lambda k: f"t{k % 4}.s{k // 4 % 3}.e{k}"),
    Spec(
        "symbol",
        "string",
        0.9,
        words=10_000,
        skew=0.9,
        form=lambda k: f"{chr(97 + k * 7 % 26)}{chr(97 + k * 11 % 26)}{k}",
    ),
    Spec("price", "float", 0.9, lambda r, n: np.round(np.exp(r.normal(4.0, 1.0, n)), 4)),
    Spec("region", "string", 0.95, words=12, skew=0.7),
    Spec("severity", "int", 0.9, lambda r, n: np.minimum(r.geometric(0.3, n) - 1, 9)),
    Spec("amount", "float", 0.8, lambda r, n: np.round(r.exponential(250.0, n), 4)),
    Spec("host", "string", 0.7, words=5_000, form=lambda k: f"dc{k % 5}-rack{k // 5 % 50:02d}-h{k:04d}"),
    Spec("path", "string", 0.6, words=50_000, skew=0.7, form=_path),
    Spec("user", "string", 0.8, words=1_000_000, skew=0.5, form="u{:08d}".format),
    Spec("qty", "int", 0.8, lambda r, n: r.geometric(0.01, n)),
    Spec("lat", "float", 0.6, lambda r, n: np.round(r.uniform(-90, 90, n), 5)),
    Spec("lon", "float", 0.6, lambda r, n: np.round(r.uniform(-180, 180, n), 5)),
    Spec("country", "string", 0.8, words=200, skew=1.0),
    Spec("is_test", "bool", 1.0, lambda r, n: r.random(n) < 0.1),
    Spec("latency", "float", 0.7, lambda r, n: np.round(np.exp(r.normal(2.0, 0.8, n)), 4)),
    Spec("score", "float", 0.7, lambda r, n: np.round(r.uniform(0, 1, n), 5)),
    Spec("hour", "int", 1.0, lambda r, n: r.integers(0, 24, n)),
    Spec("status", "string", 0.9, words=8, skew=0.8),
    Spec("vip", "bool", 0.5, lambda r, n: r.random(n) < 0.3),
    Spec("temp", "float", 0.3, lambda r, n: np.round(r.normal(15.0, 10.0, n), 4)),
)


@dataclass(frozen=True)
class Mix:
    """How profiles are made: share of popular constants, widths of ranges, numbers of constraints, widest profile."""

    popular: float
    narrowest: float
    widest: float
    counts: tuple[float, ...]
    most: float
    skew: float = 1.0
    fewest: int = 2
    attributes: frozenset[str] = frozenset(spec.name for spec in SPECS)
    equality: bool = False
    """Whether texts are only compared for equality."""


_NUMBERS = frozenset(spec.name for spec in SPECS if spec.kind == "float") | {"qty"}
_TEXTS = frozenset(spec.name for spec in SPECS if spec.kind == "string")
WORKLOADS = {
    "med": Mix(0.8, 0.05, 0.8, (0.25, 0.30, 0.25, 0.12, 0.08), 0.02),
    "sel": Mix(0.7, 0.02, 0.7, (0.15, 0.25, 0.30, 0.18, 0.12), 0.0025),
    "broad": Mix(1.0, 0.15, 0.95, (0.40, 0.30, 0.18, 0.08, 0.04), 0.15),
    "range": Mix(0.8, 0.05, 0.6, (0.15, 0.25, 0.30, 0.18, 0.12), 0.02, skew=0.7, attributes=_NUMBERS),
    "text": Mix(0.8, 0.05, 0.8, (0.5, 0.3, 0.2), 0.02, attributes=_TEXTS, equality=True),
    "alike": Mix(1.0, 1.0, 1.0, (1.0,), 1.0, 0.0, 1, frozenset({"region", "status"}), equality=True),
}

_OPERATORS: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "float": (("<", "<=", ">", ">=", "between", "exists", "!="), (0.15, 0.10, 0.15, 0.10, 0.45, 0.03, 0.02)),
    "int": (
        ("=", "!=", "<", "<=", ">", ">=", "between", "in", "exists"),
        (0.35, 0.05, 0.09, 0.09, 0.09, 0.09, 0.15, 0.07, 0.02),
    ),
    "few": (("=", "in", "!=", "exists"), (0.70, 0.17, 0.09, 0.04)),
    "many": (("=", "in", "prefix", "!=", "exists"), (0.60, 0.15, 0.20, 0.02, 0.03)),
    "equality": (("=",), (1.0,)),
}


def zipf(count: int, skew: float) -> Floats:
    """Probabilities that fall with the rank."""
    weight = 1.0 / np.arange(1, count + 1) ** skew
    found: Floats = weight / weight.sum()
    return found


class Words:
    """The strings that an attribute takes."""

    def __init__(self, spec: Spec, random: Random) -> None:
        texts = sorted({spec.form(k) for k in range(spec.words)})
        self.texts = texts
        self.probability = random.permutation(zipf(len(texts), spec.skew))
        self.total = np.cumsum(self.probability)
        lengths = (2, 3) if spec.form is Spec.form else (3, 4, 5, 6, 7, 11, 13)
        self.prefixes = sorted({text[:length] for text in texts[:: max(1, len(texts) // 5000)] for length in lengths})
        self._array = pa.array(texts)

    def draw(self, random: Random, count: int) -> npt.NDArray[np.int64]:
        """Numbers of words, popular ones more often."""
        return np.minimum(np.searchsorted(self.total, random.random(count)), len(self.texts) - 1)

    def take(self, numbers: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_]) -> pa.Array:
        return self._array.take(pa.array(numbers, mask=missing))

    @cached_property
    def prefix_shares(self) -> Floats:
        """The share of events whose word has each prefix."""
        whole = np.concatenate([[0.0], self.total])
        texts = np.array(self.texts)
        low = np.searchsorted(texts, np.array(self.prefixes))
        high = np.searchsorted(texts, np.array([prefix + "\U0010ffff" for prefix in self.prefixes]))
        found: Floats = whole[high] - whole[low]
        return found


class World:
    """Draws events and profiles."""

    def __init__(self, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        self.words = {spec.name: Words(spec, random) for spec in SPECS if spec.kind == "string"}
        self.values: dict[str, Floats] = {}
        sample = np.random.default_rng(99)
        for spec in SPECS:
            if spec.kind in ("float", "int"):
                assert spec.draw is not None
                self.values[spec.name] = np.sort(spec.draw(sample, 40_000).astype(np.float64))

    def events(self, count: int, seed: int = 7) -> pa.RecordBatch:
        """So many events, as an Arrow batch."""
        random = np.random.default_rng(seed)
        columns = []
        for spec in SPECS:
            missing = random.random(count) >= spec.presence
            if spec.kind == "string":
                words = self.words[spec.name]
                columns.append(words.take(words.draw(random, count), missing))
            else:
                assert spec.draw is not None
                drawn = spec.draw(random, count)
                columns.append(pa.array(drawn, mask=missing))
        return pa.RecordBatch.from_arrays(columns, [spec.name for spec in SPECS])

    def profiles(self, count: int, workload: str, seed: int = 5) -> list[Expression]:
        """So many profiles, as bound trees."""
        random, mix = np.random.default_rng(seed), WORKLOADS[workload]
        found: list[Expression] = []
        while len(found) < count:
            found += self._draw(int((count - len(found)) * 1.6) + 1000, random, mix)[: count - len(found)]
        return found

    def _draw(self, count: int, random: Random, mix: Mix) -> list[Expression]:
        weight = zipf(len(SPECS), mix.skew)
        weight = weight * [spec.name in mix.attributes for spec in SPECS]
        sizes = mix.fewest + random.choice(len(mix.counts), size=count, p=mix.counts)
        gumbel = np.log(np.maximum(weight, 1e-300)) - np.log(-np.log(random.random((count, len(SPECS)))))
        chosen = np.argsort(-gumbel, axis=1)[:, :6]
        kept = np.arange(6)[None, :] < sizes[:, None]
        owner, slot = np.nonzero(kept)
        attribute = chosen[owner, slot]
        constraints: list[Expression | None] = [None] * len(owner)
        share = np.ones(len(owner))
        for number, spec in enumerate(SPECS):
            here = np.flatnonzero(attribute == number)
            drawn, part = self._constraints(spec, len(here), random, mix)
            share[here] = np.minimum(part, 1.0) * spec.presence
            for at, constraint in zip(here.tolist(), drawn, strict=True):
                constraints[at] = constraint
        begins = np.concatenate([[0], np.cumsum(sizes)])
        whole = np.multiply.reduceat(share, begins[:-1])
        return [
            And(tuple(constraints[begins[i] : begins[i + 1]]))  # type: ignore[arg-type]
            for i in np.flatnonzero(whole <= mix.most).tolist()
        ]

    def _constraints(self, spec: Spec, count: int, random: Random, mix: Mix) -> tuple[list[Expression], Floats]:
        attribute = Attribute((spec.name,))
        if spec.kind == "bool":
            wanted = random.random(count) < 0.4
            return [Compare("=", attribute, Literal(bool(one))) for one in wanted], np.full(count, 0.5)
        if spec.kind == "string":
            return self._text_constraints(attribute, spec, count, random, mix)
        return self._number_constraints(attribute, spec, count, random, mix)

    def _text_constraints(
        self, attribute: Attribute, spec: Spec, count: int, random: Random, mix: Mix
    ) -> tuple[list[Expression], Floats]:
        words = self.words[spec.name]
        size = len(words.texts)
        names, weights = _OPERATORS["equality" if mix.equality else "many" if size > 1000 else "few"]

        def draw(wanted: int) -> npt.NDArray[np.int64]:
            popular = random.random(wanted) < mix.popular
            return np.where(popular, words.draw(random, wanted), random.integers(0, size, wanted))

        operators = random.choice(names, size=count, p=weights)
        one, several = draw(count), draw(8 * count).reshape(count, 8)
        lengths = random.integers(2, 9 if size > 50 else 4, count)
        prefixes = random.integers(0, len(words.prefixes), count)
        found: list[Expression] = []
        share = np.ones(count)
        for i, operator in enumerate(operators.tolist()):
            if operator == "in":
                members = several[i, : lengths[i]].tolist()
                share[i] = words.probability[members].sum()
                found.append(In(attribute, tuple(Literal(words.texts[k]) for k in members)))
            elif operator == "prefix":
                share[i] = words.prefix_shares[prefixes[i]]
                found.append(TextTest("starts with", attribute, words.prefixes[prefixes[i]]))
            elif operator == "exists":
                found.append(Exists(attribute))
            else:
                share[i] = words.probability[one[i]] if operator == "=" else 1.0
                found.append(Compare(operator, attribute, Literal(words.texts[one[i]])))
        return found, share

    def _number_constraints(
        self, attribute: Attribute, spec: Spec, count: int, random: Random, mix: Mix
    ) -> tuple[list[Expression], Floats]:
        values, whole = self.values[spec.name], spec.kind == "int"
        names, weights = _OPERATORS[spec.kind]
        operators = random.choice(names, size=count, p=weights)
        width = np.exp(random.uniform(np.log(mix.narrowest), np.log(mix.widest), count))
        start = random.random(count) * (1 - width)

        def at(quantile: Floats) -> Floats:
            drawn = values[np.clip((quantile * len(values)).astype(np.int64), 0, len(values) - 1)]
            return drawn if whole else np.round(drawn * (1 + random.normal(0, 0.01, len(drawn))), 3)

        low, high = np.sort([at(start), at(start + width)], axis=0)
        below, above = at(width), at(1 - width)
        points = values[random.integers(0, len(values), (count, 5))]
        lengths = random.integers(2, 6, count)

        def share_of(a: Floats, b: Floats) -> Floats:
            return (np.searchsorted(values, b, "right") - np.searchsorted(values, a, "left")) / len(values)

        equal = share_of(points[:, 0], points[:, 0])
        make: Callable[[float], Literal] = (lambda v: Literal(int(v))) if whole else (lambda v: Literal(float(v)))
        found: list[Expression] = []
        share = np.ones(count)
        for i, operator in enumerate(operators.tolist()):
            if operator == "between":
                share[i] = width[i]
                found.append(Between(attribute, make(low[i]), make(high[i])))
            elif operator == "in":
                share[i] = equal[i] * lengths[i]
                found.append(In(attribute, tuple(make(v) for v in points[i, : lengths[i]])))
            elif operator == "exists":
                found.append(Exists(attribute))
            elif operator in ("=", "!="):
                share[i] = equal[i] if operator == "=" else 1.0
                found.append(Compare(operator, attribute, make(points[i, 0])))
            else:
                share[i] = width[i]
                found.append(Compare(operator, attribute, make(below[i] if operator[0] == "<" else above[i])))
        return found, share
