"""`comity simulate`: a network of brokers under virtual time, for several strategies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import argument, option
from comity.cli.output import console, refuse_overwriting, result_stream, write_json
from comity.cli.progress import BatchProgress
from comity.cli.session import Format, FormatOption

if TYPE_CHECKING:
    from comity.simulate.costs import Costs
    from comity.simulate.picture import NetworkView
    from comity.simulate.scenario import ScenarioFile

EXAMPLE = "Example:  comity simulate examples/simulations/stocks.yaml --svg stocks.svg"


def simulate(
    scenario: Annotated[Path, argument("FILE", "A YAML file with network, clients, events and faults.")],
    svg: Annotated[Path | None, option("FILE", "Draw the networks and their traffic there.", "--svg")] = None,
    seed: Annotated[int | None, option("N", "Where chance begins, instead of the file's `seed`.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Run a network of brokers under virtual time, once for each strategy, and print what each costs.

    The same seed gives the same run. What clients want is compared with what they get, and with the tables of the
    brokers: whatever does not hold is printed, and the exit code is 1.
    """
    from comity.simulate.picture import drawn
    from comity.simulate.scenario import read_scenario

    refuse_overwriting(svg, scenario)
    read = read_scenario(scenario)
    views = _views(read, scenario.parent, seed, format)
    if svg is not None:
        with result_stream(svg) as stream:
            stream.write(drawn(views, read.simulation).encode())
    costs = [view.costs for view in views]
    if format is Format.JSON:
        write_json(_as_json(read, costs, seed), indent=2)
    else:
        _show(read, costs)
    if any(one.findings for one in costs):
        raise typer.Exit(1)


def _views(read: ScenarioFile, folder: Path, seed: int | None, format: Format) -> list[NetworkView]:
    from comity.simulate.picture import view_of
    from comity.simulate.run import simulate as run

    with BatchProgress("simulating", format=format) as bar:
        runs = run(read, folder, seed=seed, progress=lambda done, events: bar.update(events, done))
        return [view_of(one.network, one.costs) for one in runs]


def _as_json(read: ScenarioFile, costs: list[Costs], seed: int | None) -> dict[str, Any]:
    rows = [{**asdict(one), "unwanted_share": one.unwanted_share} for one in costs]
    return {"simulation": read.simulation, "seed": read.seed if seed is None else seed, "policies": rows}


def _show(read: ScenarioFile, costs: list[Costs]) -> None:
    from comity.simulate.costs import aligned, rows

    out, first = console(), costs[0]
    out.print(read.simulation, style="bold")
    out.print(f"{first.brokers:,} brokers, {first.subscriptions:,} subscriptions, {first.events:,} events")
    out.print()
    head, *lines = aligned(rows(costs))
    out.print(head, style="bold")
    for line in lines:
        out.print(line)
    for one in costs:
        _show_faults(one)


def _show_faults(one: Costs) -> None:
    name = one.strategy + (" with advertisements" if one.advertisements else "")
    if one.mean_delay_ms is not None:
        lost = f", {one.lost:,} messages lost on links" if one.lost else ""
        times = f"{one.mean_delay_ms:.1f} ms on average, {one.longest_delay_ms:.1f} ms at most"
        console().print(f"{name}: delivered after {times}{lost}", style="bright_black")
    for finding in one.findings[:5]:
        console().print(f"{name}: {finding}", style="red")
