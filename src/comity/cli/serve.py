"""`comity serve`: the event server of a domain, or a broker of a network, until it is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.event_server import serve_domain
from comity.cli.logs import LogFormat, LogFormatOption, LogOption, logging_to
from comity.cli.metrics import MetricsFileOption, MetricsHostOption, MetricsPortOption
from comity.cli.options import argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption, Session
from comity.errors import Misuse, Place
from comity.run.metrics import LOOPBACK, metrics_served
from comity.run.outputs import written_whole

if TYPE_CHECKING:
    from comity.server.node import BrokerNode, Observe
    from comity.server.settings import ClientToken, NodeSettings, TlsFiles
    from comity.wire import NodeStatus

EXAMPLE = "Example:  comity serve --broker north --listen 127.0.0.1:7470 --peer 127.0.0.1:7471"

_BROKER_LISTENS = "127.0.0.1:7470"
_OF_BROKERS = (
    *(
        "peer",
        "strategy",
        "advertisements",
        "notices",
        "generic",
        "overlay",
        "lease",
        "silence",
        "tls_cert",
        "tls_key",
        "tls_ca",
    ),
    *("client_token", "end_with_input", "metrics", "metrics_port", "metrics_host"),
)


class Routing(StrEnum):
    """How much brokers tell each other of what is wanted behind them."""

    FLOODING = "flooding"
    SIMPLE = "simple"
    IDENTITY = "identity"
    COVERING = "covering"
    MERGING = "merging"
    IMPERFECT = "imperfect"


class Overlays(StrEnum):
    """What brokers put over the graph of their links."""

    RENDEZVOUS = "rendezvous"


def serve(
    context: typer.Context,
    folder: Annotated[
        Path | None, argument("DIR", "Be the event server of the domain whose files are in this folder.")
    ] = None,
    broker: Annotated[str | None, option("NAME", "Be a broker, called NAME in its network.", "--broker")] = None,
    listen: Annotated[
        str | None, option("HOST:PORT", "Where to listen, 127.0.0.1:7470 or, with DIR, :8700; port 0 is a free one.")
    ] = None,
    peer: Annotated[
        list[str] | None, option("HOST:PORT", "Another broker to be linked to. May be repeated.", "--peer")
    ] = None,
    strategy: Annotated[Routing, typer.Option(help="The same for all brokers of a network.")] = Routing.COVERING,
    advertisements: Annotated[
        bool, typer.Option("--advertisements", help="Publishers advertise, and subscriptions go to them only.")
    ] = False,
    notices: Annotated[
        bool, typer.Option("--notices", help="Publish who subscribes and advertises, as events that one subscribes to.")
    ] = False,
    generic: Annotated[
        bool, typer.Option("--generic", help="Let links form circles: events go along a tree that brokers agree on.")
    ] = False,
    overlay: Annotated[
        Overlays | None,
        typer.Option(help="Let links form any graph: events go along a tree of their type, from those who advertise."),
    ] = None,
    lease: Annotated[
        float | None,
        option("SECONDS", "Forget what a neighbour told if it does not say so again in time.", "--lease"),
    ] = None,
    silence: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.5, help="Take somebody for gone who is silent for so long.")
    ] = 15.0,
    store: Annotated[
        str | None, option("DIR", "Folder in which events wait; of an event server, `store` beside its files.")
    ] = None,
    tls_cert: Annotated[
        Path | None, option("FILE", "Our certificate (PEM); it names the broker.", "--tls-cert")
    ] = None,
    tls_key: Annotated[Path | None, option("FILE", "Its key; default: in the same file.", "--tls-key")] = None,
    tls_ca: Annotated[
        Path | None, option("FILE", "Authorities that the certificates of all others are of.", "--tls-ca")
    ] = None,
    client_token: Annotated[
        Path | None, option("FILE", "A file with a text that clients must give.", "--client-token")
    ] = None,
    end_with_input: Annotated[
        bool,
        typer.Option("--end-with-input", help="Stop when standard input ends, as when whoever started us is killed."),
    ] = False,
    metrics: MetricsFileOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = LOOPBACK,
    log_file: LogOption = None,
    log_format: LogFormatOption = LogFormat.TEXT,
    format: FormatOption = Format.TEXT,
) -> None:
    """Run a node until Ctrl-C or SIGTERM; it prints a line when it listens.

    With DIR it is the event server of a domain: clients register types and rules over HTTP, publish events, and are
    told of what their rules want; how, is said by `node.yaml` in that folder. With --broker it is a broker, which takes
    in events from clients and other brokers, and passes each on to those who want it.
    """
    session = context.ensure_object(Session)
    if (folder is None) == (broker is None):
        hint = "name the folder of a domain, or give --broker NAME"
        raise Misuse("what to serve is not said, or twice", code="bad-usage", hint=hint)
    if folder is not None:
        _refuse_broker_options(context)
        with logging_to(log_file, log_format, verbose=session.verbose):
            serve_domain(folder, listen, store, format)
        return
    assert broker is not None, "one of the two was given"
    from comity.route.policy import Policy, Strategy
    from comity.server.serve import run_node
    from comity.server.settings import SLICE, Address, NodeSettings, Overlay

    advertises = advertisements or overlay is not None
    settings = NodeSettings(
        broker,
        Address.read(listen or _BROKER_LISTENS),
        tuple(Address.read(one) for one in peer or ()),
        Policy(Strategy(strategy.value), advertises, lease_s=lease, notices=notices, slice=SLICE),
        _tls(tls_cert, tls_key, tls_ca),
        None if store is None else Path(store),
        generic,
        _token(client_token),
        silence,
        Overlay(overlay.value) if overlay is not None else None,
    )
    with ExitStack() as stack:
        stack.enter_context(logging_to(log_file, log_format, verbose=session.verbose))
        observe = stack.enter_context(_measured(metrics, metrics_port, metrics_host))
        run_node(settings, lambda node: _ready(node, settings, format), observe, ends_with_input=end_with_input)


def _refuse_broker_options(context: typer.Context) -> None:
    """Refuse what would be passed over."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in _OF_BROKERS
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    ]
    if given:
        hint = "an event server has its settings in node.yaml, and its metrics at /metrics"
        raise Misuse(f"only brokers have {', '.join(given)}", code="bad-usage", hint=hint)


