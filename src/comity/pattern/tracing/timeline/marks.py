"""What stands on a timeline: events, absences, reports, near misses, and the legend that explains them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from comity.pattern.tracing.absences import AbsenceOutcome
from comity.pattern.tracing.svg import Canvas, text_width

INK, SOFT, PALE, LINE = "#1e293b", "#64748b", "#94a3b8", "#e2e8f0"
PANEL, PAPER = "#f8fafc", "#ffffff"
ACCENT, ACCENT_PALE, GOOD, BAD = "#2563eb", "#dbeafe", "#15803d", "#b91c1c"
SMALL, USUAL = 11, 12

STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    f"font-size:{USUAL}px;fill:{INK}}}"
    ".code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
)

_RADIUS = 5.5


class Look(StrEnum):
    """How an event looks, and what that means."""

    CHOSEN = "in a report"
    CANDIDATE = "candidate"
    IGNORED = "no candidate"


@dataclass(frozen=True, slots=True)
class EventMark:
    """An event: a dot with its name above it."""

    label: str
    label_at: float
    look: Look
    is_consumed: bool
    title: str


@dataclass(frozen=True, slots=True)
class AbsenceMark:
    """A stretch without something, from `begin` to `end`, which stopped at `stop`."""

    label: str
    begin: float
    stop: float
    end: float
    edge: float
    """The right edge of the picture."""
    outcome: AbsenceOutcome
    title: str

    @property
    def is_short(self) -> bool:
        """Whether the label has no room above the line."""
        return self.stop - self.begin < text_width(self.label, SMALL) + 14

    @property
    def label_at(self) -> float:
        """Above the line; behind it if it is too short for that, or before it at the edge of the picture."""
        width = text_width(self.label, SMALL)
        if not self.is_short:
            return self.begin + 5
        return self.stop + 10 if self.stop + 10 + width <= self.edge else self.begin - 6 - width

    @property
    def room(self) -> tuple[float, float]:
        """From where to where there is something."""
        label_end = self.label_at + text_width(self.label, SMALL)
        return min(self.begin - 3, self.label_at), max(self.end, self.stop + 8, label_end) + 4


@dataclass(frozen=True, slots=True)
class ReportMark:
    """A report: a line with its events on it, in front of its time frame."""

    label: str
    note: str
    label_at: float
    begin: float
    end: float
    frame_end: float | None
    events: tuple[float, ...]
    title: str


@dataclass(frozen=True, slots=True)
class FailedMark:
    """What choice left out, or nearly occurred: a thin line with the reason."""

    label: str
    label_at: float
    begin: float
    end: float
    frame: tuple[float, float] | None
    events: tuple[float, ...]
    title: str
    is_miss: bool


def draw_event(canvas: Canvas, mark: EventMark, x: float, y: float) -> None:
    """An event in a row that begins at y."""
    colour = {Look.CHOSEN: ACCENT, Look.CANDIDATE: SOFT, Look.IGNORED: PALE}[mark.look]
    ink = INK if mark.look is Look.CHOSEN else SOFT if mark.look is Look.CANDIDATE else PALE
    with canvas.group(mark.title):
        label(canvas, mark.label, mark.label_at, y + 12, ink, USUAL, bold=mark.look is Look.CHOSEN, centred=True)
        dot(canvas, x, y + 23, mark.look, mark.is_consumed, colour)


def label(
    canvas: Canvas,
    text: str,
    x: float,
    y: float,
    colour: str,
    size: int,
    *,
    bold: bool = False,
    centred: bool = False,
) -> None:
    """A text before a ground that hides the lines behind it."""
    width = text_width(text, size, bold=bold) * 0.95
    left = x - width / 2 if centred else x - 1
    canvas.element("rect", x=left, y=y - size + 1, width=width, height=size + 2, fill=PANEL, fill_opacity="0.85")
    anchor, weight = "middle" if centred else None, 600 if bold else None
    canvas.text(text, x, y, text_anchor=anchor, style=f"fill:{colour};font-size:{size}px", font_weight=weight)


def dot(canvas: Canvas, x: float, y: float, look: Look, is_consumed: bool, colour: str) -> None:
    """Filled, hollow with a stroke through it once it is consumed, small and hollow if it is no candidate."""
    if look is Look.IGNORED:
        canvas.element("circle", cx=x, cy=y, r=3.5, fill=PAPER, stroke=colour, stroke_width=1.5)
        return
    fill = PAPER if is_consumed else colour
    canvas.element("circle", cx=x, cy=y, r=_RADIUS, fill=fill, stroke=colour, stroke_width=2)
    if is_consumed:
        reach = _RADIUS + 3
        canvas.element(
            "path", d=f"M{x - reach:.1f} {y + reach:.1f}L{x + reach:.1f} {y - reach:.1f}", stroke=colour, stroke_width=2
        )


def draw_absence(canvas: Canvas, mark: AbsenceMark, y: float) -> None:
    """An absence in a row that begins at y: dashed up to its end, with a check or a cross."""
    colour = {AbsenceOutcome.HELD: GOOD, AbsenceOutcome.BROKEN: BAD}.get(mark.outcome, PALE)
    middle = y + 15
    with canvas.group(mark.title):
        if mark.end > mark.stop:
            _line(canvas, mark.stop, mark.end, middle, PALE, 1.5, "1 4")
        canvas.element("path", d=f"M{mark.begin:.1f} {middle - 4}V{middle + 4}", stroke=colour, stroke_width=2)
        _line(canvas, mark.begin, mark.stop, middle, colour, 2, "6 4")
        label(canvas, mark.label, mark.label_at, middle + 4 if mark.is_short else middle - 5, colour, SMALL)
        if mark.outcome is AbsenceOutcome.HELD:
            check(canvas, mark.stop, middle)
        elif mark.outcome is AbsenceOutcome.BROKEN:
            cross(canvas, mark.stop, middle, BAD)
        elif mark.outcome is AbsenceOutcome.REMOVED:
            canvas.element("path", d=f"M{mark.stop:.1f} {middle - 5}V{middle + 5}", stroke=PALE, stroke_width=2)


def draw_report(canvas: Canvas, mark: ReportMark, y: float) -> None:
    """A report in a row that begins at y."""
    middle = y + 23
    with canvas.group(mark.title):
        if mark.frame_end is not None:
            frame(canvas, mark.begin, mark.frame_end, middle)
        label(canvas, mark.label, mark.label_at, y + 11, ACCENT, SMALL, bold=True)
        at = mark.label_at + text_width(mark.label, SMALL, bold=True) + 6
        label(canvas, mark.note, at, y + 11, SOFT, SMALL)
        _line(canvas, mark.begin, mark.end, middle, ACCENT, 3)
        for x in mark.events:
            canvas.element("circle", cx=x, cy=middle, r=4.5, fill=ACCENT, stroke=PAPER, stroke_width=1.5)
        if mark.end not in mark.events:
            diamond(canvas, mark.end, middle)


def draw_failed(canvas: Canvas, mark: FailedMark, y: float) -> None:
    """What was left out or missed, in a row that begins at y."""
    middle = y + 22
    with canvas.group(mark.title):
        if mark.frame is not None:
            frame(canvas, *mark.frame, middle)
        label(canvas, mark.label, mark.label_at, y + 10, SOFT, SMALL)
        _line(canvas, mark.begin, mark.end, middle, PALE, 1.5, "3 3" if mark.is_miss else None)
        for x in mark.events:
            canvas.element("circle", cx=x, cy=middle, r=3, fill=PAPER, stroke=PALE, stroke_width=1.5)
        if mark.is_miss:
            cross(canvas, mark.end, middle, BAD)


def frame(canvas: Canvas, begin: float, end: float, middle: float) -> None:
    """The time that a frame leaves from a beginning on."""
    canvas.element(
        "rect", x=begin, y=middle - 7, width=max(end - begin, 1), height=14, rx=3, fill=ACCENT_PALE, fill_opacity="0.75"
    )


def diamond(canvas: Canvas, x: float, y: float) -> None:
    """The end of a report at which there is no event."""
    d = f"M{x - 5:.1f} {y}L{x:.1f} {y - 5}L{x + 5:.1f} {y}L{x:.1f} {y + 5}Z"
    canvas.element("path", d=d, fill=ACCENT, stroke=PAPER, stroke_width=1.5)


def check(canvas: Canvas, x: float, y: float) -> None:
    """What was to be absent was."""
    canvas.element("circle", cx=x, cy=y, r=6, fill=GOOD, stroke=PAPER, stroke_width=1.5)
    d = f"M{x - 2.8:.1f} {y + 0.2:.1f}L{x - 0.8:.1f} {y + 2.3:.1f}L{x + 3:.1f} {y - 2.3:.1f}"
    canvas.element("path", d=d, fill="none", stroke=PAPER, stroke_width=1.6)


def cross(canvas: Canvas, x: float, y: float, colour: str) -> None:
    """It was not, or something failed."""
    canvas.element("circle", cx=x, cy=y, r=6, fill=colour, stroke=PAPER, stroke_width=1.5)
    d = f"M{x - 2.3:.1f} {y - 2.3:.1f}l4.6 4.6m0 -4.6l-4.6 4.6"
    canvas.element("path", d=d, fill="none", stroke=PAPER, stroke_width=1.6)


def _line(
    canvas: Canvas, begin: float, end: float, y: float, colour: str, width: float, dashes: str | None = None
) -> None:
    canvas.element(
        "path", d=f"M{begin:.1f} {y:.1f}H{end:.1f}", stroke=colour, stroke_width=width, stroke_dasharray=dashes
    )


LEGEND = {
    "chosen": "in a report",
    "candidate": "candidate only",
    "consumed": "consumed",
    "ignored": "no candidate",
    "held": "nothing came",
    "broken": "ended by an event",
    "report": "report",
    "frame": "time frame",
    "dropped": "left out by choice",
    "miss": "near miss",
}


def legend_width(name: str) -> float:
    """How much room an entry needs."""
    return 34 + text_width(LEGEND[name], SMALL) + 10


def draw_legend(canvas: Canvas, names: Iterable[str], left: float, right: float, y: float) -> float:
    """The entries in rows from y on; gives the end of the last row."""
    x = left
    for name in names:
        if x + legend_width(name) > right and x > left:
            x, y = left, y + 20
        _legend_sign(canvas, name, x + 14, y + 8)
        canvas.text(LEGEND[name], x + 34, y + 12, style=f"fill:{SOFT};font-size:{SMALL}px")
        x += legend_width(name)
    return y + 20


def _legend_sign(canvas: Canvas, name: str, x: float, y: float) -> None:
    match name:
        case "chosen":
            dot(canvas, x, y, Look.CHOSEN, False, ACCENT)
        case "candidate":
            dot(canvas, x, y, Look.CANDIDATE, False, SOFT)
        case "consumed":
            dot(canvas, x, y, Look.CANDIDATE, True, SOFT)
        case "ignored":
            dot(canvas, x, y, Look.IGNORED, False, PALE)
        case "held" | "broken":
            _line(canvas, x - 14, x + 8, y, GOOD if name == "held" else BAD, 2, "6 4")
            if name == "held":
                check(canvas, x + 8, y)
            else:
                cross(canvas, x + 8, y, BAD)
        case "report":
            _line(canvas, x - 12, x + 12, y, ACCENT, 3)
            for place in (x - 12, x + 12):
                canvas.element("circle", cx=place, cy=y, r=4.5, fill=ACCENT, stroke=PAPER, stroke_width=1.5)
        case "frame":
            frame(canvas, x - 14, x + 14, y)
        case "dropped":
            _line(canvas, x - 12, x + 12, y, PALE, 1.5)
            for place in (x - 12, x + 12):
                canvas.element("circle", cx=place, cy=y, r=3, fill=PAPER, stroke=PALE, stroke_width=1.5)
        case "miss":
            _line(canvas, x - 14, x + 8, y, PALE, 1.5, "3 3")
            cross(canvas, x + 8, y, BAD)
