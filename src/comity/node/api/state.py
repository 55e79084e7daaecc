"""How a node is: for whoever watches it."""

from __future__ import annotations

from aiohttp import web

import comity
from comity.node.api.answers import answer
from comity.node.api.documents import open_api
from comity.node.api.routes import ApiRequest
from comity.node.event_server import EventServer

_FIGURES = {
    "published": ("counter", "Events that were stored."),
    "repeated": ("counter", "Events that came again, and were not stored again."),
    "rejected": ("counter", "Records that are no events of the types here."),
    "refused": ("counter", "Requests that were answered with an error."),
    "late": ("counter", "Events that came too late to take part in composite rules."),
    "connected": ("gauge", "Subscribers who are connected."),
    "rules": ("gauge", "Rules of all subscribers."),
    "types": ("gauge", "Types."),
    "position": ("gauge", "The number of the last entry of the log."),
    "detected": ("gauge", "The number of the entry up to which composite rules were detected."),
}


def figures(server: EventServer) -> dict[str, int]:
    """What is counted, by name."""
    log, detected = server.log, server.detecting.position
    return {
        **{name: server.counts[name] for name in ("published", "repeated", "rejected", "refused")},
        "late": server.detecting.late,
        "connected": len(server.connections),
        "rules": len(log.book.all()),
        "types": len(log.catalog.versions),
        "position": log.last,
        "detected": log.last if detected is None else detected,
    }


async def healthz(asked: ApiRequest) -> web.Response:
    """Whether the node works: it answers, and follows its log."""
    asked.connection.request_is_read()
    is_well = asked.server.is_running
    return answer({"status": "ok" if is_well else "failed", "position": asked.server.log.last}, 200 if is_well else 503)


async def openapi(asked: ApiRequest) -> web.Response:
    """What every request takes and gives."""
    asked.connection.request_is_read()
    return answer(open_api(asked.api.router.routes, comity.__version__))


async def metrics(asked: ApiRequest) -> web.Response:
    """The figures in the text form of Prometheus."""
    asked.connection.request_is_read()
    lines: list[str] = []
    for name, value in figures(asked.server).items():
        kind, about = _FIGURES[name]
        full = f"comity_node_{name}" + ("_total" if kind == "counter" else "")
        lines += [f"# HELP {full} {about}", f"# TYPE {full} {kind}", f"{full} {value}"]
    text = "\n".join(lines) + "\n"
    return web.Response(text=text, content_type="text/plain", charset="utf-8", headers={"Server": "comity"})
