"""`comity`: the entry point, and what every command has in common."""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

import comity
from comity.cli import (
    advertise,
    backtest,
    concepts,
    demo,
    detect,
    discover,
    doctor,
    events,
    examples,
    explain,
    fedreg,
    gateway,
    keys,
    lint,
    match,
    profiles,
    pub,
    relate,
    replay,
    serve,
    simulate,
    sub,
    top,
    trace,
    types,
    units,
    warm_up,
    xslt,
)
from comity.cli import run as run_command
from comity.cli.contract import commands as contract
from comity.cli.contract import consent
from comity.cli.contract import diff as contract_diff
from comity.cli.contract import suggest as contract_suggest
from comity.cli.failure import INTERRUPTED, TERMINATED, report
from comity.cli.session import Session

app = typer.Typer(
    name="comity",
    help="Event federation: subscribe once, in your own words and units, to events from every system.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=lint.EXAMPLE)(lint.lint)
app.command(epilog=relate.EXAMPLE)(relate.relate)
app.command(epilog=match.EXAMPLE)(match.match)
app.command(epilog=run_command.EXAMPLE)(run_command.run)
app.command(epilog=serve.EXAMPLE)(serve.serve)
app.command(epilog=explain.EXPLAIN_EXAMPLE)(explain.explain)
app.command(epilog=explain.WHY_EXAMPLE)(explain.why)
app.command(epilog=detect.EXAMPLE)(detect.detect)
app.command(epilog=trace.EXAMPLE)(trace.trace)
app.command(epilog=backtest.EXAMPLE)(backtest.backtest)
app.add_typer(profiles.app, name="profiles", epilog=profiles.EXAMPLE)
contract.app.command(epilog=contract_suggest.EXAMPLE)(contract_suggest.suggest)
contract.app.command(epilog=contract_diff.EXAMPLE)(contract_diff.diff)
for _command, _epilog in (
    (consent.propose, consent.PROPOSE_EXAMPLE),
    (consent.show, consent.SHOW_EXAMPLE),
    (consent.agree, consent.AGREE_EXAMPLE),
    (consent.refuse, consent.REFUSE_EXAMPLE),
    (consent.join, consent.JOIN_EXAMPLE),
    (consent.leave, consent.LEAVE_EXAMPLE),
):
    contract.app.command(epilog=_epilog)(_command)
app.add_typer(contract.app, name="contract", epilog=contract.EXAMPLE)
app.add_typer(gateway.app, name="gateway", epilog=gateway.EXAMPLE)
app.add_typer(keys.app, name="keys", epilog=keys.EXAMPLE)
app.command(epilog=discover.EXAMPLE)(discover.discover)
app.add_typer(types.app, name="types", epilog=types.EXAMPLE)
app.add_typer(events.app, name="events", epilog=events.EXAMPLE)
app.add_typer(units.app, name="units", epilog=units.EXAMPLE)
app.add_typer(concepts.app, name="concepts", epilog=concepts.EXAMPLE)
app.add_typer(fedreg.app, name="fedreg", epilog=fedreg.EXAMPLE)
app.add_typer(xslt.app, name="xslt", epilog=xslt.EXAMPLE)
app.command(epilog=simulate.EXAMPLE)(simulate.simulate)
app.command(epilog=pub.EXAMPLE)(pub.pub)
app.command(epilog=sub.EXAMPLE)(sub.sub)
app.command(epilog=advertise.EXAMPLE)(advertise.advertise)
app.command(epilog=top.EXAMPLE)(top.top)
app.command(epilog=doctor.EXAMPLE)(doctor.doctor)
app.command("warm-up", epilog=warm_up.EXAMPLE)(warm_up.warm_up)
app.command(epilog=demo.EXAMPLE)(demo.demo)
app.command(epilog=examples.EXAMPLE)(examples.examples)
app.command(epilog=replay.EXAMPLE)(replay.replay)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"comity {comity.__version__}")
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more; show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Event federation: subscribe once, in your own words and units, to events from every system."""
    context.ensure_object(Session).verbose = verbose


def run(arguments: list[str] | None = None) -> None:
    """Run the program with the arguments of the process, or with others, and leave with its exit code."""
    session = Session()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a locale without ✓ is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        app(arguments, obj=session, prog_name="comity")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        sys.exit(report(error, session))
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: object) -> None:
    """As an exception, so that what was begun is taken back, and what was started is ended."""
    sys.exit(TERMINATED)
