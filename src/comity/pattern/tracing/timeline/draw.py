"""A trace as a picture: an SVG timeline that stands alone, without scripts and without fonts of others.

Each correlation key has a block: a lane for every operand with its events and, for those in a `not`, the absences;
below them the reports, each as a line from its start to its end, and what nearly occurred.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from comity.pattern.reference.occurrences import ReferenceEvent, ReferenceOccurrence
from comity.pattern.report import Report
from comity.pattern.tracing.absences import Absence, AbsenceOutcome
from comity.pattern.tracing.story import Words
from comity.pattern.tracing.svg import Canvas, fitted, text_width, wrapped
from comity.pattern.tracing.timeline.axis import TimeAxis
from comity.pattern.tracing.timeline.layout import Block, Item, TimelineLane, TimelineRows
from comity.pattern.tracing.timeline.marks import (
    ACCENT,
    INK,
    LINE,
    PANEL,
    PAPER,
    SMALL,
    SOFT,
    STYLE,
    USUAL,
    AbsenceMark,
    EventMark,
    FailedMark,
    Look,
    ReportMark,
    draw_absence,
    draw_event,
    draw_failed,
    draw_legend,
    draw_report,
)
from comity.pattern.tracing.trace import KeyTrace, Trace
from comity.pattern.tracing.verdicts import TracedEvent, VerdictReason
from comity.pattern.tree import Both, Operand, Sequence, bound_operands, operands

_WIDTHS = (960, 1280, 1760, 2400, 3200)
_REPORT_ROW, _FAILED_ROW = 34, 31
_PAD = 24
_MOST_FAILED = 6


def timeline(trace: Trace) -> str:
    """The picture as the text of an SVG file; as wide as it has to be.

    >>> from comity.pattern.bound import bind_pattern
    >>> from comity.pattern.tracing.trace import trace
    >>> timeline(trace(bind_pattern("hot", Operand("h", "Heat")), [])).startswith("<svg ")
    True
    """
    for width in _WIDTHS:
        picture = _Picture(trace, width)
        if not picture.is_crowded:
            break
    return picture.drawn()


class _Picture:
    """All blocks over one axis."""

    def __init__(self, trace: Trace, width: float) -> None:
        self._trace, self._words, self._width = trace, Words(trace), width
        self._shown: set[str] = set()
        names = [
            TimelineLane(one.name, one.type or "Event", _note(trace, one)) for one in operands(trace.bound.pattern)
        ]
        gutter = min(max([90, *(lane.label_width for lane in names)]) + 20, 240)
        self._left, self._right = _PAD + gutter, width - _PAD
        self._axis = TimeAxis.over(_times(trace), self._left + 14, self._right - 14)
        self._blocks = [self._block(own) for own in trace.keys]
        if trace.others:
            self._blocks.append(self._others())

    @property
    def is_crowded(self) -> bool:
        """Whether events stand one upon the other that would not in a wider picture."""
        return any(lane.events.is_crowded for block in self._blocks for lane in block.lanes)

    def drawn(self) -> str:
        """The picture."""
        canvas = Canvas()
        heading = self._heading()
        y: float = _PAD + 22 + 17 * len(heading) + 12
        first = y
        for block in self._blocks:
            y = block.place(y) + 12
        axis = y
        height = self._height(axis + 44)
        canvas.element("rect", x=0, y=0, width=self._width, height=height, rx=8, fill=PAPER)
        self._draw_heading(canvas, heading)
        for block in self._blocks:
            canvas.element(
                "rect", x=_PAD - 8, y=block.top, width=self._width - 2 * _PAD + 16, height=block.bottom - block.top,
                rx=6, fill=PANEL, stroke=LINE,
            )  # fmt: skip
        if self._trace.events:
            self._draw_axis(canvas, first, axis)
        else:
            canvas.text("no events", _PAD, axis + 19, style=f"fill:{SOFT}")
        for block in self._blocks:
            self._draw_block(canvas, block)
        draw_legend(canvas, self._legend(), _PAD, self._width - _PAD, axis + 44)
        return canvas.document(self._width, height, self._trace.bound.name, STYLE)

    def _height(self, legend: float) -> float:
        return draw_legend(Canvas(), self._legend(), _PAD, self._width - _PAD, legend) + 12

    # Layout

    def _block(self, own: KeyTrace) -> Block:
        lanes = {
            one.name: TimelineLane(one.name, one.type or "Event", _note(self._trace, one))
            for one in operands(self._trace.bound.pattern)
        }
        dots: dict[tuple[str, ReferenceEvent], Item] = {}
        roles = _Roles.of(own)
        for event in own.events:
            for name in _lanes_of(event, own.key):
                look, consumed = roles.look(name, event), event.seen in roles.consumed
                dots[name, event.seen] = lanes[name].events.put(self._event(event, look, consumed))
        for absence in own.absences:
            lanes[absence.absent[0]].others.put(self._absence(absence))
        block = Block(self._title(own), list(lanes.values()))
        if own.reports:
            block.lanes.append(self._reports(own, dots, block))
        left_out = [one for closing in own.closings for one in closing.occurrences if one.dropped_by]
        if left_out:
            items = [self._failed(one.occurrence, self._words.dropped(one), None) for one in left_out[:_MOST_FAILED]]
            block.lanes.append(self._failures("left out", "dropped", items, len(left_out)))
        if own.near_misses:
            items = [
                self._failed(miss.occurrence, self._words.near_miss(miss, own), miss.frame, is_miss=True)
                for miss in own.near_misses[:_MOST_FAILED]
            ]
            block.lanes.append(self._failures("near misses", "miss", items, len(own.near_misses)))
        return block

    def _title(self, own: KeyTrace) -> str:
        key = self._trace.bound.key
        if key is None:
            return ""
        names = (sorted({".".join(path) for _, paths in part for path in paths}) for part in key.parts)
        return f"{', '.join('/'.join(one) for one in names)} = {own.name}"

    def _others(self) -> Block:
        lane = TimelineLane("other", "", "in no trace")
        for event in self._trace.others:
            lane.events.put(self._event(event, Look.IGNORED, False))
        return Block("", [lane])

    def _event(self, event: TracedEvent, look: Look, is_consumed: bool) -> Item:
        x = self._axis.place(event.seen.time)
        label = fitted(self._trace.label(event.event), USUAL, 150)
        self._shown.add("consumed" if is_consumed and look is not Look.CHOSEN else look.name.lower())
        self._shown |= {"consumed"} if is_consumed else set()
        more = " · consumed" if is_consumed else ""
        title = f"{self._trace.label(event.event)} · {event.event.type} · {self._words.time(event.seen.time)}"
        half = max(text_width(label, USUAL, bold=True) / 2, 9) + 3
        at = max(min(x, self._right + 8 - half), self._left + half)
        mark = EventMark(label, at, look, is_consumed, f"{title} · {event.text()}{more}")
        return Item(min(at - half, x - 9), max(at + half, x + 9), lambda canvas, y: draw_event(canvas, mark, x, y))

    def _absence(self, absence: Absence) -> Item:
        end = self._axis.place(absence.end)
        decided = absence.end if absence.at is None or not absence.is_trailing else absence.at
        stop = self._axis.place(absence.by.end[0] if absence.by else decided)
        if absence.outcome is AbsenceOutcome.OPEN:
            stop = self._axis.right
        begin = self._axis.place(absence.begin)
        self._shown |= {absence.outcome.value} & {"held", "broken"}
        beside = self._words.events(sorted(absence.beside.values(), key=lambda seen: seen.order))
        word = "after" if absence.is_trailing else "for"
        label = f"{word} {beside}" if beside else f"no {' or '.join(absence.absent)}"
        label = fitted(label, SMALL, 200)
        mark = AbsenceMark(label, begin, stop, end, self._right, absence.outcome, self._words.absence(absence))
        return Item(*mark.room, lambda canvas, y: draw_absence(canvas, mark, y))

    def _reports(self, own: KeyTrace, dots: dict[tuple[str, ReferenceEvent], Item], block: Block) -> TimelineLane:
        self._shown.add("report")
        lane = TimelineLane("reports", "", str(len(own.reports)), others=TimelineRows(_REPORT_ROW))
        consumed = {closing.reports[-1].id: closing.consumed for closing in own.closings if closing.reports}
        parts = _parts(own)
        for report in own.reports:
            name = report.id
            item = lane.others.put(self._report(report, parts.get(name, []), consumed.get(name, ())))
            block.guides += (
                (dots[part], item, self._axis.place(part[1].time)) for part in parts.get(name, ()) if part in dots
            )
        return lane

    def _report(
        self, report: Report, parts: Iterable[tuple[str, ReferenceEvent]], consumed: Iterable[ReferenceEvent]
    ) -> Item:
        begin, end = self._axis.place(report.start), self._axis.place(report.end)
        frame_end = self._frame(report.start)
        label = fitted(self._words.report_events(report), SMALL, self._right - self._left - 90)
        note = report.id[:8] + (f" · {gone} consumed" if (gone := self._words.events(consumed)) else "")
        note = fitted(note, SMALL, max(self._right - self._left - text_width(label, SMALL, bold=True) - 20, 60))
        room = text_width(label, SMALL, bold=True) + 6 + text_width(note, SMALL) + 4
        at = max(min(begin + 5, self._right - room), self._left)
        events = tuple(sorted({self._axis.place(seen.time) for _, seen in parts}))
        mark = ReportMark(label, note, at, begin, end, frame_end, events, self._words.report(report))
        return Item(min(at, begin - 6), max(at + room, end + 8, frame_end or 0), lambda c, y: draw_report(c, mark, y))

    def _frame(self, start: int) -> float | None:
        pattern = self._trace.bound.pattern
        within = pattern.within if isinstance(pattern, Both | Sequence) else None
        if within is None or (isinstance(pattern, Sequence) and (pattern.gaps[-1] or len(pattern.present) < 2)):
            return None
        self._shown.add("frame")
        return self._axis.place(start + within)

    def _failures(self, name: str, sign: str, items: Iterable[Item], count: int) -> TimelineLane:
        self._shown.add(sign)
        hidden = count - _MOST_FAILED
        lane = TimelineLane(name, "", f"and {hidden} more" if hidden > 0 else "", others=TimelineRows(_FAILED_ROW))
        for item in items:
            lane.others.put(item)
        return lane

    def _failed(
        self, one: ReferenceOccurrence, text: str, frame: tuple[int, int] | None, *, is_miss: bool = False
    ) -> Item:
        begin, end = self._axis.place(one.start[0]), self._axis.place(one.end[0])
        framed = None if frame is None else (self._axis.place(frame[0]), self._axis.place(frame[1]))
        self._shown |= set() if frame is None else {"frame"}
        label = fitted(text.removeprefix("nearly ").removeprefix("left out "), SMALL, self._right - self._left - 10)
        room = text_width(label, SMALL) + 4
        at = max(min(begin, self._right - room), self._left)
        events = tuple(sorted({self._axis.place(seen.time) for seen in one.bound.values()}))
        mark = FailedMark(label, at, begin, end, framed, events, text, is_miss)
        return Item(min(at, begin - 6), max(at + room, end + 10), lambda canvas, y: draw_failed(canvas, mark, y))

    # Drawing

    def _heading(self) -> list[tuple[str, str]]:
        lines = []
        for text in self._words.profile():
            lead, _, rest = text.partition(" ")
            for at, line in enumerate(wrapped(rest, USUAL + 1, self._width - 2 * _PAD - 84)):
                lines.append((lead if at == 0 else "", line))
        return lines

    def _draw_heading(self, canvas: Canvas, heading: Iterable[tuple[str, str]]) -> None:
        canvas.text(self._trace.bound.name, _PAD, _PAD + 12, font_weight=700, style="font-size:17px")
        y = _PAD + 34
        for lead, line in heading:
            canvas.text(lead, _PAD, y, class_="code", style=f"fill:{ACCENT}", font_weight=600)
            canvas.text(line, _PAD + 84, y, class_="code", style=f"fill:{INK}")
            y += 17

    def _draw_axis(self, canvas: Canvas, top: float, bottom: float) -> None:
        for x, text in self._axis.ticks:
            canvas.element("path", d=f"M{x:.1f} {top}V{bottom:.1f}", stroke=LINE)
            canvas.element("path", d=f"M{x:.1f} {bottom}v6", stroke=SOFT)
            canvas.text(text, x, bottom + 19, text_anchor="middle", style=f"fill:{SOFT};font-size:{SMALL}px")
        canvas.element("path", d=f"M{self._left:.1f} {bottom}H{self._right:.1f}", stroke=SOFT)
        for begin, end in self._axis.cuts:
            x = (self._axis.place(begin) + self._axis.place(end)) / 2
            canvas.element("rect", x=x - 5, y=top, width=10, height=bottom - top + 6, fill=PAPER)
            for place in (x - 5, x + 5):
                canvas.element("path", d=f"M{place - 3:.1f} {bottom + 6}l6 -12", stroke=SOFT)
        canvas.text(f"{self._axis.day or ''} UTC".strip(), _PAD, bottom + 19, style=f"fill:{SOFT};font-size:{SMALL}px")

    def _draw_block(self, canvas: Canvas, block: Block) -> None:
        if block.title:
            canvas.text(block.title, _PAD, block.top + 19, font_weight=600, style=f"fill:{ACCENT}")
        for lane in block.lanes[1:]:
            d = f"M{_PAD - 8} {lane.top:.1f}H{self._width - _PAD + 8}"
            canvas.element("path", d=d, stroke=LINE)
        for dot, item, x in block.guides:
            canvas.element(
                "path", d=f"M{x:.1f} {dot.y + 23:.1f}V{item.y + 23:.1f}", stroke=ACCENT, stroke_opacity="0.35",
                stroke_dasharray="2 3",
            )  # fmt: skip
        for lane in block.lanes:
            lane.draw(canvas, _PAD)

    def _legend(self) -> list[str]:
        order = ("chosen", "candidate", "consumed", "ignored", "held", "broken", "report", "frame", "dropped", "miss")
        return [name for name in order if name in self._shown]


@dataclass(frozen=True, slots=True)
class _Roles:
    """What became of the events of a trace."""

    chosen: frozenset[tuple[str, ReferenceEvent]]
    consumed: frozenset[ReferenceEvent]

    @classmethod
    def of(cls, own: KeyTrace) -> _Roles:
        reported = (one.occurrence for closing in own.closings for one in closing.occurrences if one.report)
        chosen = frozenset(part for one in reported for part in one.bound.items())
        return cls(chosen, frozenset(own.consumed) | frozenset(own.outgrown))

    def look(self, operand: str, event: TracedEvent) -> Look:
        if not event.candidacies:
            return Look.IGNORED
        return Look.CHOSEN if (operand, event.seen) in self.chosen else Look.CANDIDATE


def _note(trace: Trace, operand: Operand) -> str:
    if operand not in bound_operands(trace.bound.pattern):
        return "must not occur"
    rule = trace.bound.parameters.of(operand.name)
    return "" if str(rule) == "all" else str(rule)


def _lanes_of(event: TracedEvent, key: object) -> Iterator[str]:
    for verdict in event.candidacies or event.verdicts:
        if verdict.key == key and verdict.reason is not VerdictReason.OTHER_TYPE:
            yield verdict.operand


def _parts(own: KeyTrace) -> dict[str, list[tuple[str, ReferenceEvent]]]:
    """By report, the operands with their events, in order."""
    found: dict[str, set[tuple[str, ReferenceEvent]]] = {}
    for one in (one for closing in own.closings for one in closing.occurrences):
        if one.report:
            found.setdefault(one.report, set()).update(one.occurrence.bound.items())
    return {name: sorted(parts, key=lambda part: (part[1].order, part[0])) for name, parts in found.items()}


def _times(trace: Trace) -> Iterator[int]:
    yield from (one.seen.time for one in trace.events)
    for own in trace.keys:
        yield from (time for report in own.reports for time in (report.start, report.end))
        yield from (one.begin for one in own.absences)
        yield from (one.end for one in own.absences if one.outcome is AbsenceOutcome.HELD)
