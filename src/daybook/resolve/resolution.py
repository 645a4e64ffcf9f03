"""Who says where a dataset's data lies: project, dataset, or the default resolver.

The places one strategy, location or pin names for one period.

From (dataset, period) to the places its data lies.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, assert_never

from daybook.errors import DaybookError
from daybook.errors.suggestion import did_you_mean
from daybook.model.dataset import MainTable, PathLocation, TableLocation
from daybook.model.datasource import DataSource
from daybook.model.definition import Catalog, DatasetVersion, RegisteredDataPin, ResolverVersion
from daybook.model.period import Period
from daybook.model.resolver import CatalogStrategy, PathStrategy, ResolverRule, Strategy, TableStrategy
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.identifiers import ANY_LEVEL
from daybook.resolve.calendars.periods import calendar_for, child_periods, enclosing_period, is_coarser
from daybook.resolve.catalog.http_request import HttpLimits
from daybook.resolve.catalog.lookup import CatalogLocation, request_locations
from daybook.resolve.locations.location import Location, Resolution, inline_location, path_location, table_location
from daybook.resolve.locations.template import names_one_period, render_template
from daybook.resolve.rule_conditions import evaluate_condition


@dataclass(frozen=True, slots=True)
class ByResolver:
    resolver: ResolverVersion


@dataclass(frozen=True, slots=True)
class ByLocation:
    location: PathLocation | TableLocation


@dataclass(frozen=True, slots=True)
class ByPin:
    pin: RegisteredDataPin


LocationSource: TypeAlias = ByResolver | ByLocation | ByPin


def choose_location_source(
    dataset_version: DatasetVersion, catalog: Catalog, overrides: Mapping[str, str]
) -> LocationSource:
    """The project's override, then what the dataset says, then the default resolver; RESOLVE_040 if none does."""
    dataset = dataset_version.dataset
    if override := overrides.get(dataset.id):
        return _find_resolver(override, catalog)
    if dataset_version.pin is not None:
        return ByPin(dataset_version.pin)
    if dataset.resolver_id is not None:
        return _find_resolver(dataset.resolver_id, catalog)
    if dataset.main_table.location is not None:
        return ByLocation(dataset.main_table.location)
    if default := catalog.default_resolver():
        return _require_enabled(default)
    raise DaybookError("RESOLVE_040", dataset=dataset.id)


def _find_resolver(resolver_id: str, catalog: Catalog) -> ByResolver:
    found = catalog.resolver(resolver_id)
    if found is None:
        hint = did_you_mean(resolver_id, catalog.ids("resolver"))
        raise DaybookError("RESOLVE_041", hint=hint, resolver=resolver_id)
    return _require_enabled(found)


def _require_enabled(found: ResolverVersion) -> ByResolver:
    if found.status == "disabled":
        raise DaybookError("RESOLVE_042", resolver=found.resolver.id)
    return ByResolver(found)


@dataclass(frozen=True, slots=True)
class LocationContext:
    """What places are looked up in: the definitions, the workspace's folder, the hosts that may be asked."""

    catalog: Catalog
    root: Path
    allowed_hosts: tuple[str, ...]
    limits: HttpLimits


def usable_datasource(datasource_id: str, catalog: Catalog) -> DataSource:
    """A data source that exists and is not disabled."""
    datasource = catalog.datasource(datasource_id)
    if datasource is None:
        hint = did_you_mean(datasource_id, catalog.ids("datasource"))
        raise DaybookError("RESOLVE_043", hint=hint, datasource=datasource_id)
    if catalog.is_datasource_disabled(datasource_id):
        raise DaybookError("RESOLVE_044", datasource=datasource_id)
    return datasource


def locate_declared(
    location: PathLocation | TableLocation, table_name: str, period: Period, around: LocationContext
) -> tuple[Location, ...]:
    """Where a dataset says itself that its data lies."""
    match location:
        case PathLocation():
            path = render_template(location.path, period, table_name)
            found = inline_location(path, location.format, location.options, around.root)
            return (_with_own_period(found, location.path, period),)
        case TableLocation():
            return (_locate_table(location, table_name, period, around),)
        case _:
            assert_never(location)


def locate_by_strategy(
    strategy: Strategy, table_name: str, period: Period, around: LocationContext
) -> tuple[Location, ...]:
    """Where a resolver's rule says that the data lies."""
    match strategy:
        case PathStrategy():
            path = render_template(strategy.path, period, table_name)
            datasource = usable_datasource(strategy.datasource_id, around.catalog)
            return (_with_own_period(path_location(datasource, path, around.root), strategy.path, period),)
        case TableStrategy():
            return (_locate_table(strategy, table_name, period, around),)
        case CatalogStrategy():
            hosts, limits = around.allowed_hosts, around.limits
            answered = request_locations(
                strategy, period, table_name, root=around.root, allowed_hosts=hosts, limits=limits
            )
            return tuple(_locate_answered(location, period, around) for location in answered)
        case _:
            assert_never(strategy)


