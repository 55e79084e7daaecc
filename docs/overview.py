"""Draws the picture of the README: two domains, a contract and a subscriber, from the example `two_houses` as it runs.

Types, units, the profile, what is sent and what arrives are those of the example; only the places are chosen here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comity import Event, Notification, compile_plan, load, read_events, run
from comity.event.types import EventType
from comity.pattern.tracing.svg import Canvas, fitted

DOCS = Path(__file__).parent
PICTURE = DOCS / "images" / "two-houses.svg"
EXAMPLE = DOCS.parent / "examples" / "two_houses"

_PROFILE = "serious_fires"
_SENT = {"house_a": "a-2", "house_b": "b-1"}
_WIDTH, _HEIGHT, _LINE, _SIZE = 960, 360, 19, 13
_COLUMNS = {"domain": (20, 250), "contract": (355, 220), "subscriber": (660, 280)}
"""Where the boxes of a column begin, and how wide they are."""
_STYLE = (
    "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px;fill:#1f2933}"
    ".name{font-weight:600}.about{fill:#52606d;font-size:12px}.value{font-family:ui-monospace,monospace;font-size:12px}"
    ".box{fill:#fff;stroke-width:1.5}.domain{stroke:#2b7a78}.contract{stroke:#b7791f}.subscriber{stroke:#2c5282}"
    ".way{fill:none;stroke:#7b8794;stroke-width:1.5}.tip{fill:#7b8794}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A party: what it is, and lines about it."""

    column: str
    name: str
    about: str
    lines: tuple[str, ...]
    top: float

    @property
    def height(self) -> float:
        return 54 + _LINE * len(self.lines)

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def picture() -> dict[Path, str]:
    """The picture, as it should be now."""
    city = load(EXAMPLE)
    events = {one.id: one for one in read_events(EXAMPLE / "events", city.find_type) if isinstance(one, Event)}
    outcomes = run(compile_plan(city), iter(events.values()))
    received = [one.event for one in outcomes if isinstance(one, Notification) and one.profile == _PROFILE]
    profile, contract = city.profiles[_PROFILE], city.contracts["fire"]
    houses = [_sender(name, events[id], city.find_type, 20 + 165 * at) for at, (name, id) in enumerate(_SENT.items())]
    middle = Box(
        "contract", f"contract {contract.name}", f"a common type: {contract.type.name}", _of(contract.type), 105
    )
    lines = (profile.text, "", "receives:", *(_arrived(event, profile.type) for event in received))
    station = Box("subscriber", profile.domain, f"wants {profile.type.name}s, in its own words, where", lines, 85)
    return {PICTURE: _drawn([*houses, middle, station])}


def _sender(name: str, event: Event, find_type: Any, top: float) -> Box:
    type = find_type(event.type)
    return Box("domain", name, f"sends a {type.name}:", tuple(_values(event.data, type)), top)


def _arrived(event: Event, type: EventType) -> str:
    address, temperature = event.data["address"].partition(",")[0], event.data["temperature"]
    return f"{address}: {temperature:g}{_unit(type, ('temperature',))}"


def _of(type: EventType) -> tuple[str, ...]:
    return tuple(f"{name}{_unit(type, (name,), ', ')}" for name in type.attributes)


def _values(data: Any, type: EventType, path: tuple[str, ...] = ()) -> list[str]:
    lines: list[str] = []
    for name, value in data.items():
        here = (*path, name)
        if isinstance(value, dict):
            lines += _values(value, type, here)
        else:
            lines.append(f"{'.'.join(here)}: {f'{value:g}' if isinstance(value, float) else value}{_unit(type, here)}")
    return lines


def _unit(type: EventType, path: tuple[str, ...], lead: str = " ") -> str:
    declared = type.attribute_at(path)
    return f"{lead}{declared.unit}" if declared and declared.unit else ""


def _drawn(boxes: list[Box]) -> str:
    canvas = Canvas()
    canvas.element("rect", width=_WIDTH, height=_HEIGHT, rx=10, fill="#f7f9fb")
    *houses, contract, station = boxes
    for house in houses:
        _arrow(canvas, house, contract)
    _arrow(canvas, contract, station)
    for box in boxes:
        _draw(canvas, box)
    title = "Two houses send fire alarms in their own types and units; the fire station receives both in its own"
    return canvas.document(_WIDTH, _HEIGHT, title, _STYLE)


def _draw(canvas: Canvas, box: Box) -> None:
    left, width = _COLUMNS[box.column]
    canvas.element("rect", x=left, y=box.top, width=width, height=box.height, rx=8, class_=f"box {box.column}")
    canvas.text(box.name, left + 12, box.top + 22, class_="name")
    canvas.text(box.about, left + 12, box.top + 40, class_="about")
    for at, line in enumerate(box.lines):
        canvas.text(fitted(line, _SIZE, width), left + 12, box.top + 62 + _LINE * at, class_="value")


def _arrow(canvas: Canvas, start: Box, end: Box) -> None:
    """From the right side of one box to the left side of another."""
    x, goal = sum(_COLUMNS[start.column]), _COLUMNS[end.column][0]
    y = end.middle + (start.middle - end.middle) * 0.35
    half = (x + goal) / 2
    canvas.element("path", d=f"M{x} {start.middle} C{half} {start.middle} {half} {y} {goal - 8} {y}", class_="way")
    canvas.element("path", d=f"M{goal} {y} l-9 -5 v10 z", class_="tip")