@contextmanager
def _measured(file: Path | None, port: int | None, host: str) -> Iterator[Observe | None]:
    """What keeps metrics in a file, or serves them, until the end of the block; None: nobody asked for them."""
    if file is None and port is None:
        yield None
        return
    from comity.server.metrics import NodeMetrics

    metrics = NodeMetrics()

    def observe(status: NodeStatus) -> None:
        metrics.take(status)
        if file is not None:
            with written_whole(file) as stream:
                stream.write(metrics.render())

    with ExitStack() as stack:
        if port is not None:
            served = stack.enter_context(metrics_served(metrics.registry, host, port))
            console(stderr=True).print(f"metrics are at http://{host}:{served}/metrics")
        yield observe


def _ready(node: BrokerNode, settings: NodeSettings, format: Format) -> None:
    """The line by which whoever started us knows that we are there."""
    told = {"broker": node.name, "address": node.address, "strategy": settings.policy.strategy.value}
    if settings.overlay is not None:
        told["overlay"] = settings.overlay.value
    if format is Format.JSON:
        write_json({**told, "advertisements": settings.policy.advertisements})
        return
    also = " with advertisements" if settings.policy.advertisements else ""
    also = f" in a {settings.overlay.value} overlay" if settings.overlay is not None else also
    console().print(f"broker {node.name} listens on {node.address}, {told['strategy']}{also}")


def _tls(certificate: Path | None, key: Path | None, authorities: Path | None) -> TlsFiles | None:
    from comity.server.settings import TlsFiles

    if certificate is None and key is None and authorities is None:
        return None
    if certificate is None or authorities is None:
        hint = "give --tls-cert and --tls-ca, and --tls-key unless the key is in the file of the certificate"
        raise Misuse("TLS needs a certificate, and the authorities of the others", code="bad-usage", hint=hint)
    return TlsFiles(certificate, key if key is not None else certificate, authorities)


def _token(path: Path | None) -> ClientToken | None:
    from comity.server.settings import ClientToken

    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Misuse(f"cannot be read: {error.strerror}", code="unreadable-file", place=Place(str(path))) from error
    if not text:
        raise Misuse("the file holds no token", code="bad-usage", place=Place(str(path)))
    return ClientToken(text)