def locate_pinned(pin: RegisteredDataPin, table: MainTable, around: LocationContext) -> Location:
    """A registered version as it was written, under the data source it was written to."""
    if not isinstance(table.location, TableLocation):
        return Location("delta", uri=pin.uri, delta_version=pin.delta_version)
    datasource = usable_datasource(table.location.datasource_id, around.catalog)
    live = table_location(datasource, table.location.table, table.location.schema_name, around.root)
    return replace(live, uri=pin.uri, delta_version=pin.delta_version)


def _locate_table(
    named: TableLocation | TableStrategy, table_name: str, period: Period, around: LocationContext
) -> Location:
    name = render_template(named.table, period, table_name)
    datasource = usable_datasource(named.datasource_id, around.catalog)
    return _with_own_period(table_location(datasource, name, named.schema_name, around.root), named.table, period)


def _locate_answered(answer: CatalogLocation, period: Period, around: LocationContext) -> Location:
    datasource = usable_datasource(answer.datasource_id, around.catalog)
    if answer.path is not None:
        found = path_location(datasource, answer.path, around.root)
    else:
        found = table_location(datasource, answer.table or "", answer.schema_name, around.root)
    if answer.delta_version is not None and found.format != "delta":
        raise DaybookError("RESOLVE_074", datasource=datasource.id, type=found.format)
    return replace(found, period=period if answer.period else None, delta_version=answer.delta_version)


def _with_own_period(found: Location, template: str, period: Period) -> Location:
    return replace(found, period=period) if names_one_period(template, period) else found


NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
DEFAULT_HTTP_LIMITS = HttpLimits()


def resolve_dataset(
    dataset_version: DatasetVersion,
    period: Period,
    catalog: Catalog,
    *,
    root: Path,
    overrides: Mapping[str, str] = NO_OVERRIDES,
    allowed_hosts: tuple[str, ...] = (),
    limits: HttpLimits = DEFAULT_HTTP_LIMITS,
) -> Resolution:
    """Where to read a dataset for a run's period, and which `_period` values belong to it."""
    around = LocationContext(catalog, root, allowed_hosts, limits)
    table = dataset_version.dataset.main_table
    calendar = calendar_for(period.calendar_id, catalog)
    match choose_location_source(dataset_version, catalog, overrides):
        case ByPin(pin):
            return Resolution((locate_pinned(pin, table, around),), (period.identifier,))
        case ByLocation(location):
            periods = data_periods(period, location.data_level, calendar)
            found = (place for each in periods for place in locate_declared(location, table.name, each, around))
            return Resolution(_distinct_locations(found), _period_identifiers(periods))
        case ByResolver(chosen):
            rule = matching_rule(chosen, table.name, period)
            periods = data_periods(period, rule.data_level, calendar)
            found = (place for each in periods for place in locate_by_strategy(rule.strategy, table.name, each, around))
            return Resolution(
                _distinct_locations(found), _period_identifiers(periods), chosen.resolver.id, chosen.version, rule.name
            )
        case way:
            assert_never(way)


def matching_rule(chosen: ResolverVersion, table_name: str, period: Period) -> ResolverRule:
    """The first rule whose `when` is true; a NULL does not match."""
    answers: list[str] = []
    for rule in chosen.resolver.rules:
        if rule.when is None:
            return rule
        answer = evaluate_condition(rule.when, period, table_name)
        if answer:
            return rule
        answers.append(f"{rule.name} ({rule.when}) gave {'NULL' if answer is None else 'FALSE'}")
    raise DaybookError(
        "RESOLVE_045",
        resolver=chosen.resolver.id,
        table=table_name,
        period=period.identifier,
        answers="; ".join(answers),
    )


def data_periods(period: Period, data_level: str | None, calendar: PeriodCalendar) -> tuple[Period, ...]:
    """The periods that data of a level is kept in: those inside the run's period, or the one around it."""
    if data_level is None or data_level == ANY_LEVEL:
        return (period,)
    if is_coarser(data_level, period.level, calendar):
        return (enclosing_period(period, data_level, calendar),)
    return child_periods(period, data_level, calendar)


def _distinct_locations(locations: Iterable[Location]) -> tuple[Location, ...]:
    """One place that holds several periods is read once; it cannot belong to two of them alone."""
    kept: list[Location] = []
    alike: dict[tuple[str | None, ...], list[Location]] = {}
    for location in locations:
        place = replace(location, period=None)
        others = alike.setdefault((location.uri, location.schema, location.table), [])
        same = next((other for other in others if replace(other, period=None) == place), None)
        if same is None:
            others.append(location)
            kept.append(location)
        elif same.period != location.period:
            periods = sorted(each.period.identifier if each.period else "any" for each in (same, location))
            raise DaybookError("RESOLVE_046", place=location.uri or location.table, periods=" and ".join(periods))
    return tuple(kept)


def _period_identifiers(periods: tuple[Period, ...]) -> tuple[str, ...]:
    return tuple(period.identifier for period in periods)
