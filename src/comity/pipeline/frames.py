"""Federations over DataFrames, on a Spark session that the caller has: what `comity.spark` offers.

Results are DataFrames, which Spark works out when somebody asks for them; nothing is written, and nothing comes to this
process. Raw columns are looked at twice: rows for which Spark vouches are matched as columns, the others are decoded by
workers, as every reader of Comity does it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from pyspark.sql import DataFrame

from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.event.window import Window
from comity.pattern.explain import tree_lines
from comity.pipeline.deliver import Outcome, complete, once_each
from comity.pipeline.deliver import deliver as deliver_hits
from comity.pipeline.detect.reports import reports_of_hits
from comity.pipeline.given import EventColumns, GivenEvents, check_domain
from comity.pipeline.guest import our_settings
from comity.pipeline.match_rows import ProfilesLike, bound_profiles, read_taxonomy, with_names
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Tables
from comity.pipeline.told import notification_columns, notifications_of_hit, rejected_columns, rejections_of_hit
from comity.plan.explain import explain as explain_plan
from comity.plan.explain import only_for
from comity.plan.loading import FederationLike, federation_of, plan_of
from comity.plan.period import during, read_period
from comity.plan.stages import Plan
from comity.plan.ways import ways_of


def deliver(
    events: DataFrame,
    federation: FederationLike,
    *,
    domain: str | None = None,
    typed: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    **columns: Unpack[EventColumns],
) -> DataFrame:
    """The notifications that come of events, a row for each, and each once.

    The columns are `subscriber`, `profile`, the envelope, `data` with the attributes as JSON, and `notification`, the
    whole as `comity run` writes it. With a `domain` the events may be of its types only, as those of its sources are.
    With `typed` there are notifications of one profile, and `data` is a struct of the subscriber's type; durations in
    it are microseconds.
    """
    plan = during(plan_of(federation), read_period(since, until))
    plan = plan if typed is None else _only(plan, typed)
    given = GivenEvents.of(events, columns)
    with our_settings(events.sparkSession, _types(plan)):
        batch = _Batch.of(given, plan, domain)
        told = notification_columns(batch.outcomes(notifications_of_hit(ways_of(plan), typed=typed is not None)))
        return told.unionByName(batch.reports(), allowMissingColumns=True) if plan.patterns else told


def rejected(
    events: DataFrame,
    federation: FederationLike,
    *,
    domain: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    **columns: Unpack[EventColumns],
) -> DataFrame:
    """The records that are no events of the federation, or that a contract cannot map, with the reasons.

    The columns are `code` and `reason` of the first fault, `source` and `id` where they are known, `contract` if it is
    one that cannot map the event, `raw`, which is the record, cut short, and `faults` with all reasons.
    """
    plan = during(plan_of(federation), read_period(since, until))
    given = GivenEvents.of(events, columns)
    with our_settings(events.sparkSession, _types(plan)):
        return rejected_columns(_Batch.of(given, plan, domain).outcomes(rejections_of_hit(ways_of(plan))))


def match(
    events: DataFrame,
    profiles: ProfilesLike,
    *,
    types: str | Path | Taxonomy | None = None,
    into: str = "profiles",
    **columns: Unpack[EventColumns],
) -> DataFrame:
    """The rows with the names of the profiles that they match, in a column that is called as `into` says.

    Profiles are a file, filters by name, or a list of `Profile`; with `types` they are about these. Rows need no
    envelope but the type, if profiles ask for it. For a row that is no event of the types the names are null.
    """
    taxonomy = read_taxonomy(types)
    bound = bound_profiles(profiles, taxonomy)
    given = GivenEvents.of(events, columns)
    with our_settings(events.sparkSession, () if taxonomy is None else taxonomy.types):
        return with_names(given, bound, taxonomy, into)


def explain(federation: FederationLike, profile: str | None = None) -> str:
    """What runs where, as `comity explain` tells it: of a federation, or of one profile."""
    if isinstance(federation, Plan):
        explained = explain_plan(federation, profile)
    else:
        loaded = federation_of(federation)
        explained = explain_plan(plan_of(loaded), profile, sources=loaded.sources, sinks=loaded.sinks)
    return "\n".join(tree_lines(explained.as_tree()))


@dataclass(frozen=True, slots=True)
class _Batch:
    """All events of a DataFrame, and the hits among them."""

    prepared: PreparedPlan
    tables: Tables
    window: Window
    hits: DataFrame

    @classmethod
    def of(cls, given: GivenEvents, plan: Plan, domain: str | None) -> _Batch:
        check_domain(domain, {one.namespace for one in plan.types})
        window = Window.of_history(datetime.now(UTC))
        prepared = PreparedPlan(plan, given.table.sparkSession)
        tables = given.tables((one.qualified_name for one in plan.types), domain)
        hits = prepared.hits(tables, window)
        if tables.rows:
            hits = hits.unionByName(prepared.doubtful_hits(tables, window), allowMissingColumns=True)
        return cls(prepared, tables, window, complete(hits, plan.types))

    def outcomes(self, outcome: Outcome) -> DataFrame:
        """What becomes of the hits."""
        return deliver_hits(self.hits, outcome, once_each, has_patterns=bool(self.prepared.plan.patterns))

    def reports(self) -> DataFrame:
        """What composite profiles report."""
        ends = self.prepared.row_ends(self.tables.rows, self.window)
        return reports_of_hits(self.prepared.patterns, self.hits, ends)


def _only(plan: Plan, profile: str) -> Plan:
    """The plan for one profile about single events, which has a route."""
    if profile not in plan.profiles:
        hint = f"known: {', '.join(plan.profiles) or 'none'}"
        raise Misuse(f"no route leads to a profile {profile!r}", code="unknown-profile", hint=hint)
    if plan.pattern(profile) is not None:
        hint = "leave `typed` out: what it reports has the events of several types in it"
        raise Misuse(f"{profile!r} is a composite profile, which has no type", code="composite-profile", hint=hint)
    narrowed = (replace(only_for(route, profile), failures=()) for route in plan.routes)
    return replace(plan, routes=tuple(route for route in narrowed if route.deliveries), patterns=())


def _types(plan: Plan) -> list[EventType]:
    """All types that events have on their ways."""
    ways = ways_of(plan).ways
    met = [way.mediate.target for way in ways if way.mediate is not None]
    return [*plan.types, *met, *(way.target for way in ways)]
