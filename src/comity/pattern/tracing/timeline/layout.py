"""Where things stand on a timeline: rows of items that do not touch, lanes of rows, blocks of lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from comity.pattern.tracing.svg import Canvas, text_width
from comity.pattern.tracing.timeline.marks import SMALL, SOFT, USUAL

_EVENT_ROW, _ABSENCE_ROW = 33, 24
_SPARE_ROWS = 2
"""So many rows more than there are items at one place, and a picture is crowded."""


@dataclass(slots=True)
class Item:
    """Something in a row, with the room that it needs."""

    left: float
    right: float
    draw: Callable[[Canvas, float], None]
    y: float = 0


@dataclass(slots=True)
class TimelineRows:
    """Items that are put side by side as long as they do not touch, and then into the next row."""

    height: float
    rows: list[list[Item]] = field(default_factory=list)

    def put(self, item: Item) -> Item:
        for row in self.rows:
            if all(item.left > other.right or item.right < other.left for other in row):
                row.append(item)
                return item
        self.rows.append([item])
        return item

    @property
    def is_crowded(self) -> bool:
        """Whether there are more rows than items at one place."""
        together = Counter(item.left + item.right for row in self.rows for item in row)
        return len(self.rows) >= max(together.values(), default=0) + _SPARE_ROWS

    def place(self, y: float) -> float:
        """Give every item its place; gives where the rows end."""
        for row in self.rows:
            for item in row:
                item.y = y
            y += self.height
        return y

    def draw(self, canvas: Canvas) -> None:
        for item in (item for row in self.rows for item in row):
            item.draw(canvas, item.y)


@dataclass(slots=True)
class TimelineLane:
    """What stands beside one label."""

    name: str
    kind: str = ""
    note: str = ""
    events: TimelineRows = field(default_factory=lambda: TimelineRows(_EVENT_ROW))
    others: TimelineRows = field(default_factory=lambda: TimelineRows(_ABSENCE_ROW))
    top: float = 0
    bottom: float = 0

    def place(self, y: float) -> float:
        self.top = y
        self.bottom = max(self.others.place(self.events.place(y + 5)) + 5, y + 40)
        return self.bottom

    @property
    def label_width(self) -> float:
        name = text_width(self.name, USUAL + 1, bold=True) + text_width(f" {self.kind}", SMALL)
        return max(name, text_width(self.note, SMALL))

    def draw(self, canvas: Canvas, left: float) -> None:
        canvas.text(self.name, left, self.top + 20, font_weight=700, style=f"font-size:{USUAL + 1}px")
        at = left + text_width(self.name, USUAL + 1, bold=True) + 4
        canvas.text(self.kind, at, self.top + 20, style=f"fill:{SOFT};font-size:{SMALL}px")
        canvas.text(self.note, left, self.top + 34, style=f"fill:{SOFT};font-size:{SMALL}px", font_style="italic")
        self.events.draw(canvas)
        self.others.draw(canvas)


@dataclass(slots=True)
class Block:
    """The lanes of one key, and its reports."""

    title: str
    lanes: list[TimelineLane]
    guides: list[tuple[Item, Item, float]] = field(default_factory=list)
    """From an event to its place in a report."""
    top: float = 0
    bottom: float = 0

    def place(self, y: float) -> float:
        self.top = y
        y += 26 if self.title else 4
        for lane in self.lanes:
            y = lane.place(y)
        self.bottom = y + 4
        return self.bottom
