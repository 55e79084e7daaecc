"""A run as a picture: the network once for each policy, links as wide as what went over them.

It is an SVG file that stands alone, without scripts and without fonts of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from comity.pattern.tracing.svg import Canvas
from comity.route.messages import Topic
from comity.simulate.costs import Costs, entries_of
from comity.simulate.counters import Counters
from comity.simulate.layout import Point, laid_out
from comity.simulate.network import Network
from comity.simulate.topology import Pair

_SIDE, _TITLE, _PAD, _COLUMNS = 300, 58, 26, 4
_INK, _SOFT, _LINE, _PAPER, _PANEL = "#1e293b", "#64748b", "#cbd5e1", "#ffffff", "#f8fafc"
_WANTED, _UNWANTED = (37, 99, 235), (220, 38, 38)
_WIDEST, _LARGEST, _NAMED = 12.0, 13.0, 16
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    f"font-size:12px;fill:{_INK}}}"
    f".name{{font-size:10px;stroke:{_PANEL};stroke-width:3px;paint-order:stroke}}"
)


@dataclass(frozen=True, slots=True)
class LinkTraffic:
    """What went over a link, both ways."""

    pair: Pair
    events: int
    unwanted: int


@dataclass(frozen=True, slots=True)
class NetworkView:
    """What a picture shows of one run."""

    costs: Costs
    links: tuple[LinkTraffic, ...]
    entries: dict[str, int]
    """By broker."""


def view_of(network: Network, costs: Costs) -> NetworkView:
    """What is drawn of a network as it is now."""
    entries = {name: len(entries_of(steps, Topic.SUBSCRIPTIONS)) for name, steps in network.live.items()}
    pairs = [pair for pair, wire in network.wires.items() if not wire.is_gone and entries.keys() >= set(pair)]
    return NetworkView(costs, tuple(_traffic(pair, network.counters) for pair in pairs), entries)


def _traffic(pair: Pair, counters: Counters) -> LinkTraffic:
    ways = (pair, (pair[1], pair[0]))
    return LinkTraffic(pair, sum(counters.events[way] for way in ways), sum(counters.unwanted[way] for way in ways))


def drawn(views: Sequence[NetworkView], title: str) -> str:
    """The picture as the text of an SVG file; widths and sizes are the same measure in all of its parts."""
    most = max((link.events for view in views for link in view.links), default=0) or 1
    largest = max((size for view in views for size in view.entries.values()), default=0) or 1
    columns = min(_COLUMNS, max(len(views), 1))
    rows = math.ceil(len(views) / columns)
    width, height = columns * _SIDE, rows * (_SIDE + _TITLE) + 40
    canvas = Canvas()
    canvas.element("rect", width=width, height=height, fill=_PAPER)
    for number, view in enumerate(views):
        left, top = (number % columns) * _SIDE, (number // columns) * (_SIDE + _TITLE)
        _Panel(view, left, top, most, largest).draw(canvas)
    _legend(canvas, height - 20, most, largest)
    return canvas.document(width, height, title, _STYLE)


@dataclass(frozen=True, slots=True)
class _Panel:
    """One network."""

    view: NetworkView
    left: float
    top: float
    most: int
    largest: int

    def draw(self, canvas: Canvas) -> None:
        costs = self.view.costs
        canvas.element(
            "rect", x=self.left + 4, y=self.top + 4, width=_SIDE - 8, height=_SIDE + _TITLE - 8, rx=6, fill=_PANEL
        )
        with_offers = " with advertisements" if costs.advertisements else ""
        canvas.text(f"{costs.strategy}{with_offers}", self.left + 14, self.top + 24, font_weight=600)
        told = f"{costs.entries:,} entries, {costs.link_events:,} on links, {costs.unwanted_share:.0%} unwanted"
        canvas.text(told, self.left + 14, self.top + 42, style=f"fill:{_SOFT};font-size:11px")
        places = {name: self._at(place) for name, place in self._places().items()}
        for link in sorted(self.view.links, key=lambda link: link.events):
            _draw_link(canvas, link, places, self.most)
        for name, place in places.items():
            self._draw_broker(canvas, name, place)

    def _places(self) -> dict[str, Point]:
        return laid_out(list(self.view.entries), [link.pair for link in self.view.links])

    def _at(self, place: Point) -> Point:
        half = _SIDE / 2 - _PAD
        return self.left + _SIDE / 2 + place[0] * half, self.top + _TITLE + _SIDE / 2 + place[1] * half - 8

    def _draw_broker(self, canvas: Canvas, name: str, place: Point) -> None:
        entries = self.view.entries[name]
        largest = min(_LARGEST, 60 / math.sqrt(len(self.view.entries)))
        radius = largest * (0.25 + 0.75 * math.sqrt(entries / self.largest))
        with canvas.group(f"{name}: {entries:,} entries"):
            canvas.element("circle", cx=place[0], cy=place[1], r=radius, fill=_PAPER, stroke=_INK, stroke_width=1.5)
        if len(self.view.entries) <= _NAMED:
            canvas.text(name, place[0], place[1] - radius - 4, text_anchor="middle", class_="name")


def _draw_link(canvas: Canvas, link: LinkTraffic, places: dict[str, Point], most: int) -> None:
    (x1, y1), (x2, y2) = places[link.pair[0]], places[link.pair[1]]
    share = link.unwanted / link.events if link.events else 0.0
    width = max(_WIDEST * link.events / most, 1.0)
    said = f"{link.pair[0]} – {link.pair[1]}: {link.events:,} events, {share:.0%} unwanted"
    with canvas.group(said):
        colour = _mixed(share) if link.events else _LINE
        canvas.element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=width, stroke_linecap="round")


def _mixed(share: float) -> str:
    """From the colour of what is wanted to that of what is not."""
    parts = [round(wanted + (unwanted - wanted) * share) for wanted, unwanted in zip(_WANTED, _UNWANTED)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _legend(canvas: Canvas, y: float, most: int, largest: int) -> None:
    x = 18.0
    for share, text in ((0.0, f"a link, widest {most:,} events"), (1.0, "nobody behind it wants them")):
        canvas.element("line", x1=x, y1=y - 4, x2=x + 22, y2=y - 4, stroke=_mixed(share), stroke_width=5)
        canvas.text(text, x + 28, y, style="font-size:11px")
        x += 40 + 6.2 * len(text)
    canvas.element("circle", cx=x + 6, cy=y - 4, r=6, fill=_PAPER, stroke=_INK, stroke_width=1.5)
    canvas.text(f"a broker, largest {largest:,} entries", x + 18, y, style="font-size:11px")
